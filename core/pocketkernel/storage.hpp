// The two 16-bit formats in which a buffer can store its rows: float16 (10 bits of fraction, up to 65504) and bfloat16
// (7 bits of fraction, the range of float32). Arithmetic stays in float32.
//
// Both are read in the same four steps (widen with the sign, shift, mask, multiply by a power of two), so one loop
// serves both; every step is exact. A number is rounded to the nearest when it arrives, ties to even.
#pragma once

#include "config.hpp"
#include "simd.hpp"

POCKETKERNEL_BEGIN

class HalfFormat {
  public:
    HalfFormat() = default;
    explicit HalfFormat(Storage storage) {
        if (storage == Storage::float16) *this = HalfFormat(13, 0x8fffffffU, 0x1p112f);
        if (storage == Storage::bfloat16) *this = HalfFormat(16, 0xffffffffU, 1.0f);
    }

    // Whether this is a 16-bit format; otherwise rows are stored as T.
    explicit operator bool() const { return shift_ > 0; }

    float decode(std::int16_t half) const {
        const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(half)) << shift_;
        return bit_cast<float>(bits & mask_) * factor_;
    }

    // |x| is at most 65504 for float16, and 1e18 for bfloat16.
    std::int16_t encode(float x) const {
        const auto bits = bit_cast<std::uint32_t>(x);
        const std::uint32_t sign = bits >> 31 << 15, magnitude = bits & 0x7fffffffU;
        std::uint32_t half = 0;
        if (factor_ == 1.0f) {
            half = nearest(magnitude);
        } else if (magnitude < 0x38800000U) {
            // Below 2^-14 float16 has steps of 2^-24; adding and subtracting 2^52 rounds to an integer.
            const double steps = static_cast<double>(bit_cast<float>(magnitude)) * 0x1p24;
            half = static_cast<std::uint32_t>((steps + 0x1p52) - 0x1p52);
        } else {
            half = nearest(magnitude) - (112U << 10);
        }
        return bit_cast<std::int16_t>(static_cast<std::uint16_t>(sign | half));
    }

    float rounded(float x) const { return decode(encode(x)); }

    // Sixteen adjacent values at once.
    POCKETKERNEL_INLINE Pack<float> decode_pack(const std::int16_t* from) const {
        Pack<float> p;
        constexpr std::size_t n = RegisterOf<float>::lanes;
        for (std::size_t i = 0; i < Pack<float>::registers; ++i) {
#if POCKETKERNEL_REGISTER_BYTES > 0
            typedef std::int16_t Halves __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES / 2)));
            typedef std::int32_t Words __attribute__((vector_size(POCKETKERNEL_REGISTER_BYTES)));
            Halves halves;
            std::memcpy(&halves, from + i * n, sizeof halves);
            const Words words = (__builtin_convertvector(halves, Words) << shift_) & bit_cast<std::int32_t>(mask_);
            p.r[i] = bit_cast<Pack<float>::Register>(words) * factor_;
#else
            p.r[i] = decode(from[i * n]);
#endif
        }
        return p;
    }

  private:
    HalfFormat(int shift, std::uint32_t mask, float factor) : shift_(shift), mask_(mask), factor_(factor) {}

    // The leading bits, rounded.
    std::uint32_t nearest(std::uint32_t magnitude) const {
        const std::uint32_t below_half = (1U << (shift_ - 1)) - 1, last = magnitude >> shift_ & 1;
        return (magnitude + below_half + last) >> shift_;
    }

    int shift_ = 0;
    std::uint32_t mask_ = 0;
    float factor_ = 1.0f;
};

POCKETKERNEL_END
