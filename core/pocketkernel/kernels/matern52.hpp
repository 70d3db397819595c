// kappa(u, v) = (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) |u - v| / width; the parameter is the width.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct Matern52 : WidthKernel {
    static constexpr Metric metric = Metric::squared_distance;
    // kappa = value(rate * metric).
    static double rate(const KernelSpec& spec) { return 5.0 / (spec.parameter * spec.parameter); }
    template <class V>
    static V value(const V& m, unsigned) {
        const V a = short_of_overflow(square_root(m));
        return (V(1) + a + a * a / V(3)) * exponential(V(0) - a);
    }
};

POCKETKERNEL_END
