#include "pocketkernel/experts/additive.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 2, R = 2;

template <class T>
struct Tables {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena{block};
    AdditiveTables<T> tables{arena, d, R};
    double f[R];

    const double* at(T a, T b) {
        const T z[d] = {a, b};
        tables.evaluate(z, f);
        return f;
    }
};

}  // namespace

// A step moves the function at that place by just as much, and nowhere but near it.
TEST(additive_tables_step) {
    Tables<double> t;
    const double z[d] = {0.3, -1.2}, steps[R] = {2.0, -0.5};
    t.tables.step(z, steps);
    CHECK_NEAR(t.at(0.3, -1.2)[0], 2.0, 1e-12);
    CHECK_NEAR(t.at(0.3, -1.2)[1], -0.5, 1e-12);
    CHECK_EQUAL(t.at(2.0, 2.0)[0], 0.0);
    // Linear between knots, which are a third apart; constant beyond the last ones.
    const double ends[] = {t.at(-0.1, 3.0)[0], t.at(1.0 / 6.0 - 1.0 / 3.0, 3.0)[0]};
    CHECK_NEAR(t.at(-0.1 / 2.0 - 1.0 / 12.0, 3.0)[0], 0.5 * (ends[0] + ends[1]), 1e-12);
    const double far[d] = {-9.0, 60.0};
    t.tables.step(far, steps);
    CHECK_EQUAL(t.at(-60.0, 5.0)[0], t.at(-2.5, 9.0)[0]);
    CHECK_NEAR(t.at(-60.0, 5.0)[0], 2.0, 1e-12);
    t.tables.scale(1, -4.0);
    CHECK_NEAR(t.at(-60.0, 5.0)[1], 2.0, 1e-12);
    CHECK_NEAR(t.at(-60.0, 5.0)[0], 2.0, 1e-12);
    Tables<double> fresh;
    CHECK_EQUAL(fresh.tables.norm2(), 0.0);
    fresh.tables.step(far, steps);  // a step of 2 and -0.5, half of it in either column, and nearly all on one knot
    CHECK_NEAR(fresh.tables.norm2(), 2.0 * (1.0 + 0.0625), 0.01);
}

template <class T>
static void learns_a_sum() {
    Tables<T> t;
    Rng rng(1);
    double early = 0.0, late = 0.0;
    for (int n = 0; n < 20000; ++n) {
        const T z[d] = {static_cast<T>(4.0 * rng.uniform() - 2.0), static_cast<T>(4.0 * rng.uniform() - 2.0)};
        const double a = static_cast<double>(z[0]), b = static_cast<double>(z[1]);
        const double error = std::sin(2.0 * a) + std::fabs(b) - t.at(z[0], z[1])[0];
        const double steps[R] = {0.3 * error, 0.0};
        t.tables.step(z, steps);
        (n < 100 ? early : n >= 19900 ? late : *t.f) += error * error;
    }
    CHECK(late < 0.01 * early);
    CHECK(t.tables.valid());
    CHECK_EQUAL(t.at(T(0), T(0))[1], 0.0);
}

TEST(additive_tables_learn) {
    learns_a_sum<double>();
    learns_a_sum<float>();
}
