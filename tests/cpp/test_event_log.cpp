#include "pocketkernel/event_log.hpp"

#include "check.hpp"

using namespace pocketkernel;

TEST(event_log_keeps_the_last_events) {
    EventLog log{};
    CHECK(log.valid(0, 1));
    for (std::uint64_t n = 0; n < 20; ++n) {
        log.add(10 * n + 1, n % 2 == 0 ? EventLog::classes_exchanged : EventLog::confidence_lost);
        CHECK_EQUAL(log.count, n + 1);
        CHECK(log.valid(10 * n + 1, 1) && !log.valid(10 * n, 1));
        for (std::uint64_t m = log.first_kept(); m <= n; ++m) {
            CHECK_EQUAL(log.row_of(m), 10 * m + 1);
            CHECK_EQUAL(log.kind_of(m), m % 2);
        }
        CHECK_EQUAL(log.count - log.first_kept(), smaller(n + 1, std::uint64_t(EventLog::most)));
    }
    log.entries[0] |= 3;  // a kind that there is not
    CHECK(!log.valid(1000, 1));
}

TEST(event_log_joins_columns_that_change_together) {
    EventLog log{};
    for (std::uint64_t row : {100, 150, 1099, 1100, 1200, 5000})
        log.add(row, EventLog::column_changed, static_cast<std::uint32_t>(4 * (row % 1000) + 1));
    CHECK_EQUAL(log.count, 3u);
    CHECK_EQUAL(log.row_of(1), 1100u);
    CHECK_EQUAL(log.column_of(1), 100u);
    log.add(5001, EventLog::confidence_lost);
    log.add(5002, EventLog::column_changed, 4 * 999999 + 3);
    CHECK_EQUAL(log.count, 5u);
    CHECK_EQUAL(log.column_of(4), 999999u);
    CHECK_EQUAL(log.change_of(4), 3u);
    CHECK(log.valid(5002, 1000000) && !log.valid(5002, 999999));
    log.count = 20000;
    CHECK(!log.valid(5002, 1000000));
}

// Of a column there is always something to say, and of others never.
TEST(event_log_knows_what_belongs_to_a_column) {
    for (const auto kind : {EventLog::classes_exchanged, EventLog::confidence_lost, EventLog::column_changed})
        for (std::uint32_t column : {0u, 2u})
            for (std::uint32_t change : {0u, 1u}) {
                EventLog log{};
                log.add(7, kind, 4 * column + change);
                const bool of_column = kind == EventLog::column_changed;
                CHECK_EQUAL(log.valid(7, 3), of_column ? change == 1 : column == 0 && change == 0);
            }
}

// Rows that are too many for an entry are counted as the last one that is not.
TEST(event_log_outlives_its_numbers) {
    EventLog log{};
    for (int shift : {39, 40, 52}) log.add(std::uint64_t(1) << shift, EventLog::column_changed, 4 * 5 + 2);
    CHECK_EQUAL(log.count, 2u);
    CHECK_EQUAL(log.row_of(1), (std::uint64_t(1) << 40) - 1);
    CHECK_EQUAL(log.column_of(1), 5u);
    CHECK(log.valid(std::uint64_t(1) << 52, 6));
}
