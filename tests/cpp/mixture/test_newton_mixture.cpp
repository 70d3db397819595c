#include "pocketkernel/mixture/newton_mixture.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// A mixture with its numbers, which begin as zeros; `update` takes the gradient of a row that counts c times and leaves
// it as it is.
template <std::size_t K>
struct Mixed {
    double state[NewtonMixture::doubles(K)] = {}, scratch[NewtonMixture::doubles(K)] = {}, step[K] = {};
    NewtonMixture mixture{K, state};

    Mixed() { mixture.reset(); }
    void update(const double* u, double c = 1.0) {
        for (std::size_t i = 0; i < K; ++i) step[i] = u[i];
        mixture.update(step, c, scratch);
    }
};

// Solves A x = b by elimination with pivots, in place; the answer is left in b.
template <std::size_t K>
void eliminate(double (&A)[K][K], double (&b)[K]) {
    for (std::size_t c = 0; c < K; ++c) {
        std::size_t pivot = c;
        for (std::size_t i = c; i < K; ++i)
            if (std::fabs(A[i][c]) > std::fabs(A[pivot][c])) pivot = i;
        for (std::size_t j = 0; j < K; ++j) {
            const double held = A[c][j];
            A[c][j] = A[pivot][j];
            A[pivot][j] = held;
        }
        const double held = b[c];
        b[c] = b[pivot];
        b[pivot] = held;
        for (std::size_t i = c + 1; i < K; ++i) {
            const double factor = A[i][c] / A[c][c];
            for (std::size_t j = c; j < K; ++j) A[i][j] -= factor * A[c][j];
            b[i] -= factor * b[c];
        }
    }
    for (std::size_t c = K; c-- > 0;) {
        for (std::size_t j = c + 1; j < K; ++j) b[c] -= A[c][j] * b[j];
        b[c] /= A[c][c];
    }
}

// The update as newton_mixture.hpp states it, with a whole A, beside the real one.
template <std::size_t K>
void follows_the_definition() {
    Mixed<K> real;
    double A[K][K] = {}, w[K];
    for (std::size_t i = 0; i < K; ++i) {
        A[i][i] = 5.0;
        w[i] = 1.0 / static_cast<double>(K);
        CHECK_EQUAL(real.mixture.weight(i), w[i]);
    }
    Rng rng(K);
    for (int t = 0; t < 400; ++t) {
        double u[K], whole[K][K];
        const double c = t % 3 == 0 ? 100.0 : t % 3 == 1 ? 0.3 : 1.0;
        const double common = 4.0 * rng.uniform() - 2.0;  // experts agree for the most part
        for (double& entry : u) entry = common + rng.uniform() - 0.5;
        const double keep = t == 200 ? 0.02 * (1.0 - 1.0 / 5000.0) : 1.0 - 1.0 / 5000.0;
        if (t == 200) real.mixture.forget(0.02);
        for (std::size_t i = 0; i < K; ++i)
            for (std::size_t j = 0; j < K; ++j)
                whole[i][j] = A[i][j] = keep * A[i][j] + (i == j ? (1.0 - keep) * 5.0 : 0.0) + c * u[i] * u[j];
        real.update(u, c);
        eliminate(whole, u);
        for (std::size_t i = 0; i < K; ++i) {
            w[i] -= c * u[i];
            CHECK_NEAR(real.step[i], u[i], 1e-12);
            CHECK_NEAR(real.mixture.weight(i), w[i], 1e-11);
        }
    }
    CHECK(real.mixture.valid());
}

}  // namespace

TEST(newton_mixture_follows_the_definition) {
    follows_the_definition<1>();
    follows_the_definition<2>();
    follows_the_definition<3>();
    follows_the_definition<7>();
    follows_the_definition<32>();
}

// One expert: A = 3 + 1, so the step is 1 / 4.
TEST(newton_mixture_by_hand) {
    Mixed<1> one;
    const double u = -1.0;
    one.update(&u);
    CHECK_NEAR(one.mixture.weight(0), 1.0 + 1.0 / 6.0, 1e-15);
    // Two, of which only one has a gradient: 5 + 4 on its diagonal.
    Mixed<2> two;
    const double first[] = {2.0, 0.0};
    two.update(first);
    CHECK_NEAR(two.mixture.weight(0), 0.5 - 2.0 / 9.0, 1e-15);
    CHECK_EQUAL(two.mixture.weight(1), 0.5);
    // No gradient, no step; and a ridge that stays.
    const double none[] = {0.0, 0.0};
    for (int t = 0; t < 200000; ++t) two.update(none);
    CHECK_NEAR(two.mixture.weight(0), 0.5 - 2.0 / 9.0, 1e-15);
    CHECK_NEAR(two.state[2], 5.0, 1e-9);
    CHECK_NEAR(two.state[4], 5.0, 1e-9);
}

TEST(newton_mixture_begins_evenly) {
    Mixed<3> mixed;
    for (std::size_t i = 0; i < 3; ++i) CHECK_NEAR(mixed.mixture.weight(i), 1.0 / 3.0, 1e-15);
}

// c u'A^-1 u < 1, as A has c u u' in it: a step never changes the score by more than the row's own gradient asks for,
// however often the row counts and however little the experts differ.
template <std::size_t K>
static void bears_heavy_rows(double largest) {
    Mixed<K> mixed;
    Rng rng(K);
    double most = 0.0;
    for (int t = 0; t < 3000; ++t) {
        double u[K], gain = 0.0;
        const double c = t % 5 == 0 ? largest : t % 5 == 1 ? 1e-9 : 1.0;
        const double common = 16.0 * rng.uniform() - 8.0;
        const double slip = t % 2 == 0 ? 1e-7 : 0.5;  // experts that hardly differ
        for (double& entry : u) entry = common + slip * (rng.uniform() - 0.5);
        mixed.update(u, c);
        for (std::size_t i = 0; i < K; ++i) {
            gain += c * u[i] * mixed.step[i];
            most = std::fmax(most, std::fabs(mixed.mixture.weight(i)));
        }
        CHECK(gain < 1.0 + 1e-6);
        CHECK(mixed.mixture.valid());
    }
    CHECK(most < 100.0);
}

TEST(newton_mixture_bears_heavy_rows) {
    for (double largest : {1.0, 10.0, 100.0}) {
        bears_heavy_rows<1>(largest);
        bears_heavy_rows<2>(largest);
        bears_heavy_rows<7>(largest);
        bears_heavy_rows<32>(largest);
    }
}

TEST(newton_mixture_impossible_states) {
    for (double bad : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e13, -1e13})
        for (std::size_t n = 0; n < NewtonMixture::doubles(3); ++n) {
            Mixed<3> mixed;
            CHECK(mixed.mixture.valid());
            mixed.state[n] = bad;
            CHECK(!mixed.mixture.valid());
        }
    Mixed<3> mixed;
    mixed.state[3] = 2.0;  // less than half the ridge
    CHECK(!mixed.mixture.valid());
    mixed.state[3] = 5.0;
    CHECK(mixed.mixture.valid());
    mixed.state[4] = 8.0;  // beside a diagonal of 5: no such matrix has a Cholesky factor
    CHECK(!mixed.mixture.valid());
    mixed.state[4] = 0.0;
    mixed.state[0] = 1e13;  // finite, but no sum of steps
    CHECK(!mixed.mixture.valid());
}

// The best expert is right, the others are noise: in the end it has the weight.
TEST(newton_mixture_finds_the_best) {
    Mixed<3> mixed;
    Rng rng(8);
    for (int t = 0; t < 3000; ++t) {
        const double y = rng.uniform() < 0.5 ? -1.0 : 1.0;
        const double s[] = {rng.uniform() - 0.5, y + rng.uniform() - 0.5, 2.0 * rng.uniform() - 1.0};
        double F = 0.0, u[3];
        for (std::size_t i = 0; i < 3; ++i) F += mixed.mixture.weight(i) * s[i];
        for (std::size_t i = 0; i < 3; ++i) u[i] = -y / (1.0 + std::exp(y * F)) * s[i];
        mixed.update(u);
    }
    CHECK(mixed.mixture.weight(1) > 2.0);
}
