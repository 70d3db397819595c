#include "pocketkernel/column_relevance.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 3;

template <class T>
struct Weighed {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena{block};
    ColumnRelevance<T> columns{arena, d};
    Weighed() { columns.reset(); }
};

template <class T>
void follows_the_formula(double tolerance) {
    Weighed<T> real;
    double rho[d] = {}, v[d] = {0.01, 0.01, 0.01};
    Rng rng(1);
    for (int t = 0; t < 2000; ++t) {
        T slopes[d], weighed[d];
        const T z[d] = {T(1), T(-2), static_cast<T>(rng.uniform())};
        real.columns.apply(z, weighed);
        double mean = 0.0;
        for (std::size_t k = 0; k < d; ++k) {
            CHECK_NEAR(static_cast<double>(weighed[k]) / std::exp(rho[k]), static_cast<double>(z[k]), tolerance);
            slopes[k] = static_cast<T>(rng.uniform() - (k == 0 ? 0.7 : 0.5));
            const double G = static_cast<double>(slopes[k]) * static_cast<double>(weighed[k]);
            v[k] = 0.999 * v[k] + 1e-5 + G * G;
            rho[k] -= 0.1 * G / std::sqrt(v[k]);
            mean += rho[k] / d;
        }
        for (double& r : rho) r = std::fmax(-5.0, std::fmin(r - mean, 3.0));
        real.columns.step(slopes, weighed);
    }
    CHECK(real.columns.valid());
    CHECK(real.columns.factors()[0] > T(2) * real.columns.factors()[2]);  // more of it would have lowered the loss
}

}  // namespace

TEST(column_relevance_follows_the_formula) {
    follows_the_formula<double>(1e-9);
    follows_the_formula<float>(2e-3);
}

TEST(column_relevance_stays_in_bounds) {
    Weighed<float> weighed;
    const float slopes[d] = {-1e30f, 1e30f, 0.0f}, z[d] = {1.0f, 1.0f, 1.0f};
    for (int t = 0; t < 5000; ++t) weighed.columns.step(slopes, z);
    CHECK(weighed.columns.valid());
    CHECK(weighed.columns.factors()[0] <= 20.1f && weighed.columns.factors()[1] >= 0.0067f);
}
