// The byte order of saved states: little-endian on every machine.
//
// On a little-endian machine nothing here does anything. On a big-endian one `swap_words` converts between the order in
// memory and that of the state, given the size of the words that an array consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "level.hpp"

POCKETKERNEL_BEGIN

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
inline constexpr bool big_endian = true;
#else
inline constexpr bool big_endian = false;
#endif

// The size of the words in an object of type S: all fields of a struct that is part of a state are of one size, which
// is then its alignment.
template <class S>
inline constexpr std::size_t wire_word = std::is_arithmetic<S>::value ? sizeof(S) : alignof(S);

inline void reverse_bytes(unsigned char* bytes, std::size_t n) {
    for (std::size_t i = 0; i < n / 2; ++i) {
        const unsigned char byte = bytes[i];
        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = byte;
    }
}
inline void swap_words(unsigned char* bytes, std::size_t n, std::size_t word) {
    for (std::size_t i = 0; i + word <= n; i += word) reverse_bytes(bytes + i, word);
}

// Up to eight bytes as a little-endian number, and a number as eight such bytes.
inline std::uint64_t read_word(const unsigned char* from, std::size_t n = 8) {
    std::uint64_t word = 0;
    for (std::size_t i = n; i-- > 0;) word = word << 8 | from[i];
    return word;
}
inline void write_word(unsigned char* to, std::uint64_t word) {
    for (std::size_t i = 0; i < 8; ++i) to[i] = static_cast<unsigned char>(word >> (8 * i));
}

POCKETKERNEL_END
