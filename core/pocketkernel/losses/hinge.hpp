// l(u, y) = max(0, 1 - yu). Not smooth: |l'| <= G2 l fails just below the margin, so it has no G1, G2.
#pragma once

#include "point.hpp"

POCKETKERNEL_BEGIN

struct Hinge {
    static constexpr bool smooth = false;
    static constexpr double G1 = 0.0, G2 = 0.0;
    static LossPoint at(double u, double y) {
        const double slack = 1.0 - y * u;
        return slack > 0.0 ? LossPoint{slack, -y} : LossPoint{0.0, 0.0};
    }
};

POCKETKERNEL_END
