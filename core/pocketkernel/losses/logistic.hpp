// l(u, y) = ln(1 + exp(-yu)); |l'| <= 1 and |l'| <= l.
#pragma once

#include "../math.hpp"
#include "point.hpp"

POCKETKERNEL_BEGIN

struct Logistic {
    static constexpr bool smooth = true;
    static constexpr double G1 = 1.0, G2 = 1.0;
    // Its value is 0 if it is not wanted, which saves a logarithm.
    static LossPoint at(double u, double y, bool value = true) {
        const double z = y * u;
        const double e = exponential(-absolute(z));
        return {value ? log_one_plus(e) + (z < 0.0 ? -z : 0.0) : 0.0, -y * (z < 0.0 ? 1.0 : e) / (1.0 + e)};
    }
};

POCKETKERNEL_END
