// Division and square root of doubles for chips whose FPU has none (Cortex-M3, M4, M33), rounded as IEEE 754 demands.
//
// The compiler's library computes both bit by bit, in 540 and 810 instructions, a quarter of all instructions of
// PocketClassifier. These take about 100. Both find the result to 54 bits, one more than a double has, from 32-bit
// products; remainders are computed modulo 2^64, where they are exact.
#pragma once

#include <stdint.h>
#include <string.h>

namespace pk_soft {

inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// 2^63 / (d + 1) from below, for d of 32 bits with the highest one set: one step of Newton from a quotient of 17 bits.
inline uint32_t reciprocal(uint32_t d) {
    const uint32_t r = 0xffffffffu / ((d >> 16) + 1);
    const uint64_t error = (uint64_t(1) << 48) - r * (uint64_t(d) + 1);
    return (r << 15) + uint32_t(r * error >> 33);
}

constexpr uint64_t fraction = (uint64_t(1) << 52) - 1, sign = uint64_t(1) << 63, infinity = uint64_t(0x7ff) << 52;
constexpr uint64_t not_a_number = infinity | uint64_t(1) << 51;

// A number as a significand of 53 bits, and its exponent.
struct Parts {
    uint64_t significand;
    int exponent;
};
inline Parts parts_of(uint64_t x) {
    x &= ~sign;
    if (x >> 52 != 0) return {(x & fraction) | (fraction + 1), int(x >> 52)};
    int exponent = 1;
    for (; x <= fraction; --exponent) x <<= 1;
    return {x, exponent};
}

// The double with a significand of 54 bits, of which one is to be rounded off; `more` if there is something beyond.
inline double rounded(uint64_t negative, uint64_t significand, int exponent, bool more) {
    if (exponent <= 0) {
        const int by = exponent < -54 ? 55 : 1 - exponent;
        more = more || (significand & ((uint64_t(1) << by) - 1)) != 0;
        significand >>= by;
        exponent = 0;
    } else {
        significand -= uint64_t(1) << 53;
    }
    if (exponent >= 0x7ff) return double_of(negative | infinity);
    const uint64_t up = significand & 1 & (uint64_t(more) | significand >> 1);
    return double_of(negative | ((uint64_t(exponent) << 52) + (significand >> 1) + up));
}

inline double divide(double x, double y) {
    const uint64_t a = bits_of(x), b = bits_of(y), negative = (a ^ b) & sign;
    const uint64_t p = a & ~sign, q = b & ~sign;
    if (p - 1 >= infinity - 1 || q - 1 >= infinity - 1) {
        if (p > infinity || q > infinity || (p == q && (p == 0 || p == infinity))) return double_of(not_a_number);
        return double_of(negative | (p == infinity || q == 0 ? infinity : 0));
    }
    Parts above = parts_of(a);
    const Parts below = parts_of(b);
    const uint64_t d = below.significand;
    int exponent = above.exponent - below.exponent + 1023;
    if (above.significand < d) above.significand <<= 1, --exponent;
    const uint32_t r = reciprocal(uint32_t(d >> 21));
    // 28 bits of the quotient, then 26 more. Each part is at most a few too small.
    const uint32_t high = uint32_t((above.significand >> 22) * r >> 35);
    uint64_t rest = (above.significand << 27) - high * d;
    const uint32_t low = uint32_t((rest >> 23) * r >> 35);
    rest = (rest << 26) - low * d;
    uint64_t quotient = (uint64_t(high) << 26) + low;
    for (; rest >= d; rest -= d) ++quotient;
    return rounded(negative, quotient, exponent, rest != 0);
}

inline double square_root(double x) {
    const uint64_t a = bits_of(x);
    if (a - 1 >= infinity - 1) return (a & ~sign) == 0 || a == infinity ? x : double_of(not_a_number);
    const Parts parts = parts_of(a);
    const int odd = ~parts.exponent & 1;
    const uint64_t m = parts.significand << odd;  // of 53 or 54 bits
    // floor(sqrt(m)): 16 bits, one after another, then the others from the remainder. The guess is never too small.
    const uint32_t top = uint32_t(m >> 22);
    uint32_t t = 0, left = top;
    for (uint32_t bit = 1u << 30; bit != 0; bit >>= 2) {
        const bool fits = left >= t + bit;
        left -= fits ? t + bit : 0;
        t = (t >> 1) + (fits ? bit : 0);
    }
    uint32_t s = (t << 11) + uint32_t((m - (uint64_t(t) * t << 22)) >> 12) / t;
    int64_t rest = int64_t(m) - int64_t(uint64_t(s) * s);
    for (; rest < 0; rest += 2 * s + 1) --s;
    // sqrt(m 2^54) is s 2^27 + u, where u is about rest 2^26 / s. The guess is 0 to 3 too large. No root is halfway
    // between two doubles.
    const uint64_t high = uint64_t(s) << 27, u = (uint64_t(rest) * reciprocal(s << 5) >> 32) + 2;
    uint64_t root = high + u;
    for (int64_t after = int64_t((uint64_t(rest) << 54) - u * (high + root)); after < 0;) {
        --root;
        after += int64_t(2 * root + 1);
    }
    return rounded(0, root, (parts.exponent + 1023 - odd) / 2, true);
}

}  // namespace pk_soft
