// EventLog: the last changes of the stream that a learner has noticed, each with the number of its row.
//
// Part of the state as it is: 8 bytes for each of the last seven, and for the count of all.
#pragma once

#include "state.hpp"

POCKETKERNEL_BEGIN

struct EventLog {
    enum Kind : std::uint64_t { classes_exchanged, confidence_lost, column_changed };
    static constexpr std::size_t most = 7;
    static constexpr std::uint64_t kinds = 3, together = 1000;

    std::uint64_t count;          // of all events so far
    std::uint64_t entries[most];  // 4 row + kind; event n is in place n mod `most`

    // Columns that change within some rows of each other are one event.
    void add(std::uint64_t row, Kind kind) {
        if (kind == column_changed && count > 0 && kind_of(count - 1) == kind && row - row_of(count - 1) < together)
            return;
        entries[count++ % most] = 4 * row + kind;
    }
    std::uint64_t first_kept() const { return count < most ? 0 : count - most; }
    std::uint64_t row_of(std::uint64_t n) const { return entries[n % most] / 4; }
    std::uint64_t kind_of(std::uint64_t n) const { return entries[n % most] % 4; }

    // Rows in order and none after row number `rounds`, which no event is counted without.
    bool valid(std::uint64_t rounds) const {
        bool good = count <= 2 * rounds;
        for (std::uint64_t n = first_kept(); good && n < count; ++n)
            good = row_of(n) >= 1 && row_of(n) <= rounds && kind_of(n) < kinds &&
                   (n == first_kept() || row_of(n) >= row_of(n - 1));
        return good;
    }
};
static_assert(part_of_state<EventLog, 64>);

POCKETKERNEL_END
