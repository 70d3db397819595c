#include "pocketkernel/interval_tracker.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

const double shares[] = {0.3, 0.5, 0.8, 0.9, 0.95, 0.99};

}  // namespace

// Before any error the intervals are those of normal errors.
TEST(interval_tracker_begins_normal) {
    IntervalTracker tracker;
    tracker.reset();
    CHECK(tracker.valid());
    for (double c : shares) {
        CHECK_NEAR(tracker.above(c), std::sqrt(std::acos(-1.0) / 2.0) * normal_quantile(0.5 + 0.5 * c), 1e-12);
        CHECK_EQUAL(tracker.below(c), tracker.above(c));
    }
}

// Normal errors, errors that grow tenfold and shrink again, skewed ones: over any 5000 rows the share within is
// what was asked for, to a point.
TEST(interval_tracker_covers) {
    for (int kind = 0; kind < 3; ++kind) {
        IntervalTracker tracker;
        tracker.reset();
        Rng rng(3);
        Normal normal(rng);
        constexpr int block = 5000;
        double size = 1.0;
        for (int begin = 0; begin < 6 * block; begin += block) {
            int within[6] = {};
            for (int t = begin; t < begin + block; ++t) {
                double error = normal.next();
                if (kind == 1 && t / block % 2 == 1) error *= 10.0;
                if (kind == 2) error = error * error;
                for (std::size_t i = 0; i < 6; ++i)
                    within[i] += error >= -tracker.below(shares[i]) * size && error <= tracker.above(shares[i]) * size;
                tracker.observe(error, size);
                size += (std::fabs(error) - size) / 64.0;
                CHECK(tracker.above(0.99) <= tracker.above(0.999) && tracker.below(0.99) <= tracker.below(0.999));
            }
            for (std::size_t i = 0; i < 6; ++i) CHECK_NEAR(within[i] / double(block), shares[i], 0.01);
        }
        CHECK(tracker.valid());
    }
}

TEST(interval_tracker_knows_an_impossible_state) {
    IntervalTracker tracker;
    tracker.reset();
    const double bad = std::nan("");
    std::memcpy(reinterpret_cast<unsigned char*>(&tracker) + 5 * sizeof bad, &bad, sizeof bad);
    CHECK(!tracker.valid());
}
