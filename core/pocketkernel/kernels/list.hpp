// The registry of kernels. A kernel is a file in this folder, included here, and a line in POCKETKERNEL_KERNELS; the
// numbers of the families are part of saved states, so new ones go to the end.
#pragma once

#include "gaussian.hpp"
#include "laplacian.hpp"
#include "linear.hpp"
#include "matern32.hpp"
#include "matern52.hpp"
#include "polynomial.hpp"
#include "rational_quadratic.hpp"

#define POCKETKERNEL_KERNELS(line) \
    line(gaussian, Gaussian) line(laplacian, Laplacian) line(polynomial, Polynomial) line(linear, Linear) \
        line(matern32, Matern32) line(matern52, Matern52) line(rational_quadratic, RationalQuadratic)

#include "../parts.hpp"

namespace pocketkernel {

#define POCKETKERNEL_NAME(name, Kernel) name,
enum class Family : std::uint32_t { POCKETKERNEL_KERNELS(POCKETKERNEL_NAME) };
#undef POCKETKERNEL_NAME
#define POCKETKERNEL_NAME(name, Kernel) #name,
inline constexpr const char* family_names[] = {POCKETKERNEL_KERNELS(POCKETKERNEL_NAME)};
#undef POCKETKERNEL_NAME

}  // namespace pocketkernel

POCKETKERNEL_BEGIN

// Calls f with the kernel of this family; with the first kernel if there is no such family, or the program has it not.
template <class F>
inline auto with_kernel(Family family, F&& f) {
    switch (family) {
#define POCKETKERNEL_CASE(name, Kernel) \
    case Family::name: \
        if constexpr (parts::has(Family::name)) return f(Kernel{}); \
        break;
        POCKETKERNEL_KERNELS(POCKETKERNEL_CASE)
#undef POCKETKERNEL_CASE
    }
    return f(Gaussian{});
}

// Whether the program has a kernel of this metric, or of this form.
constexpr bool is_used(Metric metric) {
    bool used = false;
#define POCKETKERNEL_CASE(name, Kernel) used = used || (parts::has(Family::name) && Kernel::metric == metric);
    POCKETKERNEL_KERNELS(POCKETKERNEL_CASE)
#undef POCKETKERNEL_CASE
    return used;
}
constexpr bool is_used(Form form) {
    bool used = false;
#define POCKETKERNEL_CASE(name, Kernel) used = used || (parts::has(Family::name) && form_of<Kernel> == form);
    POCKETKERNEL_KERNELS(POCKETKERNEL_CASE)
#undef POCKETKERNEL_CASE
    return used;
}

inline KernelSpec canonical(const KernelSpec& spec) {
    return with_kernel(spec.family, [&](auto kernel) { return kernel.canonical(spec); });
}

inline KernelShape shape_of(const KernelSpec& spec) {
    return with_kernel(spec.family, [&](auto kernel) {
        constexpr Form form = form_of<decltype(kernel)>;
        if constexpr (form == Form::power)
            return KernelShape{kernel.metric, 0.0, spec.family, static_cast<std::uint16_t>(kernel.power(spec)), form};
        else
            return KernelShape{kernel.metric, kernel.rate(spec), spec.family, static_cast<std::uint16_t>(spec.order),
                               form};
    });
}

// The kernel's value where its metric is m and rate m is `scaled`.
template <class V>
POCKETKERNEL_INLINE V value_of(const KernelShape& shape, const V& m, const V& scaled) {
    if (is_used(Form::power) && shape.form == Form::power) return integer_power(m, shape.order);
    if (shape.form == Form::exponential) return exponential(V(0) - scaled);
    return with_kernel(shape.family, [&](auto kernel) {
        if constexpr (form_of<decltype(kernel)> == Form::value)
            return kernel.value(scaled, shape.order);
        else
            return scaled;
    });
}

[[nodiscard]] inline Status check_kernels(const Config& config) {
    if (config.kernel_count == 0) return Status::kernels_empty;
    if (config.kernel_count > max_kernels) return Status::kernels_too_many;
    for (std::size_t i = 0; i < config.kernel_count; ++i) {
        const KernelSpec& spec = config.kernels[i];
        const Status status = with_kernel(spec.family, [&](auto kernel) { return kernel.check(spec); });
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

POCKETKERNEL_END
