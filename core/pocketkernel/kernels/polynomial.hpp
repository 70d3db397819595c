// kappa(u, v) = (u'v / (|u| |v|))^degree; the parameter is the degree, a whole number.
#pragma once

#include "metric.hpp"

POCKETKERNEL_BEGIN

struct Polynomial {
    static constexpr const char* name = "polynomial";
    static constexpr Metric metric = Metric::cosine;
    // kappa = metric^power.
    static unsigned power(double degree) { return static_cast<unsigned>(degree); }
};

POCKETKERNEL_END
