#include "pocketkernel/experts/lag.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// By the header's formulas, for R functions.
template <std::size_t R>
void follows_the_formula() {
    double state[experts::Lag<float>::doubles(R)] = {};
    experts::Lag<float> lags(R, state);
    lags.reset();
    double a[4] = {}, q[4] = {1.0, 1.0, 1.0, 1.0}, x[4][R] = {};
    Rng rng(2);
    for (int t = 0; t < 200; ++t) {
        const std::size_t label = rng.index(R == 1 ? 2 : R);
        const double times = t % 3 == 0 ? 2.5 : 1.0;
        double slopes[R], scores[R];
        lags.scores(scores);
        for (std::size_t r = 0; r < R; ++r) {
            double s = 0.0;
            for (std::size_t h = 0; h < 4; ++h) s += a[h] * x[h][r];
            CHECK_NEAR(scores[r], s, 1e-12);
            CHECK(t > 0 || s == 0.0);
            slopes[r] = rng.uniform() - 0.5;
        }
        for (std::size_t h = 0; h < 4; ++h) {
            double G = 0.0;
            for (std::size_t r = 0; r < R; ++r) G += slopes[r] * x[h][r];
            a[h] -= times * G / std::sqrt(q[h] + times * times * G * G);
            q[h] += times * G * G;
        }
        for (std::size_t r = 0; r < R; ++r) {
            const double now = R == 1 ? 2.0 * static_cast<double>(label) - 1.0 : label == r ? 1.0 : 0.0;
            x[2][r] = x[1][r];
            x[1][r] = x[0][r];
            x[0][r] = now;
            x[3][r] += (now - x[3][r]) / 20.0;
        }
        lags.step(slopes, times);
        lags.push(label);
        CHECK(lags.valid());
    }
    lags.forget();
    double scores[R];
    lags.scores(scores);
    for (double score : scores) CHECK_EQUAL(score, 0.0);
    CHECK(lags.valid());
    double squares = 0.0;
    for (double weight : a) squares += weight * weight;
    CHECK_NEAR(lags.norm2(), squares, 1e-12);
    // Weights, squares, labels, means: what each of them cannot be.
    for (std::size_t n = 0; n < experts::Lag<float>::doubles(R); ++n)
        for (double bad : {std::nan(""), n < 4 ? 1e10 : n < 8 ? 0.5 : n < 11 ? 1.5 : 1.1, -1e19}) {
            const double before = state[n];
            state[n] = bad;
            CHECK(!lags.valid());
            state[n] = before;
        }
    CHECK(lags.valid());
}

}  // namespace

TEST(lag_follows_the_formula) {
    follows_the_formula<1>();
    follows_the_formula<3>();
}
