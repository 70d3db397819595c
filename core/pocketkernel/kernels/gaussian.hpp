// kappa(u, v) = exp(-|u - v|^2 / (2 sigma^2)); the parameter is sigma.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct Gaussian : WidthKernel {
    static constexpr Metric metric = Metric::squared_distance;
    // kappa = exp(-rate * metric).
    static double rate(const KernelSpec& spec) { return 0.5 / (spec.parameter * spec.parameter); }
};

POCKETKERNEL_END
