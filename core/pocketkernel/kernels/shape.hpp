// What a kernel is made of. Every kernel has kappa(u, u) = 1 and is a function of one metric m of two rows, in one of
// three forms:
//
//   exp(-rate m)       has `rate`. Several such kernels on one metric cost little more than one, see bank.hpp.
//   value(rate m)      has `rate` and `value`, which falls as m grows, and is 0 or small at infinity.
//   m^power            has `power`, for m = cosine.
//
// A kernel also checks its numbers (`check`) and sets unused numbers to 1 (`canonical`).
#pragma once

#include "../config.hpp"
#include "../math.hpp"
#include "../status.hpp"
#include "metric.hpp"

POCKETKERNEL_BEGIN

// A kernel whose only parameter is a width.
struct WidthKernel {
    static Status check(const KernelSpec& spec) {
        return spec.parameter > 1e-30 && spec.parameter < 1e30 ? Status::ok : Status::width_not_positive;
    }
    static KernelSpec canonical(const KernelSpec& spec) { return {spec.family, spec.parameter}; }
};

// Upper limit for a: exp(-a) is 0 there, and powers of a are still finite.
template <class V>
POCKETKERNEL_INLINE V short_of_overflow(const V& a) {
    return smaller(a, V(Element<V>(1000)));
}

// A kernel with its numbers, ready to be evaluated.
enum class Form : std::uint16_t { exponential, value, power };
struct KernelShape {
    Metric metric;
    double rate;  // 0 if the form is a power
    Family family;
    std::uint16_t order;  // the power, or the second number of `value`
    Form form;
};

template <class Kernel>
constexpr auto form_if(int) -> decltype(Kernel::power(KernelSpec()), Form()) {
    return Form::power;
}
template <class Kernel>
constexpr auto form_if(int) -> decltype(Kernel::value(1.0, 1u), Form()) {
    return Form::value;
}
template <class Kernel>
constexpr Form form_if(long) {
    return Form::exponential;
}
template <class Kernel>
inline constexpr Form form_of = form_if<Kernel>(0);

POCKETKERNEL_END
