// EventLog: the last changes of the stream that a learner has noticed, each with the number of its row.
//
// Part of the state as it is: 8 bytes for each of the last seven, and for the count of all. Of a column it has the
// number, and what has changed, as ColumnScale numbers it.
#pragma once

#include "state.hpp"

POCKETKERNEL_BEGIN

struct EventLog {
    enum Kind : std::uint64_t { classes_exchanged, confidence_lost, column_changed };
    static constexpr std::size_t most = 7;
    static constexpr std::uint64_t kinds = 3, together = 1000;

    std::uint64_t count;          // of all events so far
    std::uint64_t entries[most];  // row, column, change, kind: 40, 20, 2 and 2 bits; event n is in place n mod `most`

    // Columns that change within some rows of each other are one event, of the first. What is known of it is 4 times
    // its number, and the change.
    void add(std::uint64_t row, Kind kind, std::uint32_t column_and_change = 0) {
        row = row < last_row ? row : last_row;
        if (kind == column_changed && count > 0 && kind_of(count - 1) == kind && row - row_of(count - 1) < together)
            return;
        entries[count++ % most] = row << 24 | (column_and_change << 2 | static_cast<std::uint32_t>(kind));
    }
    std::uint64_t first_kept() const { return count < most ? 0 : count - most; }
    std::uint64_t row_of(std::uint64_t n) const { return entries[n % most] >> 24; }
    std::uint64_t column_of(std::uint64_t n) const { return entries[n % most] >> 4 & 0xfffff; }
    std::uint64_t change_of(std::uint64_t n) const { return entries[n % most] >> 2 & 3; }
    std::uint64_t kind_of(std::uint64_t n) const { return entries[n % most] & 3; }

    // Rows in order and none after row number `rounds`, which no event is counted without; only of a column is there
    // more, and it is one of so many.
    bool valid(std::uint64_t rounds, std::uint64_t columns) const {
        bool good = count <= 2 * rounds;
        for (std::uint64_t n = first_kept(); good && n < count; ++n)
            good = row_of(n) >= 1 && row_of(n) <= rounds && kind_of(n) < kinds && column_of(n) < columns &&
                   (kind_of(n) == column_changed) == (change_of(n) > 0) &&
                   (kind_of(n) == column_changed || column_of(n) == 0) &&
                   (n == first_kept() || row_of(n) >= row_of(n - 1));
        return good;
    }

  private:
    static constexpr std::uint64_t last_row = (std::uint64_t(1) << 40) - 1;  // later rows are counted as this one
};
static_assert(part_of_state<EventLog, 64>);

POCKETKERNEL_END
