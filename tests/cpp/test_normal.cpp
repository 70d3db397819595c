#include "pocketkernel/normal.hpp"

#include "check.hpp"

using namespace pocketkernel;

// Two numbers from two uniform ones, by the formula with the C library's functions.
TEST(normal_follows_the_formula) {
    for (std::uint64_t seed : {0, 1, 99}) {
        Rng rng(seed), twin(seed);
        Normal normal(rng);
        for (int n = 0; n < 1000; ++n) {
            const double radius = std::sqrt(-2.0 * std::log(1.0 - twin.uniform()));
            const double angle = 2.0 * std::acos(-1.0) * twin.uniform();
            CHECK_NEAR(normal.next(), radius * std::cos(angle), 1e-14);
            CHECK_NEAR(normal.next(), radius * std::sin(angle), 1e-14);
        }
        CHECK_EQUAL(rng.next(), twin.next());  // it took no more
    }
}

TEST(normal_is_normal) {
    constexpr int count = 200000;
    Rng rng(5);
    Normal normal(rng);
    double mean = 0.0, square = 0.0, fourth = 0.0, neighbours = 0.0, last = 0.0, most = 0.0;
    int beyond_one = 0, beyond_three = 0;
    for (int n = 0; n < count; ++n) {
        const double x = normal.next();
        mean += x / count;
        square += x * x / count;
        fourth += x * x * x * x / count;
        neighbours += x * last / count;
        last = x;
        most = std::fmax(most, std::fabs(x));
        beyond_one += std::fabs(x) > 1.0;
        beyond_three += std::fabs(x) > 3.0;
    }
    CHECK_NEAR(mean, 0.0, 0.01);
    CHECK_NEAR(square, 1.0, 0.015);
    CHECK_NEAR(fourth, 3.0, 0.12);
    CHECK_NEAR(neighbours, 0.0, 0.01);
    CHECK_NEAR(beyond_one / double(count), 0.3173, 0.005);
    CHECK_NEAR(beyond_three / double(count), 0.0027, 0.0006);
    CHECK(most < 5.8);  // a uniform number is at most 1 - 2^-24
}

TEST(normal_quantiles) {
    for (int n = 1; n < 2000; ++n) {
        const double p = n / 2000.0, x = normal_quantile(p);
        CHECK_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)), p, 1e-15);
        CHECK_NEAR(normal_quantile(1.0 - p), -x, 1e-11);
    }
    CHECK_EQUAL(normal_quantile(0.5), 0.0);
    for (double p : {1e-9, 1e-6, 1e-3})
        CHECK_NEAR(0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / p, 1.0, 1e-13);
}
