// kappa(u, v) = exp(-|u - v|_1 / s); the parameter is s.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct Laplacian : WidthKernel {
    static constexpr Metric metric = Metric::l1_distance;
    // kappa = exp(-rate * metric).
    static double rate(const KernelSpec& spec) { return 1.0 / spec.parameter; }
};

POCKETKERNEL_END
