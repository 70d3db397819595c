// kappa(u, v) = (1 + |u - v|^2 / (2 alpha width^2))^-alpha; the parameter is the width, the order alpha, from 1 to 64.
//
// A mixture of Gaussians of all widths; the larger alpha, the closer to a single Gaussian.
#pragma once

#include "shape.hpp"

POCKETKERNEL_BEGIN

struct RationalQuadratic : WidthKernel {
    static constexpr Metric metric = Metric::squared_distance;
    static Status check(const KernelSpec& spec) {
        if (spec.order < 1 || spec.order > 64) return Status::alpha_out_of_range;
        return WidthKernel::check(spec);
    }
    static KernelSpec canonical(const KernelSpec& spec) { return spec; }
    // kappa = value(rate * metric).
    static double rate(const KernelSpec& spec) {
        return 0.5 / (static_cast<double>(spec.order) * spec.parameter * spec.parameter);
    }
    template <class V>
    static V value(const V& m, unsigned alpha) {
        return V(1) / integer_power(V(1) + m, alpha);
    }
};

POCKETKERNEL_END
