#include "pocketkernel/mixture/recursive_least_squares.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t n = 6;

// The matrix of the header's formula, whole, beside the factors.
struct Both {
    double keep, ridge, factors[RecursiveLeastSquares::doubles(n)] = {}, A[n][n] = {}, room[n];
    RecursiveLeastSquares real{n, factors, keep, ridge};

    Both(double keep_, double ridge_) : keep(keep_), ridge(ridge_) {
        real.reset();
        for (std::size_t i = 0; i < n; ++i) A[i][i] = ridge;
    }
    // Leaves the gain in x, and checks it: A gain = c x.
    void update(double* x, double c, std::uint64_t turn) {
        double given[n];
        for (std::size_t i = 0; i < n; ++i) given[i] = x[i];
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) A[i][j] = keep * A[i][j] + c * x[i] * x[j];
        A[turn % n][turn % n] += (1.0 - keep) * n * ridge;
        real.update(x, c, turn, room);
        check(x, given, c);
    }
    void check(const double* gain, const double* given, double c) const {
        for (std::size_t i = 0; i < n; ++i) {
            double product = 0.0, size = std::fabs(c * given[i]);
            for (std::size_t j = 0; j < n; ++j) product += A[i][j] * gain[j], size += std::fabs(A[i][j] * gain[j]);
            CHECK_NEAR(product, c * given[i], 1e-12 * size);
        }
    }
};

}  // namespace

TEST(recursive_least_squares_follows_the_formula) {
    Both both(0.99, 2.0);
    Rng rng(1);
    for (std::uint64_t t = 0; t < 500; ++t) {
        double x[n];
        for (double& value : x) value = 4.0 * rng.uniform() - 1.0;
        if (t % 3 == 0) x[2] = 0.0;
        both.update(x, t % 5 == 0 ? 3.0 : 1.0, t);
        CHECK(both.real.valid());
    }
    // What forgetting leaves is a part of A, and the ridge for the rest.
    both.real.forget(0.02, both.room);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) both.A[i][j] = 0.02 * both.A[i][j] + (i == j ? 0.98 * 2.0 : 0.0);
    double x[n] = {1.0, -2.0, 0.5, 3.0, 0.0, 1.0};
    both.update(x, 1.0, 500);
}

// The coefficients of a linear function are found; a column that is always 0 keeps its ridge for ever.
TEST(recursive_least_squares_learns) {
    double factors[RecursiveLeastSquares::doubles(n)] = {}, room[n], w[n] = {};
    RecursiveLeastSquares matrix(n, factors, 0.999, 1.0);
    matrix.reset();
    const double truth[n] = {1.0, -2.0, 3.0, 0.0, 0.5, -0.25};
    Rng rng(2);
    for (std::uint64_t t = 0; t < 20000; ++t) {
        double x[n], error = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = i == 3 ? 0.0 : 2.0 * rng.uniform() - 1.0;
            error += (truth[i] - w[i]) * x[i];
        }
        matrix.update(x, 1.0, t, room);
        for (std::size_t i = 0; i < n; ++i) w[i] += x[i] * error;
    }
    for (std::size_t i = 0; i < n; ++i) CHECK_NEAR(w[i], truth[i], 2e-3);
    double x[n] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0};
    matrix.update(x, 1.0, 0, room);
    CHECK_NEAR(x[3], 0.5, 0.01);  // ridge 1, and this row
}

TEST(recursive_least_squares_knows_an_impossible_state) {
    double factors[RecursiveLeastSquares::doubles(n)] = {};
    RecursiveLeastSquares matrix(n, factors, 0.999, 1.0);
    matrix.reset();
    CHECK(matrix.valid());
    for (double bad : {0.0, -1.0, 1e16, std::nan("")}) {
        const double before = factors[n];  // the second pivot
        factors[n] = bad;
        CHECK(!matrix.valid());
        factors[n] = before;
    }
    factors[1] = -1e16;
    CHECK(!matrix.valid());
}
