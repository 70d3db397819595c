#include "pocketkernel/mixture/ledger.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t E = 3;

// Rows of made-up scores of a mixture and its experts; R functions, a target, and the loss with its slopes.
template <std::size_t R>
struct Rows {
    Rng rng{5};
    double scores[E + 1][R], g[R];
    std::size_t y = 0;

    void next() {
        for (auto& expert : scores)
            for (double& score : expert) score = 6.0 * rng.uniform() - 3.0;
        y = rng.index(R == 1 ? 2 : R);
        (void)loss(scores[0], g);
    }
    double loss(const double* F, double* slopes) const {
        if (R == 1) {
            const double sign = y == 1 ? 1.0 : -1.0;
            slopes[0] = -sign / (1.0 + std::exp(sign * F[0]));
            return std::log1p(std::exp(-sign * F[0]));
        }
        double total = 0.0;
        for (std::size_t r = 0; r < R; ++r) total += std::exp(F[r]);
        for (std::size_t r = 0; r < R; ++r) slopes[r] = std::exp(F[r]) / total - (r == y ? 1.0 : 0.0);
        return std::log(total) - F[y];
    }
};

// No mixture of norm `radius` or less has a smaller loss than the sums allow; near F itself they are almost equal.
template <std::size_t R>
void bounds_the_regret() {
    double state[MixtureLedger::doubles(E)] = {};
    MixtureLedger ledger(E, state);
    Rows<R> rows;
    constexpr std::size_t tries = 50;
    double v[tries][E], own = 0.0, losses[tries] = {}, experts[E] = {};
    Rng rng(3);
    for (auto& one : v) {
        double square = 0.0;
        for (double& x : one) {
            x = 2.0 * rng.uniform() - 1.0;
            square += x * x;
        }
        const double size = MixtureLedger::radius * rng.uniform() / std::sqrt(square);
        for (double& x : one) x *= size;
    }
    for (int t = 0; t < 200; ++t) {
        rows.next();
        double slopes[R];
        const double weight = t % 3 == 0 ? 2.0 : 1.0;
        own += weight * rows.loss(rows.scores[0], slopes);
        for (std::size_t i = 0; i < E; ++i) {
            const double loss = weight * rows.loss(rows.scores[i + 1], slopes);
            experts[i] += loss;
            ledger.charge(i, loss);
        }
        for (std::size_t n = 0; n < tries; ++n) {
            double F[R];
            for (std::size_t r = 0; r < R; ++r) {
                F[r] = 0.0;
                for (std::size_t i = 0; i < E; ++i) F[r] += v[n][i] * rows.scores[i + 1][r];
            }
            losses[n] += weight * rows.loss(F, slopes);
        }
        ledger.observe(weight, rows.y, rows.g, R, [&](std::size_t n) { return rows.scores[n]; });
    }
    CHECK(ledger.valid());
    for (std::size_t i = 0; i < E; ++i) CHECK_NEAR(state[i], experts[i], 1e-9);
    const double *q = state + E, *H = q + E + 1;
    for (std::size_t n = 0; n < tries; ++n) {
        const double z[E + 1] = {-1.0, v[n][0], v[n][1], v[n][2]};
        double most = 0.0;
        for (std::size_t i = 0; i <= E; ++i) {
            most -= q[i] * z[i];
            for (std::size_t j = 0; j <= E; ++j)
                most -= 0.5 * z[i] * z[j] * H[(i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i)];
        }
        CHECK(own - losses[n] <= most + 1e-9);
        CHECK(most < own);  // below what is true anyway
    }
}

}  // namespace

TEST(mixture_ledger_bounds_the_regret) {
    bounds_the_regret<1>();
    bounds_the_regret<4>();
}

TEST(mixture_ledger_recognises_damage) {
    for (double bad : {-1.0, 1e201, std::nan("")}) {
        double state[MixtureLedger::doubles(E)] = {};
        const MixtureLedger ledger(E, state);
        CHECK(ledger.valid());
        state[0] = bad;
        CHECK(!ledger.valid());
    }
}
