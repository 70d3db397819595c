// kappa(u, v) = exp(-|u - v|^2 / (2 sigma^2)); the parameter is sigma.
#pragma once

#include "metric.hpp"

POCKETKERNEL_BEGIN

struct Gaussian {
    static constexpr const char* name = "gaussian";
    static constexpr Metric metric = Metric::squared_distance;
    // kappa = exp(-rate * metric).
    static double rate(double sigma) { return 0.5 / (sigma * sigma); }
};

POCKETKERNEL_END
