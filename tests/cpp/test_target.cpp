#include "pocketkernel/target.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

TEST(target_losses) {
    CHECK_EQUAL(Target::loss(-3.0, 0.0), 9.0);
    CHECK_NEAR(Target::loss(2.0, 0.9), 1.8, 1e-12);
    CHECK_NEAR(Target::loss(-2.0, 0.9), 0.2, 1e-12);
    // 1 over the normal density, at the median and one deviation above it.
    CHECK_NEAR(Target::newton(0.5), std::sqrt(2.0 * 3.14159265358979), 1e-9);
    CHECK_NEAR(Target::newton(0.8413447460685429), std::sqrt(2.0 * 3.14159265358979) * std::exp(0.5), 1e-6);
}

// The lesson of a quantile: nothing on the whole where errors have it already; the same for all large errors.
TEST(target_lessons) {
    Target target{};
    target.reset();
    target.scale.size = 1.0;
    const double tau = 0.75, newton = Target::newton(tau), high = target.lesson(100.0, tau, newton);
    CHECK_NEAR(target.lesson(5.0, tau, newton), high, 1e-12);
    CHECK_NEAR(tau * target.lesson(-100.0, tau, newton) + (1.0 - tau) * high, 0.0, 1e-9);
    CHECK(high > 0.0 && target.lesson(-100.0, tau, newton) < 0.0);
    CHECK_EQUAL(target.lesson(0.3, 0.0, 0.0), 0.3);  // of the mean, the error
}

// The offset follows the share of answers that were too low.
TEST(target_offset) {
    Target target{};
    target.reset();
    Rng rng(4);
    for (int row = 0; row < 20000; ++row) {
        target.scale.size = 1.0;
        target.judge(rng.uniform() - target.offset, 0.9);
    }
    CHECK_NEAR(target.offset, 0.9, 0.12);
    CHECK_NEAR(target.level(), target.offset, 1e-12);
    CHECK(target.valid());
}

// Coefficients have a unit near the deviation of y, as a power of 2, that changes seldom.
TEST(target_units) {
    Target target{};
    target.reset();
    for (double deviation : {1.0, 1e5, 1e-5}) {
        target.scale.variance = deviation * deviation;
        CHECK_EQUAL(target.rebase(), 1.0);
    }
    target.scale.variance = 1e20;
    CHECK_EQUAL(target.rebase(), 1.0 / 8589934592.0);
    CHECK(target.unit == 8589934592.0 && target.rebase() == 1.0 && target.valid());
    target.unit = 0.0;
    CHECK(!target.valid());
    target.scale.peak = 2.0;
    CHECK(target.within_reach(9.0) == 4.0 && target.within_reach(-9.0) == -4.0 && target.within_reach(1.0) == 1.0);
}
