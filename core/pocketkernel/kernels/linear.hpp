// kappa(u, v) = u'v / (|u| |v|); no parameter.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct Linear {
    static constexpr Metric metric = Metric::cosine;
    static Status check(const KernelSpec&) { return Status::ok; }
    static KernelSpec canonical(const KernelSpec& spec) { return {spec.family, 1.0}; }
    // kappa = metric^power.
    static unsigned power(const KernelSpec&) { return 1; }
};

POCKETKERNEL_END
