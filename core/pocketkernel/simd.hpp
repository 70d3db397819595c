// Pack<E>: 64 bytes of elements of one type, the unit of all vector computations.
//
// A pack always has the same number of lanes (16 floats or 8 doubles); the level only decides how many registers they
// occupy. A sum over a long array is kept as one partial sum per lane and added up by `sum` in a fixed order, so
// results do not depend on the level. No fused multiply-add is used. This file has no loops over data.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "level.hpp"

POCKETKERNEL_BEGIN

inline constexpr std::size_t pack_bytes = 64;

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
    using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
    using type = std::uint64_t;
};
template <class T>
using Bits = typename BitsOf<T>::type;

// The register type of E and how many elements it holds.
template <class E>
struct RegisterOf {
#if POCKETKERNEL_REGISTER_BYTES > 0
    typedef E type __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
#else
    using type = E;
#endif
    static constexpr std::size_t lanes = sizeof(type) / sizeof(E);
};

template <class E>
struct alignas(pack_bytes) Pack {
    using Element = E;
    using Register = typename RegisterOf<E>::type;
    static constexpr std::size_t width = pack_bytes / sizeof(E);
    static constexpr std::size_t registers = width / RegisterOf<E>::lanes;

    Register r[registers];

    Pack() = default;
    POCKETKERNEL_INLINE Pack(E value) {  // NOLINT: a number is a pack of equal lanes
        for (std::size_t i = 0; i < registers; ++i) r[i] = value - Register{};
    }
    static POCKETKERNEL_INLINE Pack load(const E* from) {
        Pack p;
        for (std::size_t i = 0; i < registers; ++i)
            std::memcpy(&p.r[i], from + i * RegisterOf<E>::lanes, sizeof(Register));
        return p;
    }
    POCKETKERNEL_INLINE void store(E* to) const {
        for (std::size_t i = 0; i < registers; ++i) std::memcpy(to + i * RegisterOf<E>::lanes, &r[i], sizeof(Register));
    }
};

template <class E>
inline constexpr std::size_t lanes_of = Pack<E>::width;

// How many packs hold n elements, and how many elements fit into those packs.
template <class E>
constexpr std::size_t packs_for(std::size_t n) {
    return (n + lanes_of<E> - 1) / lanes_of<E>;
}
template <class E>
constexpr std::size_t padded(std::size_t n) {
    return packs_for<E>(n) * lanes_of<E>;
}

template <class To, class From>
POCKETKERNEL_INLINE To bit_cast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
template <class To, class E>
POCKETKERNEL_INLINE To bit_cast(const Pack<E>& from) {
    To to;
    for (std::size_t i = 0; i < To::registers; ++i) to.r[i] = bit_cast<typename To::Register>(from.r[i]);
    return to;
}

#define POCKETKERNEL_LANEWISE(op) \
    template <class E> \
    POCKETKERNEL_INLINE Pack<E> operator op(const Pack<E>& a, const Pack<E>& b) { \
        Pack<E> c; \
        for (std::size_t i = 0; i < Pack<E>::registers; ++i) c.r[i] = a.r[i] op b.r[i]; \
        return c; \
    }
POCKETKERNEL_LANEWISE(+)
POCKETKERNEL_LANEWISE(-)
POCKETKERNEL_LANEWISE(*)
POCKETKERNEL_LANEWISE(/)
POCKETKERNEL_LANEWISE(&)
POCKETKERNEL_LANEWISE(^)
#undef POCKETKERNEL_LANEWISE

// Calls f(packs...), where f computes on packs as on numbers, and may change them. Without vector registers it is
// called for every lane in turn: what it keeps is then in a register, not in a pack in memory.
template <class F, class E, class... More>
POCKETKERNEL_INLINE void lanewise(F&& f, E& pack, More&... packs) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    f(pack, packs...);
#else
    for (std::size_t l = 0; l < E::width; ++l) f(pack.r[l], packs.r[l]...);
#endif
}

template <class E>
POCKETKERNEL_INLINE Pack<E>& operator+=(Pack<E>& a, const Pack<E>& b) {
    return a = a + b;
}

template <class E>
POCKETKERNEL_INLINE Pack<E> shift_left(const Pack<E>& a, int n) {
    Pack<E> c;
    for (std::size_t i = 0; i < Pack<E>::registers; ++i) c.r[i] = a.r[i] << n;
    return c;
}
template <class E>
POCKETKERNEL_INLINE E shift_left(E a, int n) {
    return static_cast<E>(a << n);
}
template <class E>
POCKETKERNEL_INLINE Pack<E> shift_right(const Pack<E>& a, int n) {
    Pack<E> c;
    for (std::size_t i = 0; i < Pack<E>::registers; ++i) c.r[i] = a.r[i] >> n;
    return c;
}
template <class E>
POCKETKERNEL_INLINE E shift_right(E a, int n) {
    return static_cast<E>(a >> n);
}

// A mask is the result of a comparison, lane by lane; only `select` reads it.
template <class T>
struct Mask {
    using Register = decltype(typename Pack<T>::Register{} < typename Pack<T>::Register{});
    Register r[Pack<T>::registers];
};
template <class T>
POCKETKERNEL_INLINE Mask<T> operator<(const Pack<T>& a, const Pack<T>& b) {
    Mask<T> m;
    for (std::size_t i = 0; i < Pack<T>::registers; ++i) m.r[i] = a.r[i] < b.r[i];
    return m;
}
template <class T>
POCKETKERNEL_INLINE Mask<T> operator==(const Pack<T>& a, const Pack<T>& b) {
    Mask<T> m;
    for (std::size_t i = 0; i < Pack<T>::registers; ++i) m.r[i] = a.r[i] == b.r[i];
    return m;
}
template <class T>
POCKETKERNEL_INLINE Pack<T> select(const Mask<T>& m, const Pack<T>& yes, const Pack<T>& no) {
    Pack<T> c;
    for (std::size_t i = 0; i < Pack<T>::registers; ++i) c.r[i] = m.r[i] ? yes.r[i] : no.r[i];
    return c;
}
template <class T>
POCKETKERNEL_INLINE T select(bool m, T yes, T no) {
    return m ? yes : no;
}

// The smaller and the larger of two; where lanes are equal or unordered both return b, at every level.
template <class V>
POCKETKERNEL_INLINE V smaller(const V& a, const V& b) {
    return select(a < b, a, b);
}
template <class V>
POCKETKERNEL_INLINE V larger(const V& a, const V& b) {
    return select(b < a, a, b);
}
POCKETKERNEL_SHARED(double) double smaller(double a, double b) { return a < b ? a : b; }
POCKETKERNEL_SHARED(double) double larger(double a, double b) { return b < a ? a : b; }
POCKETKERNEL_SHARED(float) float smaller(float a, float b) { return a < b ? a : b; }
POCKETKERNEL_SHARED(float) float larger(float a, float b) { return b < a ? a : b; }
// Both must be of one type.
template <class A, class B>
void smaller(const A& a, const B& b) = delete;
template <class A, class B>
void larger(const A& a, const B& b) = delete;
#if defined(__AVX2__) && !defined(__clang__)
// The matching instructions, which GCC does not find by itself.
#define POCKETKERNEL_NATIVE(name, T, instruction) \
    template <> \
    POCKETKERNEL_INLINE Pack<T> name(const Pack<T>& a, const Pack<T>& b) { \
        Pack<T> c; \
        for (std::size_t i = 0; i < Pack<T>::registers; ++i) c.r[i] = instruction(a.r[i], b.r[i]); \
        return c; \
    }
POCKETKERNEL_NATIVE(smaller, float, __builtin_ia32_minps256)
POCKETKERNEL_NATIVE(smaller, double, __builtin_ia32_minpd256)
POCKETKERNEL_NATIVE(larger, float, __builtin_ia32_maxps256)
POCKETKERNEL_NATIVE(larger, double, __builtin_ia32_maxpd256)
#undef POCKETKERNEL_NATIVE
#endif
template <class V>
POCKETKERNEL_INLINE V absolute(const V& a) {
    return larger(a, V(0) - a);
}
inline double absolute(double a) { return std::fabs(a); }
inline float absolute(float a) { return std::fabs(a); }

inline double square_root(double a) { return std::sqrt(a); }
inline float square_root(float a) { return std::sqrt(a); }
template <class T>
POCKETKERNEL_INLINE Pack<T> square_root(const Pack<T>& a) {
    alignas(pack_bytes) T lane[lanes_of<T>];
    a.store(lane);
    for (std::size_t l = 0; l < lanes_of<T>; ++l) lane[l] = std::sqrt(lane[l]);
    return Pack<T>::load(lane);
}

template <class T>
POCKETKERNEL_INLINE T smallest_lane(const Pack<T>& a) {
    auto least = a.r[0];
    for (std::size_t i = 1; i < Pack<T>::registers; ++i) least = a.r[i] < least ? a.r[i] : least;
    T lane[RegisterOf<T>::lanes];
    std::memcpy(lane, &least, sizeof lane);
    for (std::size_t n = RegisterOf<T>::lanes / 2; n > 0; n /= 2)
        for (std::size_t l = 0; l < n; ++l) lane[l] = lane[l + n] < lane[l] ? lane[l + n] : lane[l];
    return lane[0];
}

// Wide<T>: the lanes of a Pack<T> in double precision, for sums that must not lose digits.
template <class T>
struct Wide {
    static constexpr std::size_t parts = sizeof(double) / sizeof(T);
    Pack<double> p[parts];

    static POCKETKERNEL_INLINE Wide zero() {
        Wide w;
        for (std::size_t i = 0; i < parts; ++i) w.p[i] = Pack<double>(0.0);
        return w;
    }
    static POCKETKERNEL_INLINE Wide load(const double* from) {
        Wide w;
        for (std::size_t i = 0; i < parts; ++i) w.p[i] = Pack<double>::load(from + i * lanes_of<double>);
        return w;
    }
};

POCKETKERNEL_INLINE Wide<double> widen(const Pack<double>& a) { return {{a}}; }
POCKETKERNEL_INLINE Pack<double> narrow(const Wide<double>& a) { return a.p[0]; }

#if POCKETKERNEL_REGISTER_BYTES > 0
typedef float Half __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES / 2)));

POCKETKERNEL_INLINE Pack<double>::Register widen_half(const Half& half) {
#if defined(__AVX2__) && !defined(__clang__)
    return __builtin_ia32_cvtps2pd256(half);  // GCC compiles __builtin_convertvector to three instructions here
#else
    return __builtin_convertvector(half, Pack<double>::Register);
#endif
}

POCKETKERNEL_INLINE Wide<float> widen(const Pack<float>& a) {
    Wide<float> w;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < Pack<double>::registers; ++j) {
            Half half;
            std::memcpy(&half, reinterpret_cast<const char*>(&a) + (i * Pack<double>::registers + j) * sizeof half,
                        sizeof half);
            w.p[i].r[j] = widen_half(half);
        }
    return w;
}
POCKETKERNEL_INLINE Pack<float> narrow(const Wide<float>& a) {
    Pack<float> p;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < Pack<double>::registers; ++j) {
            const Half half = __builtin_convertvector(a.p[i].r[j], Half);
            std::memcpy(reinterpret_cast<char*>(&p) + (i * Pack<double>::registers + j) * sizeof half, &half,
                        sizeof half);
        }
    return p;
}
#else
POCKETKERNEL_INLINE Wide<float> widen(const Pack<float>& a) {
    Wide<float> w;
    for (std::size_t l = 0; l < lanes_of<float>; ++l)
        w.p[l / lanes_of<double>].r[l % lanes_of<double>] = static_cast<double>(a.r[l]);
    return w;
}
POCKETKERNEL_INLINE Pack<float> narrow(const Wide<float>& a) {
    Pack<float> p;
    for (std::size_t l = 0; l < lanes_of<float>; ++l)
        p.r[l] = static_cast<float>(a.p[l / lanes_of<double>].r[l % lanes_of<double>]);
    return p;
}
#endif

#if POCKETKERNEL_REGISTER_BYTES > 0
// As many 4-byte integers as a register has elements.
template <class Small, class Large>
POCKETKERNEL_INLINE Large widen_bytes(const std::int8_t* from) {
#if defined(__AVX2__) && !defined(__clang__)
    // GCC compiles __builtin_convertvector to many instructions here.
    typedef char Bytes __attribute__((vector_size(16)));
    typedef long long Words __attribute__((vector_size(16)));
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof(Small));
    const Words words{static_cast<long long>(word), 0};
    if constexpr (sizeof(Small) == 8)
        return (Large)__builtin_ia32_pmovsxbd256((Bytes)words);
    else
        return (Large)__builtin_ia32_pmovsxbd128((Bytes)words);
#else
    Small small;
    std::memcpy(&small, from, sizeof small);
    return __builtin_convertvector(small, Large);
#endif
}
template <class T>
struct WholeNumbers;
template <>
struct WholeNumbers<float> {
    typedef std::int8_t Small __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES / 4)));
    typedef std::int32_t Large __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
    static POCKETKERNEL_INLINE Large load(const std::int8_t* from) { return widen_bytes<Small, Large>(from); }
};
template <>
struct WholeNumbers<double> {
    typedef std::int8_t Small __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES / 8)));
    typedef std::int32_t Large __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES / 2)));
    static POCKETKERNEL_INLINE Large load(const std::int8_t* from) { return widen_bytes<Small, Large>(from); }
};
#endif

// A pack of small integers.
template <class T>
POCKETKERNEL_INLINE Pack<T> from_bytes(const std::int8_t* from) {
    Pack<T> p;
    for (std::size_t i = 0; i < Pack<T>::registers; ++i) {
#if POCKETKERNEL_REGISTER_BYTES > 0
        p.r[i] =
            __builtin_convertvector(WholeNumbers<T>::load(from + i * RegisterOf<T>::lanes), typename Pack<T>::Register);
#else
        p.r[i] = static_cast<T>(from[i]);
#endif
    }
    return p;
}

// total += a b. Register by register: as an expression of packs, GCC copies them through memory.
template <class E>
POCKETKERNEL_INLINE void add_product(Pack<E>& total, const Pack<E>& a, const Pack<E>& b) {
    for (std::size_t i = 0; i < Pack<E>::registers; ++i) total.r[i] = total.r[i] + a.r[i] * b.r[i];
}

// total += x times a pack of small integers.
template <class T>
POCKETKERNEL_INLINE void add_product(Pack<T>& total, const std::int8_t* small, T x) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    total += from_bytes<T>(small) * Pack<T>(x);
#else
    for (std::size_t l = 0; l < lanes_of<T>; ++l) total.r[l] += static_cast<T>(small[l]) * x;
#endif
}

// Sum of the lanes in double precision, in a fixed order: the upper half is added to the lower, until one is left.
template <class T>
POCKETKERNEL_INLINE double sum(const Pack<T>& a) {
#if POCKETKERNEL_REGISTER_BYTES > 0
    const Wide<T> wide = widen(a);
    Pack<double> total = wide.p[0];
    if constexpr (Wide<T>::parts == 2) total += wide.p[1];
    for (std::size_t n = Pack<double>::registers / 2; n > 0; n /= 2)
        for (std::size_t i = 0; i < n; ++i) total.r[i] = total.r[i] + total.r[i + n];
    double lane[RegisterOf<double>::lanes];
    std::memcpy(lane, &total.r[0], sizeof lane);
    for (std::size_t n = RegisterOf<double>::lanes / 2; n > 0; n /= 2)
#else
    constexpr std::size_t half = lanes_of<T> / 2;
    double lane[half];
    for (std::size_t l = 0; l < half; ++l) lane[l] = static_cast<double>(a.r[l]) + static_cast<double>(a.r[l + half]);
    for (std::size_t n = half / 2; n > 0; n /= 2)
#endif
        for (std::size_t l = 0; l < n; ++l) lane[l] += lane[l + n];
    return lane[0];
}

POCKETKERNEL_END
