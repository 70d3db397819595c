// kappa(u, v) = exp(-|u - v|_1 / s); the parameter is s.
#pragma once

#include "metric.hpp"

POCKETKERNEL_BEGIN

struct Laplacian {
    static constexpr const char* name = "laplacian";
    static constexpr Metric metric = Metric::l1_distance;
    // kappa = exp(-rate * metric).
    static double rate(double s) { return 1.0 / s; }
};

POCKETKERNEL_END
