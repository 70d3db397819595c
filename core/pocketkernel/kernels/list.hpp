// The registry of kernels. A kernel is a file in this folder, a name in config.hpp's Family and a line in
// `with_kernel`.
//
// Every kernel has kappa(u, u) = 1 and is one of two shapes of its metric m: exp(-rate m), or m^power.
#pragma once

#include "../config.hpp"
#include "../status.hpp"
#include "gaussian.hpp"
#include "laplacian.hpp"
#include "linear.hpp"
#include "polynomial.hpp"

POCKETKERNEL_BEGIN

// Calls f with the kernel that `family` names.
template <class F>
inline auto with_kernel(Family family, F&& f) {
    switch (family) {
        case Family::laplacian: return f(Laplacian{});
        case Family::polynomial: return f(Polynomial{});
        case Family::linear: return f(Linear{});
        case Family::gaussian: break;
    }
    return f(Gaussian{});
}

// The shape of one kernel: exp(-rate m) if rate > 0, else m^power.
struct KernelShape {
    Metric metric;
    double rate;
    unsigned power;
};

template <class Kernel>
inline auto shape_of(Kernel, double parameter) -> decltype(Kernel::rate(parameter), KernelShape{}) {
    return {Kernel::metric, Kernel::rate(parameter), 0};
}
template <class Kernel>
inline auto shape_of(Kernel, double parameter) -> decltype(Kernel::power(parameter), KernelShape{}) {
    return {Kernel::metric, 0.0, Kernel::power(parameter)};
}
inline KernelShape shape_of(const KernelSpec& spec) {
    return with_kernel(spec.family, [&](auto kernel) { return shape_of(kernel, spec.parameter); });
}

[[nodiscard]] inline Status check_kernels(const Config& config) {
    if (config.kernel_count == 0) return Status::kernels_empty;
    if (config.kernel_count > max_kernels) return Status::kernels_too_many;
    for (std::size_t i = 0; i < config.kernel_count; ++i) {
        const double parameter = config.kernels[i].parameter;
        switch (config.kernels[i].family) {
            case Family::gaussian:
            case Family::laplacian:
                if (!(parameter > 1e-30 && parameter < 1e30)) return Status::width_not_positive;
                break;
            case Family::polynomial:
                if (!(parameter >= 1.0 && parameter <= 64.0)) return Status::degree_not_positive;
                if (parameter != static_cast<double>(static_cast<unsigned>(parameter)))
                    return Status::degree_not_positive;
                break;
            case Family::linear: break;
        }
    }
    return Status::ok;
}

POCKETKERNEL_END
