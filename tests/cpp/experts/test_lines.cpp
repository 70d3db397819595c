#include "pocketkernel/experts/lines.hpp"

#include "frame.hpp"

using namespace pocketkernel;

namespace {

// By the header's formulas in plain numbers, for two functions.
template <class T>
void follow_the_formula(double tolerance) {
    constexpr std::size_t d = 5;
    frame::Frame<T> f(d, 1);
    double a[2][d] = {}, b[2] = {}, q[d];
    for (double& square : q) square = 1.0;
    Rng rng(4);
    for (int t = 0; t < 300; ++t) {
        double x[d], g[2] = {rng.uniform() - 0.5, rng.uniform() - 0.5};
        for (double& value : x) value = rng.uniform();
        const Query<T> z = f.read(x);
        const double times = t % 3 == 0 ? 2.0 : 1.0, whole = 1.0 + t;
        for (std::size_t r = 0; r < 2; ++r) {
            double s = b[r];
            for (std::size_t k = 0; k < d; ++k) s += a[r][k] * static_cast<double>(z.dense[k]);
            CHECK_NEAR(f.lines().score(f.columns(), z, r), s, tolerance);
        }
        const double square = g[0] * g[0];
        const T rate = T(0.1), counts = static_cast<T>(times * times * square), kept = static_cast<T>(times * square);
        f.lines().step(f.columns(), z, f.work.query.row(), {0, 2, g, rate, counts, kept}, whole);
        for (std::size_t k = 0; k < d; ++k) {
            const double zk = static_cast<double>(z.dense[k]), now = q[k] + times * times * square * zk * zk;
            for (std::size_t r = 0; r < 2; ++r) a[r][k] -= 0.1 * g[r] * zk / std::sqrt(larger(now, 1.0));
            q[k] += times * square * zk * zk;
        }
        for (std::size_t r = 0; r < 2; ++r) b[r] -= 0.1 * g[r] / std::sqrt(whole);
    }
    double norm = b[1] * b[1];
    for (double coefficient : a[1]) norm += coefficient * coefficient;
    CHECK_NEAR(f.lines().norm2(1, 2), norm, tolerance * norm);
    CHECK(f.lines().valid(1e12));
    f.biases[1] = std::nan("");
    CHECK(!f.lines().valid(1e12));
}

// Of sparse rows a step costs as much as a row has values, and a function is the same before and after its bias takes
// over what it makes of a row of zeros.
template <class T>
void sparse_rows_are_lists(double tolerance) {
    constexpr std::size_t d = 96;
    frame::Frame<T> f(d, 1, 0, true);
    Rng rng(9);
    double x[d];
    bool listed = false;
    for (int t = 0; t < 200; ++t) {
        for (std::size_t k = 0; k < d; ++k)
            x[k] = k % 12 == static_cast<std::size_t>(t % 12) ? 1.0 + rng.uniform() : 0.0;
        const Query<T> z = f.read(x);
        const double g = rng.uniform() - 0.5;
        const T square = static_cast<T>(g * g);
        f.lines().step(f.columns(), z, f.work.query.row(), {0, 1, &g, T(0.1), square, square}, 1.0 + t);
        f.columns().measure(z, f.work.query.row(), f.rounds);
        struct {
            void refresh(const T*) {}
            void refresh_column(std::size_t, T) {}
        } none;
        (void)f.columns().refresh(z, f.work.query, f.rounds, f.lines(), none);
        if (t < 2 || !f.columns().lists(z)) continue;
        listed = true;
        const Query<T> again = f.columns().read(Row<double>{x, nullptr, 0}, f.work.query, true);
        double s = f.biases[0];
        for (std::size_t k = 0; k < d; ++k) {
            T one[d] = {};
            one[k] = T(1);
            Query<T> unit;
            unit.sparse = true;
            const std::int32_t column = static_cast<std::int32_t>(k);
            unit.columns = &column;
            unit.values = one + k;
            unit.nonzeros = 1;
            const double coefficient = f.lines().score(f.columns(), unit, 0) - f.biases[0];
            s += coefficient * (static_cast<double>(again.dense[k]) - static_cast<double>(f.columns().zero()[k]));
        }
        CHECK_NEAR(f.lines().score(f.columns(), again, 0), s, tolerance);
    }
    CHECK(listed);
}

}  // namespace

TEST(lines_follow_the_formula) {
    follow_the_formula<float>(2e-5);
    follow_the_formula<double>(1e-12);
}
TEST(lines_of_sparse_rows) {
    sparse_rows_are_lists<float>(1e-4);
    sparse_rows_are_lists<double>(1e-11);
}
TEST(lines_hurry) {
    frame::Frame<double> f(3, 1);
    const double x[3] = {0.2, 1.0, -1.0}, y[3] = {1.0, -1.0, 0.5}, g = 1.0;
    for (int row = 0; row < 9; ++row) (void)f.read(row % 2 == 0 ? x : y);
    const Query<double> z = f.read(y);
    f.lines().step(f.columns(), z, f.work.query.row(), {0, 1, &g, 0.1, 100.0, 100.0}, 1.0);
    const auto moved = [&] {
        const double before = f.lines().score(f.columns(), z, 0);
        f.lines().step(f.columns(), z, f.work.query.row(), {0, 1, &g, 0.1, 0.0, 0.0}, 1e12);
        return before - f.lines().score(f.columns(), z, 0);
    };
    const double slow = moved();
    f.lines().hurry(0.02);
    CHECK(moved() > 4.0 * slow);
}
