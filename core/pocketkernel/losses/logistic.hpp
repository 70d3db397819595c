// l(u, y) = ln(1 + exp(-yu)); |l'| <= 1 and |l'| <= l.
#pragma once

#include "../math.hpp"
#include "point.hpp"

POCKETKERNEL_BEGIN

struct Logistic {
    static constexpr bool smooth = true;
    static constexpr double G1 = 1.0, G2 = 1.0;
    // Without Value its value is 0, which saves a logarithm.
    template <bool Value = true>
    static LossPoint at(double u, double y) {
        const double z = y * u;
        const double e = exponential(-absolute(z));
        return {Value ? log_one_plus(e) + (z < 0.0 ? -z : 0.0) : 0.0, -y * (z < 0.0 ? 1.0 : e) / (1.0 + e)};
    }
};

POCKETKERNEL_END
