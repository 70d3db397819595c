// l(u, y) = (w + sqrt(1 + w^2)) / 2 with w = 1 - yu: the hinge with its corner rounded (Chen-Harker-Kanzow-Smale).
//
// |l'| = (1 + w / sqrt(1 + w^2)) / 2 <= 1 and |l'| / l = 1 / sqrt(1 + w^2) <= 1, so G1 = G2 = 1.
// It needs no exponential.
#pragma once

#include <cmath>

#include "point.hpp"

POCKETKERNEL_BEGIN

struct SmoothHinge {
    static constexpr bool smooth = true;
    static constexpr double G1 = 1.0, G2 = 1.0;
    static LossPoint at(double u, double y) {
        const double w = 1.0 - y * u;
        const double root = std::sqrt(1.0 + w * w);
        // For w < 0 the sum cancels; its conjugate does not.
        const double value = w < 0.0 ? 0.5 / (root - w) : 0.5 * (w + root);
        return {value, -y * value / root};
    }
};

POCKETKERNEL_END
