// Hands out pieces of one block of memory, front to back. Without a block it only counts, so the size of a learner and
// its layout come from the same lines of code, and so does the byte order of a saved state. It never frees and never
// allocates more.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd.hpp"
#include "wire.hpp"

POCKETKERNEL_BEGIN

class Arena {
  public:
    Arena() = default;  // counts only
    explicit Arena(void* block) : base_(static_cast<unsigned char*>(block)) {}
    // Counts only, and swaps the bytes of all words that lie in `size` bytes from `begin` on. They are at `bytes`.
    static Arena converting(unsigned char* bytes, std::size_t begin, std::size_t size) {
        Arena arena;
        arena.wire_ = bytes;
        arena.wire_begin_ = begin;
        arena.wire_end_ = begin + size;
        return arena;
    }

    // Space for as many zeroed objects of a trivial type as the product of the counts, aligned to a pack. Null while
    // counting. Counts are multiplied here so that an overflow, as with a 32-bit std::size_t, is detected.
    template <class T, class... Counts>
    T* take(Counts... counts) {
        static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                      "objects on an arena are zeroed, copied and left as bytes");
        const std::size_t bytes = product(sizeof(T), static_cast<std::size_t>(counts)...);
        if constexpr (big_endian)
            if (wire_begin_ <= used_ && used_ < wire_end_)
                swap_words(wire_ + (used_ - wire_begin_), bytes, wire_word<T>);
        return reinterpret_cast<T*>(take_bytes(bytes));
    }

    // Space for one object of any type, which the caller constructs there.
    template <class T>
    void* place() {
        return take_bytes(sizeof(T));
    }

    // Bytes taken so far; the largest std::size_t if a size has overflowed.
    std::size_t used() const { return used_; }

  private:
    static constexpr std::size_t too_much = std::numeric_limits<std::size_t>::max();

    static constexpr std::size_t product(std::size_t n) { return n; }
    template <class... Counts>
    static constexpr std::size_t product(std::size_t a, std::size_t b, Counts... more) {
        return product(b != 0 && a > too_much / b ? too_much : a * b, more...);
    }

    unsigned char* take_bytes(std::size_t bytes) {
        if (used_ > too_much - pack_bytes || bytes > too_much - pack_bytes - used_) {
            used_ = too_much;
            return nullptr;
        }
        const std::size_t size = (bytes + pack_bytes - 1) / pack_bytes * pack_bytes;
        unsigned char* piece = base_ ? base_ + used_ : nullptr;
        used_ += size;
        if (piece) std::memset(piece, 0, size);
        return piece;
    }

    unsigned char* base_ = nullptr;
    std::size_t used_ = 0;
    unsigned char* wire_ = nullptr;  // of a converting arena
    std::size_t wire_begin_ = 0, wire_end_ = 0;
};

POCKETKERNEL_END
