// kappa(u, v) = u'v / (|u| |v|); no parameter.
#pragma once

#include "metric.hpp"

POCKETKERNEL_BEGIN

struct Linear {
    static constexpr const char* name = "linear";
    static constexpr Metric metric = Metric::cosine;
    // kappa = metric^power.
    static unsigned power(double) { return 1; }
};

POCKETKERNEL_END
