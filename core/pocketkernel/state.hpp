// The bytes of a learner's state: a header of fixed size, then its arrays as they are in memory.
//
// The size depends only on the configuration. The header identifies states that are foreign, newer, of another model or
// damaged before anything is read. Numbers are little-endian on every machine (wire.hpp); the layout is the same at
// every level, with 32 bits and with 64.
#pragma once

#include "config.hpp"
#include "kernels/list.hpp"
#include "simd.hpp"
#include "status.hpp"
#include "wire.hpp"

POCKETKERNEL_BEGIN

struct StateHeader {
    static constexpr std::uint32_t the_magic = 0x54534b50;  // "PKST"
    static constexpr std::uint32_t the_version = 1;

    std::uint32_t magic, version;
    std::uint64_t model;     // digest of learner, precision and configuration
    std::uint64_t size;      // bytes of the payload
    std::uint64_t checksum;  // of the payload

    // From the order of the machine to that of the state, or back.
    void convert() {
        if constexpr (big_endian) {
            auto* bytes = reinterpret_cast<unsigned char*>(this);
            swap_words(bytes, 8, 4);
            swap_words(bytes + 8, sizeof *this - 8, 8);
        }
    }
};

// Whether S has the same bytes on every machine, which everything in the state must: no padding that depends on the
// compiler's alignment.
template <class S, std::size_t Bytes>
inline constexpr bool part_of_state = sizeof(S) == Bytes && alignof(S) <= 8 && std::is_trivially_copyable<S>::value;
static_assert(part_of_state<StateHeader, 32>);

// FNV-1a over 64-bit words of plain data.
class Digest {
  public:
    template <class U>
    void add(const U& value) {
        static_assert(sizeof(U) <= 8, "one word at a time");
        std::uint64_t word = 0;
        if constexpr (big_endian) {
            unsigned char bytes[sizeof value];
            std::memcpy(bytes, &value, sizeof value);
            reverse_bytes(bytes, sizeof value);
            word = read_word(bytes, sizeof value);
        } else {
            std::memcpy(&word, &value, sizeof value);
        }
        hash_ = (hash_ ^ word) * 0x100000001b3ULL;
        hash_ ^= hash_ >> 29;
    }
    void add_bytes(const unsigned char* bytes, std::size_t n) {
        for (std::size_t i = 0; i < n; i += 8) {
            std::uint64_t word = 0;
            const std::size_t count = n - i < 8 ? n - i : 8;
            if constexpr (big_endian)
                word = read_word(bytes + i, count);
            else
                std::memcpy(&word, bytes + i, count);
            add(word);
        }
    }
    std::uint64_t value() const { return hash_; }

  private:
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// Everything that determines the layout or the results of a run. The seed counts only if something that it decides is
// not in the state. If the numbers of a learner change their meaning, its revision is increased.
inline std::uint64_t model_digest(const char* learner, std::size_t element_size, const Config& c,
                                  std::uint32_t revision = 1, bool seeded = false) {
    Digest digest;
    for (const char* s = learner; *s; ++s) digest.add(*s);
    digest.add(element_size);
    const auto add = [&](const char*, const auto& value) { digest.add(value); };
    for_each_size(c, add);
    digest.add(c.kernel_count);
    for (std::size_t i = 0; i < c.kernel_count; ++i) {
        const KernelSpec kernel = canonical(c.kernels[i]);
        digest.add(kernel.family);
        digest.add(kernel.parameter);
        if (kernel.order != 1) digest.add(kernel.order);
    }
    digest.add(c.loss);
    digest.add(c.removal);
    digest.add(c.storage);
    // Parameters that came later count only where they are used: what was written before can still be read.
    for_each_parameter(c, [&](const char*, const auto& value) {
        if (static_cast<const void*>(&value) != &c.quantile || c.quantile != 0.0) digest.add(value);
    });
    if (revision > 1) digest.add(revision);
    if (seeded) digest.add(c.seed);
    return digest.value();
}

POCKETKERNEL_END
