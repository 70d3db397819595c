// xoshiro128++ (Blackman & Vigna), seeded by splitmix64: the only source of randomness. 16 bytes of state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level.hpp"

POCKETKERNEL_BEGIN

class Rng {
  public:
    Rng() = default;
    explicit Rng(std::uint64_t seed) {
        for (std::size_t i = 0; i < 4; i += 2) {
            const std::uint64_t z = splitmix64(seed);
            state_[i] = static_cast<std::uint32_t>(z);
            state_[i + 1] = static_cast<std::uint32_t>(z >> 32);
        }
    }

    std::uint32_t next() {
        const std::uint32_t result = rotate_left(state_[0] + state_[3], 7) + state_[0];
        const std::uint32_t t = state_[1] << 9;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate_left(state_[3], 11);
        return result;
    }

    // In [0, 1), a multiple of 2^-24.
    double uniform() { return static_cast<double>(next() >> 8) * 0x1p-24; }

    // In 0 .. n-1.
    std::size_t index(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

    bool valid() const { return (state_[0] | state_[1] | state_[2] | state_[3]) != 0; }

  private:
    static std::uint64_t splitmix64(std::uint64_t& s) {
        std::uint64_t z = (s += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    static std::uint32_t rotate_left(std::uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

    std::uint32_t state_[4] = {};
};

POCKETKERNEL_END
