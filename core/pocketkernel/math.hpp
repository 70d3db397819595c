// Elementary functions: exp, 1 - exp, log, log1p, sine and cosine, and integer powers.
//
// They replace the C library's so that the same input gives the same bits on every machine and level. Each is written
// once for a number or a Pack (V). Accuracy is within 2 units in the last place (tests compare with mpmath).
// Polynomials are Chebyshev fits on the reduced range. This file sets no errno and raises nothing.
#pragma once

#include "simd.hpp"

POCKETKERNEL_BEGIN

template <class V>
struct ElementOf {
    using type = V;
};
template <class T>
struct ElementOf<Pack<T>> {
    using type = T;
};
template <class V>
using Element = typename ElementOf<V>::type;

// V's lanes as unsigned integers of the same size.
template <class V>
struct BitLanes {
    using type = Bits<V>;
};
template <class T>
struct BitLanes<Pack<T>> {
    using type = Pack<Bits<T>>;
};

template <class T>
struct MathConstants;

template <>
struct MathConstants<double> {
    static constexpr int mantissa_bits = 52;
    static constexpr double round_magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
    static constexpr double ln2_high = 0x1.62e42ffp-1, ln2_low = -0x1.718432a1b0e26p-35;
    static constexpr double exp_low = -700.0, complement_low = -40.0;
    static constexpr double exp_fit[] = {0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d63p-5,
                                         0x1.11111111109b3p-7,  0x1.6c16c1788bd90p-10, 0x1.a01a01a7c41d5p-13,
                                         0x1.a019b90d2ae7ap-16, 0x1.71de0dae63bb3p-19, 0x1.289185613a3d6p-22,
                                         0x1.af38a9b0ec855p-26};
    static constexpr double half_pi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
    static constexpr double angle_limit = 1073741824.0;
    static constexpr double sine_fit[] = {-0x1.5555555555555p-3, 0x1.1111111110babp-7,   -0x1.a01a019e820acp-13,
                                          0x1.71de37946eb45p-19, -0x1.ae6008d0f0520p-26, 0x1.5e0a4fb47ace3p-33};
    static constexpr double cosine_fit[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16963p-10, 0x1.a01a019f4ddfdp-16,
                                            -0x1.27e4fa16cc1bcp-22, 0x1.1eeb67d014ecep-29,  -0x1.907cd8f26aa3fp-37};
};

template <>
struct MathConstants<float> {
    static constexpr int mantissa_bits = 23;
    static constexpr float round_magic = 12582912.0f;  // 1.5 * 2^23
    static constexpr float ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe8p-15f;
    static constexpr float exp_low = -80.0f, complement_low = -20.0f;
    static constexpr float exp_fit[] = {0x1.000000p-1f, 0x1.5554dcp-3f, 0x1.55551ap-5f, 0x1.120b6ep-7f,
                                        0x1.6d110ap-10f};
    static constexpr float half_pi[] = {0x1.922p+0f, -0x1.2aep-18f, -0x1.de973ep-31f};
    static constexpr float angle_limit = 131072.0f;
    static constexpr float sine_fit[] = {-0x1.555552p-3f, 0x1.110c26p-7f, -0x1.9ac856p-13f};
    static constexpr float cosine_fit[] = {0x1.555554p-5f, -0x1.6c12d0p-10f, 0x1.9bd786p-16f};
};

// c[0] + c[1] x + ..., with even and odd powers separate so that the two halves can run in parallel.
template <class V, class T, std::size_t N>
POCKETKERNEL_INLINE V polynomial(const V& x, const T (&c)[N]) {
    const V z = x * x;
    V even(c[(N - 1) / 2 * 2]), odd(c[N / 2 * 2 - 1]);
    for (std::size_t i = (N - 1) / 2 * 2; i > 0; i -= 2) even = even * z + V(c[i - 2]);
    for (std::size_t i = N / 2 * 2 - 1; i > 1; i -= 2) odd = odd * z + V(c[i - 2]);
    return even + odd * x;
}

#if POCKETKERNEL_SOFT_DOUBLES
// The same for all numbers of coefficients: where each operation is a call a loop is much smaller, and hardly slower.
POCKETKERNEL_CALLED double polynomial_of(double x, const double* c, std::size_t n) {
    const double z = x * x;
    std::size_t i = (n - 1) / 2 * 2, j = n / 2 * 2 - 1;
    double even = c[i], odd = c[j];
    for (; i > 0; i -= 2) even = even * z + c[i - 2];
    for (; j > 1; j -= 2) odd = odd * z + c[j - 2];
    return even + odd * x;
}
template <std::size_t N>
inline double polynomial(const double& x, const double (&c)[N]) {
    return polynomial_of(x, c, N);
}
#endif

// exp(t) = 2^n exp(r): gives 2^n and exp(r) - 1 for t in the range where 2^n is a normal number.
template <class V>
POCKETKERNEL_INLINE void reduce_exponent(const V& t, V& power, V& rest_minus_one) {
    using T = Element<V>;
    using C = MathConstants<T>;
    using B = typename BitLanes<V>::type;
    const V shifted = t * V(T(1.4426950408889634)) + V(C::round_magic);
    const V n = shifted - V(C::round_magic);
    const V r = (t - n * V(C::ln2_high)) - n * V(C::ln2_low);
    rest_minus_one = r + r * r * polynomial(r, C::exp_fit);
    const B bits = shift_left(bit_cast<B>(shifted), C::mantissa_bits) + B(bit_cast<Bits<T>>(T(1)));
    power = bit_cast<V>(bits);
}

// exp(x) for x <= 80 (float) or 700 (double); below the smallest normal result it is 0.
template <class V>
POCKETKERNEL_INLINE V exponential(const V& x) {
    using T = Element<V>;
    const V low(MathConstants<T>::exp_low);
    V power, rest;
    reduce_exponent(larger(x, low), power, rest);
    return select(x < low, V(T(0)), power * rest + power);
}

// f(x_0, f(x_1, ...)) of n numbers, for an f that takes them in any order and any number of times.
template <class F>
double folded(const double* x, std::size_t n, F&& f) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    constexpr std::size_t W = lanes_of<double>;
    double lane[W];
    if (n > W) {
        Pack<double> lanes = Pack<double>::load(x + n - W);  // the last ones, some of which come again
        for (std::size_t i = 0; i + W < n; i += W) lanes = f(Pack<double>::load(x + i), lanes);
        lanes.store(lane);
        x = lane;
        n = W;
    }
#endif
    double one = x[0];
    for (std::size_t i = 1; i < n; ++i) one = f(x[i], one);
    return one;
}
inline double greatest(const double* x, std::size_t n) {
    return folded(x, n, [](const auto& a, const auto& b) POCKETKERNEL_FLAT { return larger(a, b); });
}
inline double least(const double* x, std::size_t n) {
    return folded(x, n, [](const auto& a, const auto& b) POCKETKERNEL_FLAT { return smaller(a, b); });
}

// The place of the greatest of n numbers, the first if several are equal.
inline std::size_t place_of_greatest(const double* x, std::size_t n) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    constexpr std::size_t W = lanes_of<double>;
    if (n > W) {
        double lane[W];
        for (std::size_t l = 0; l < W; ++l) lane[l] = static_cast<double>(l);
        const Pack<double> numbers = Pack<double>::load(lane);
        Pack<double> most = Pack<double>::load(x), place = numbers;  // of each lane
        for (std::size_t i = W; i < n; i += W) {
            const std::size_t from = smaller(i, n - W);  // the last ones, some of which come again
            const Pack<double> some = Pack<double>::load(x + from);
            place = select(most < some, numbers + Pack<double>(static_cast<double>(from)), place);
            most = larger(some, most);
        }
        most.store(lane);
        const Pack<double> top(greatest(lane, W));
        return static_cast<std::size_t>(smallest_lane(select(most == top, place, Pack<double>(double(n)))));
    }
#endif
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i)
        if (x[best] < x[i]) best = i;
    return best;
}

// exp(x - most) of n numbers that are at most so large, in packs where there are registers.
inline void exponentials(const double* x, double most, double* out, std::size_t n) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    constexpr std::size_t W = lanes_of<double>;
    const Pack<double> less(most);
    const auto pack = [&](const double* from, double* to) { exponential(Pack<double>::load(from) - less).store(to); };
    if (n >= W) {
        for (std::size_t i = 0; i + W < n; i += W) pack(x + i, out + i);
        return pack(x + n - W, out + n - W);  // the last ones, some of which come again
    }
    double in[W], some[W];
    for (std::size_t i = 0; i < W; ++i) in[i] = i < n ? x[i] : most;
    pack(in, some);
    std::memcpy(out, some, n * sizeof(double));
#else
    for (std::size_t i = 0; i < n; ++i) out[i] = exponential(x[i] - most);
#endif
}

// 1 - exp(-m) for m >= 0, with full relative accuracy when m is small; at most 1.
template <class V>
POCKETKERNEL_INLINE V exponential_complement(const V& m) {
    using T = Element<V>;
    V power, rest;
    reduce_exponent(larger(V(T(0)) - m, V(MathConstants<T>::complement_low)), power, rest);
    return (V(T(1)) - power) - power * rest;
}

// 2 atanh(s) for |s| <= 0.1716, the range that log needs.
template <class V>
POCKETKERNEL_INLINE V twice_atanh(const V& s) {
    static constexpr double fit[] = {0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476c42p-2,
                                     0x1.c71c720168526p-3, 0x1.745cf8fe328f9p-3, 0x1.3b1c36b445cebp-3,
                                     0x1.0fbe71ad855c9p-3, 0x1.0c05166ec4148p-3};
    const V z = s * s;
    return V(2.0) * s + s * (z * polynomial(z, fit));
}

// ln(x) for normal x > 0, in double precision.
template <class V>
POCKETKERNEL_INLINE V logarithm(const V& x) {
    static_assert(std::is_same<Element<V>, double>::value, "there is none in single precision");
    using C = MathConstants<double>;
    using B = typename BitLanes<V>::type;
    const B bits = bit_cast<B>(x);
    // The exponent as the last digits of 2^52 + exponent, which are those of its bits.
    const V exponent = bit_cast<V>(shift_right(bits, 52) + B(0x4330000000000000ULL)) - V(0x1p52 + 1023.0);
    const V mantissa = bit_cast<V>((bits & B(0x000fffffffffffffULL)) + B(0x3ff0000000000000ULL));
    const auto upper = V(1.4142135623730951) < mantissa;
    const V m = select(upper, mantissa * V(0.5), mantissa), n = exponent + select(upper, V(1.0), V(0.0));
    return n * V(C::ln2_high) + (twice_atanh((m - V(1.0)) / (m + V(1.0))) + n * V(C::ln2_low));
}

// ln(1 + e) for 0 <= e <= 1; for e >= sqrt(2) - 1 as ln 2 + ln((1 + e) / 2). No branch: neither case is rare.
inline double log_one_plus(double e) {
    const bool upper = e >= 0.41421356237309503;
    const double s = (e - select(upper, 1.0, 0.0)) / (e + select(upper, 3.0, 2.0));
    return select(upper, 0x1.62e42fefa39efp-1, 0.0) + twice_atanh(s);
}

// Cosine and sine of an angle in radians. An angle beyond angle_limit has no digits left for its phase and counts as 0.
template <class V>
POCKETKERNEL_INLINE void cosine_sine(const V& angle, V& cosine, V& sine) {
    using T = Element<V>;
    using C = MathConstants<T>;
    using B = typename BitLanes<V>::type;
    const V a = select(absolute(angle) < V(C::angle_limit), angle, V(T(0)));
    const V shifted = a * V(T(0.6366197723675814)) + V(C::round_magic);
    const V n = shifted - V(C::round_magic);
    const V r = ((a - n * V(C::half_pi[0])) - n * V(C::half_pi[1])) - n * V(C::half_pi[2]);
    const V z = r * r;
    const V s = r + r * (z * polynomial(z, C::sine_fit));
    const V c = (V(T(1)) - z * V(T(0.5))) + z * z * polynomial(z, C::cosine_fit);
    // The last two bits of the rounded quotient are the quadrant: odd quadrants swap sine and cosine, then signs
    // follow.
    constexpr int top = static_cast<int>(sizeof(T)) * 8 - 1;
    const B quadrant = bit_cast<B>(shifted);
    const B odd = quadrant & B(1);
    const B swapped = B(0) - odd;
    const B c_bits = bit_cast<B>(c), s_bits = bit_cast<B>(s);
    const B flip = swapped & (c_bits ^ s_bits);
    const B sine_sign = shift_left(quadrant & B(2), top - 1);
    const B cosine_sign = shift_left((quadrant + B(1)) & B(2), top - 1);
    cosine = bit_cast<V>((c_bits ^ flip) ^ cosine_sign);
    sine = bit_cast<V>((s_bits ^ flip) ^ sine_sign);
}

// q up to `most` with to = 2^q from, or -1. Numbers such as 0.1, 0.2, 0.4 may have rounding errors.
inline int doublings(double from, double to, int most) {
    int q = 0;
    for (; from < to * 0.75 && q <= most; ++q) from *= 2.0;
    return absolute(from - to) <= 1e-15 * to ? q : -1;
}

// A running mean over so many rows takes in another one.
POCKETKERNEL_SHARED(double) void approach(double& mean, double value, double rows) { mean += (value - mean) / rows; }

// x^n by repeated squaring, n >= 1.
template <class V>
POCKETKERNEL_INLINE V integer_power(const V& base, unsigned n) {
    V x = base;
    while ((n & 1u) == 0) {
        x = x * x;
        n >>= 1;
    }
    V p = x;
    for (n >>= 1; n > 0; n >>= 1) {
        x = x * x;
        if (n & 1u) p = p * x;
    }
    return p;
}

#if POCKETKERNEL_REGISTER_BYTES == 0
// Without vector registers a pack goes through a function number by number: a temporary is then a register, not a pack
// in memory, and the function exists once.
template <class T>
inline Pack<T> exponential(const Pack<T>& x) {
    Pack<T> y;
    lanewise([](T& out, T in) { out = exponential(in); }, y, x);
    return y;
}
template <class T>
inline Pack<T> exponential_complement(const Pack<T>& m) {
    Pack<T> y;
    lanewise([](T& out, T in) { out = exponential_complement(in); }, y, m);
    return y;
}
template <class T>
inline void cosine_sine(const Pack<T>& angle, Pack<T>& cosine, Pack<T>& sine) {
    lanewise([](T a, T& c, T& s) { cosine_sine(a, c, s); }, angle, cosine, sine);
}
template <class T>
inline Pack<T> integer_power(const Pack<T>& base, unsigned n) {
    Pack<T> y;
    lanewise([n](T& out, T in) { out = integer_power(in, n); }, y, base);
    return y;
}
#endif

POCKETKERNEL_END
