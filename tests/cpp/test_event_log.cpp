#include "pocketkernel/event_log.hpp"

#include "check.hpp"

using namespace pocketkernel;

TEST(event_log_keeps_the_last_events) {
    EventLog log{};
    CHECK(log.valid(0));
    for (std::uint64_t n = 0; n < 20; ++n) {
        log.add(10 * n + 1, n % 2 == 0 ? EventLog::classes_exchanged : EventLog::confidence_lost);
        CHECK_EQUAL(log.count, n + 1);
        CHECK(log.valid(10 * n + 1) && !log.valid(10 * n));
        for (std::uint64_t m = log.first_kept(); m <= n; ++m) {
            CHECK_EQUAL(log.row_of(m), 10 * m + 1);
            CHECK_EQUAL(log.kind_of(m), m % 2);
        }
        CHECK_EQUAL(log.count - log.first_kept(), smaller(n + 1, std::uint64_t(EventLog::most)));
    }
    log.entries[0] += 3;  // a kind that there is not
    CHECK(!log.valid(1000));
}

TEST(event_log_joins_columns_that_change_together) {
    EventLog log{};
    for (std::uint64_t row : {100, 150, 1099, 1100, 1200, 5000}) log.add(row, EventLog::column_changed);
    CHECK_EQUAL(log.count, 3u);
    CHECK_EQUAL(log.row_of(1), 1100u);
    log.add(5001, EventLog::confidence_lost);
    log.add(5002, EventLog::column_changed);
    CHECK_EQUAL(log.count, 5u);
    log.count = 20000;
    CHECK(!log.valid(5002));
}
