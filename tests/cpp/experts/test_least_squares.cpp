#include "pocketkernel/experts/least_squares.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 3, m = 2;

template <class T>
struct Fitted {
    alignas(pack_bytes) unsigned char block[2048]{};
    Arena arena{block};
    LeastSquares<T> of;
    double x[d + 1], room[d + 1];
    double y[m];
    T z[d];
    Rng rng{2};
    double variance = 4.0;

    explicit Fitted(bool matrix) : of(arena, d, m, matrix) {
        CHECK(arena.used() <= sizeof block);
        of.reset();
    }
    // Of two planes, with more noise on the second.
    void row() {
        for (T& value : z) value = static_cast<T>(4.0 * rng.uniform() - 2.0);
        const auto z0 = static_cast<double>(z[0]), z1 = static_cast<double>(z[1]);
        y[0] = 1.0 + 2.0 * z0 - z1 + 0.01 * rng.uniform();
        y[1] = -3.0 + z1 + 0.1 * rng.uniform();
    }
    void learn(std::uint64_t rounds, double times = 1.0) {
        row();
        of.step(
            z, times, rounds, [&](std::size_t r) { return y[r] - of.score(z, r); },
            [&](std::size_t) { return variance; }, x, room);
    }
    double error() {
        double total = 0.0;
        for (int n = 0; n < 100; ++n) {
            row();
            total += std::fabs(y[0] - of.score(z, 0)) + std::fabs(y[1] - of.score(z, 1));
        }
        return total / 200.0;
    }
};

// The matrix finds both planes in a few rows, the steps with a rate for each column later.
template <class T>
void finds_the_planes() {
    Fitted<T> matrix(true), steps(false);
    for (std::uint64_t t = 1; t <= 60; ++t) {
        matrix.learn(t);
        steps.learn(t);
    }
    CHECK(matrix.of.valid() && steps.of.valid() && matrix.of.coefficients() == d + 1);
    CHECK(matrix.error() < 0.2 && steps.error() > 2.0 * matrix.error());
    for (std::uint64_t t = 61; t <= 3000; ++t) steps.learn(t);
    CHECK(steps.error() < 0.1);
}

// By the header's formula, in plain numbers, for one row after the other.
template <class T>
void steps_follow_the_formula() {
    Fitted<T> fitted(false);
    double a[m][d + 1] = {}, q[m][d + 1] = {};
    for (std::uint64_t t = 1; t <= 50; ++t) {
        const double times = t % 3 == 0 ? 2.0 : 1.0;
        fitted.learn(t, times);
        for (std::size_t r = 0; r < m; ++r) {
            const auto at = [&](std::size_t k) { return k == d ? 1.0 : static_cast<double>(fitted.z[k]); };
            double g = fitted.y[r];
            for (std::size_t k = 0; k <= d; ++k) g -= a[r][k] * at(k);
            for (std::size_t k = 0; k <= d; ++k) {
                const double kept = 0.9997 * q[r][k], more = g * g / 4.0 * at(k) * at(k);
                a[r][k] += 0.1 * times / std::sqrt(1.0 + kept + times * times * more) * at(k) * g;
                q[r][k] = kept + times * more;
            }
            double s = a[r][d];
            for (std::size_t k = 0; k < d; ++k) s += a[r][k] * at(k);
            CHECK_NEAR(fitted.of.score(fitted.z, r), s, sizeof(T) == 4 ? 1e-4 : 1e-10);
        }
    }
}

}  // namespace

TEST(least_squares_find_planes) {
    finds_the_planes<float>();
    finds_the_planes<double>();
}
TEST(least_squares_steps) {
    steps_follow_the_formula<float>();
    steps_follow_the_formula<double>();
}
TEST(least_squares_change_their_unit) {
    for (bool matrix : {false, true}) {
        Fitted<double> fitted(matrix);
        for (std::uint64_t t = 1; t <= 50; ++t) fitted.learn(t);
        const double first = fitted.of.score(fitted.z, 0), second = fitted.of.score(fitted.z, 1);
        const double norm = fitted.of.norm2([](std::size_t r) { return r == 1 ? 0.25 : 1.0; });
        fitted.of.scale(1, 4.0);
        CHECK_NEAR(fitted.of.score(fitted.z, 1), 4.0 * second, 1e-12);
        CHECK_EQUAL(fitted.of.score(fitted.z, 0), first);
        CHECK_NEAR(fitted.of.norm2([](std::size_t) { return 1.0; }), norm, 1e-9 * norm);
        // Farther than 5 a column counts as 5.
        fitted.z[0] = 5.0;
        const double limit = fitted.of.score(fitted.z, 0);
        fitted.z[0] = 1e9;
        CHECK_EQUAL(fitted.of.score(fitted.z, 0), limit);
        fitted.of.scale(0, 1e95);
        CHECK(!fitted.of.valid());
    }
}
TEST(least_squares_hurry) {
    for (bool matrix : {false, true}) {
        Fitted<double> slow(matrix), fast(matrix);
        slow.variance = fast.variance = 1e-4;
        for (std::uint64_t t = 1; t <= 2000; ++t) {
            slow.learn(t);
            fast.learn(t);
        }
        for (std::size_t r = 0; r < m; ++r) fast.of.hurry(r, 0.02, fast.room);
        const auto moved = [](Fitted<double>& one) {
            one.row();
            const double before = one.of.score(one.z, 0);
            one.of.step(
                one.z, 1.0, 2001, [](std::size_t) { return 0.01; }, [&](std::size_t) { return one.variance; }, one.x,
                one.room);
            return one.of.score(one.z, 0) - before;
        };
        CHECK(moved(fast) > 2.0 * moved(slow));
    }
}
