// Hands out pieces of one block of memory, front to back. Without a block it only counts, so the size of a learner and
// its layout come from the same lines of code, and so does the byte order of a saved state. It never frees and never
// allocates more.
//
// A learner's state is one contiguous part of its block, or lies apart, in a block of its own.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd.hpp"
#include "wire.hpp"

POCKETKERNEL_BEGIN

// Where a learner keeps what the seed alone decides, which is not part of its state; in words of this size.
struct Constants {
    // Frequencies of rows with more columns than this are part of the state all the same: else a small file could ask
    // for any amount of memory.
    static constexpr std::size_t most_columns = 256;

    unsigned char* at = nullptr;
    std::size_t bytes = 0, word = 1;
};

class Arena {
  public:
    Arena() = default;  // counts only
    explicit Arena(void* block) : base_(static_cast<unsigned char*>(block)) {}
    Arena(void* block, void* state)
        : base_(static_cast<unsigned char*>(block)), apart_(static_cast<unsigned char*>(state)) {}

    // Counts only, and swaps the bytes of all words of the state, which is at `state`.
    static Arena converting(unsigned char* state) {
        Arena arena;
        arena.converted_ = state;
        return arena;
    }

    // What is taken between these two is the state; the second returns its bytes.
    void begin_state() {
        before_ = used_;
        in_state_ = true;
        if (apart_) swap_blocks(0);
    }
    std::size_t end_state() {
        const std::size_t bytes = used_ - (apart_ ? 0 : before_);
        in_state_ = false;
        if (apart_) swap_blocks(before_);
        return bytes;
    }

    // Space for as many zeroed objects of a trivial type as the product of the counts, aligned to a pack. Null while
    // counting. Counts are multiplied here so that an overflow, as with a 32-bit std::size_t, is detected.
    template <class T, class... Counts>
    T* take(Counts... counts) {
        static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                      "objects on an arena are zeroed, copied and left as bytes");
        const std::size_t bytes = product(sizeof(T), static_cast<std::size_t>(counts)...);
        if constexpr (big_endian)
            if (converted_ && in_state_) swap_words(converted_ + (used_ - before_), bytes, wire_word<T>);
        return reinterpret_cast<T*>(take_bytes(bytes));
    }

    // Space for one object of any type, which the caller constructs there; or more, if it reserves some.
    template <class T>
    void* place(std::size_t bytes = sizeof(T)) {
        return take_bytes(bytes);
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

    void swap_blocks(std::size_t used) {
        unsigned char* other = apart_;
        apart_ = base_;
        base_ = other;
        used_ = used;
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
    unsigned char* apart_ = nullptr;      // the block that is not taken from at the moment, if the state lies apart
    unsigned char* converted_ = nullptr;  // the state whose bytes are swapped
    std::size_t used_ = 0, before_ = 0;
    bool in_state_ = false;
};

POCKETKERNEL_END
