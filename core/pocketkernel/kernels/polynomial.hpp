// kappa(u, v) = (u'v / (|u| |v|))^degree; the parameter is the degree, a whole number.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct Polynomial {
    static constexpr Metric metric = Metric::cosine;
    static Status check(const KernelSpec& spec) {
        const bool whole = spec.parameter >= 1.0 && spec.parameter <= 64.0 &&
                           spec.parameter == static_cast<double>(static_cast<unsigned>(spec.parameter));
        return whole ? Status::ok : Status::degree_not_positive;
    }
    static KernelSpec canonical(const KernelSpec& spec) { return {spec.family, spec.parameter}; }
    // kappa = metric^power.
    static unsigned power(const KernelSpec& spec) { return static_cast<unsigned>(spec.parameter); }
};

POCKETKERNEL_END
