#include "pocketkernel/column_relevance.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 21;

struct Still {
    static constexpr double start = 1.0, keep = 1.0, floor = 0.0;
};
struct Moving {
    static constexpr double start = 0.01, keep = 0.999, floor = 1e-5;
};

template <class T, class Pace>
struct Relevance {
    alignas(pack_bytes) unsigned char block[3 * padded<T>(d) * sizeof(T) + pack_bytes]{};
    Arena arena{block};
    ColumnRelevance<T, Pace> of{arena, d};

    Relevance() {
        CHECK(arena.used() <= sizeof block);
        of.reset();
    }
    T* rho() { return reinterpret_cast<T*>(block); }
    T* squares() { return rho() + padded<T>(d); }
    T* factors() { return squares() + padded<T>(d); }
};

// By the header's formulas, in plain numbers.
template <class T, class Pace>
void follows_the_formula(double tolerance) {
    Relevance<T, Pace> relevance;
    constexpr Pace pace;
    double rho[d] = {}, squares[d];
    for (double& square : squares) square = pace.start;
    Rng rng(4);
    alignas(pack_bytes) T slopes[padded<T>(d)] = {};
    for (int t = 0; t < 400; ++t) {
        double mean = 0.0;
        for (std::size_t k = 0; k < d; ++k) {
            // One column that wants more, one that wants less, both to the limit; the others are noise.
            slopes[k] = static_cast<T>(k == 3 ? -1.0 : k == 4 ? 1.0 : rng.uniform() - 0.5);
            const auto G = static_cast<double>(slopes[k]);
            squares[k] = pace.keep * squares[k] + pace.floor + G * G;
            rho[k] -= 0.1 * G / std::sqrt(squares[k]);
            mean += rho[k] / static_cast<double>(d);
        }
        for (double& r : rho) r = larger(-5.0, smaller(r - mean, 3.0));
        relevance.of.step(slopes, T(0.1));
        relevance.of.refresh();
        for (std::size_t k = 0; k < d; ++k)
            CHECK_NEAR(static_cast<double>(relevance.of.factors()[k]), std::exp(rho[k]), tolerance * std::exp(rho[k]));
        CHECK(relevance.of.valid());
    }
    CHECK(rho[3] > 1.0 && rho[4] < -1.0);
    alignas(pack_bytes) T z[padded<T>(d)] = {}, weighed[padded<T>(d)];
    for (std::size_t k = 0; k < d; ++k) z[k] = static_cast<T>(k) - T(9);
    relevance.of.apply(z, weighed);
    for (std::size_t k = 0; k < d; ++k) CHECK_EQUAL(weighed[k], z[k] * relevance.of.factors()[k]);
    relevance.of.apply(z, z);
    for (std::size_t k = 0; k < d; ++k) CHECK_EQUAL(weighed[k], z[k]);
}

template <class T>
void recognises_damage() {
    for (double bad : {-5.1, 3.1, std::nan("")}) {
        Relevance<T, Still> relevance;
        CHECK(relevance.of.valid());
        relevance.rho()[d - 1] = static_cast<T>(bad);
        CHECK(!relevance.of.valid());
    }
    for (double bad : {0.0, -1.0, std::nan("")}) {
        Relevance<T, Still> squares, factors;
        squares.squares()[0] = static_cast<T>(bad);
        factors.factors()[0] = static_cast<T>(bad);
        CHECK(!squares.of.valid() && !factors.of.valid());
    }
    Relevance<T, Still> padding;
    padding.rho()[d] = T(1);
    CHECK(!padding.of.valid());
}

}  // namespace

TEST(column_relevance_follows_the_formula) {
    follows_the_formula<float, Still>(1e-4);
    follows_the_formula<float, Moving>(1e-4);
    follows_the_formula<double, Still>(1e-12);
    follows_the_formula<double, Moving>(1e-12);
}
TEST(column_relevance_recognises_damage) {
    recognises_damage<float>();
    recognises_damage<double>();
}
