// Reservoir: M examples drawn uniformly from all rounds so far (Vitter 1985), as positions in an archive.
//
// This file only chooses; the rows are in the archive's Buffer, and its owner reports their positions.
#pragma once

#include "arena.hpp"
#include "rng.hpp"

POCKETKERNEL_BEGIN

class Reservoir {
  public:
    Reservoir() = default;
    Reservoir(Arena& arena, std::size_t slots)
        : slots_(slots), place_(arena.take<std::uint64_t>(slots)), used_(arena.take<std::uint64_t>(1)) {}

    std::size_t size() const { return static_cast<std::size_t>(*used_); }
    std::size_t place(std::size_t slot) const { return static_cast<std::size_t>(place_[slot]); }

    bool holds(std::size_t place) const {
        for (std::size_t v = 0; v < size(); ++v)
            if (place_[v] == place) return true;
        return false;
    }

    // The slot that the example of round t (from 1) takes, or slots() if it takes none.
    std::size_t offer(std::uint64_t t, Rng& rng) const {
        if (t <= slots_) return size();
        if (rng.uniform() < static_cast<double>(slots_) / static_cast<double>(t)) return rng.index(slots_);
        return slots_;
    }
    std::size_t slots() const { return slots_; }

    void put(std::size_t slot, std::size_t place) {
        place_[slot] = place;
        if (slot == size()) ++*used_;
    }

    // An archived example was removed; those after it moved up by one.
    void archive_dropped(std::size_t dropped) {
        for (std::size_t v = 0; v < size(); ++v) place_[v] -= place_[v] > dropped;
    }

    bool valid(std::size_t archive_size, std::uint64_t rounds) const {
        if (*used_ != (rounds < slots_ ? rounds : slots_)) return false;
        for (std::size_t v = 0; v < size(); ++v)
            if (place_[v] >= archive_size) return false;
        return true;
    }

  private:
    std::size_t slots_ = 0;
    std::uint64_t* place_ = nullptr;
    std::uint64_t* used_ = nullptr;
};

POCKETKERNEL_END
