// Hands out pieces of one block of memory, front to back. Over no block it only counts, so that the size of a learner
// and its layout come from the same lines of code. It never frees and never asks for more.
#pragma once

#include <cstddef>
#include <cstring>

#include "simd.hpp"

POCKETKERNEL_BEGIN

class Arena {
  public:
    Arena() = default;  // counts only
    explicit Arena(void* block) : base_(static_cast<unsigned char*>(block)) {}

    // n zeroed objects of a trivial type, aligned to a pack. Null while counting.
    template <class T>
    T* take(std::size_t n) {
        const std::size_t size = (n * sizeof(T) + pack_bytes - 1) / pack_bytes * pack_bytes;
        unsigned char* piece = base_ ? base_ + used_ : nullptr;
        used_ += size;
        if (!piece) return nullptr;
        std::memset(piece, 0, size);
        return reinterpret_cast<T*>(piece);
    }

    std::size_t used() const { return used_; }

  private:
    unsigned char* base_ = nullptr;
    std::size_t used_ = 0;
};

POCKETKERNEL_END
