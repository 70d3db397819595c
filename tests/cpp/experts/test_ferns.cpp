#include "pocketkernel/experts/ferns.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 3, room = 12;

template <class T, std::size_t R>
struct Garden {
    alignas(pack_bytes) unsigned char block[1024]{};
    alignas(pack_bytes) unsigned char ferns[(room + 1) * experts::Ferns<T>::bytes(R)]{};
    Arena arena{block};
    experts::Ferns<T> of{arena, d, R};
    Rng rng{5};
    std::uint8_t leaves[room] = {};
    double f[R];

    Garden() {
        CHECK(arena.used() <= sizeof block);
        of.resize(room);
    }
    const T* threshold(std::size_t n) const {
        return reinterpret_cast<const T*>(ferns + n * experts::Ferns<T>::bytes(R)) + 16 * R;
    }
    const std::uint16_t* columns(std::size_t n) const {
        return reinterpret_cast<const std::uint16_t*>(threshold(n) + 4);
    }
    void evaluate(const T* x) { of.evaluate(ferns, x, f, leaves); }
};

// Born one per row, with thresholds between two rows; the leaf of every row by the header's words; steps by hand.
template <class T, std::size_t R>
void follows_the_formula() {
    Garden<T, R> g;
    T before[d] = {}, x[d];
    static double table[room][16][R];
    std::memset(table, 0, sizeof table);
    Rng rng(3);
    for (std::size_t t = 1; t <= 60; ++t) {
        for (T& value : x) value = static_cast<T>(4.0 * rng.uniform() - 2.0);
        if (t % 5 == 0) x[1] = std::numeric_limits<T>::quiet_NaN();
        g.evaluate(x);
        double sums[R] = {}, steps[R];
        for (std::size_t r = 0; r < R; ++r) steps[r] = rng.uniform() - 0.5;
        for (std::size_t n = 0; n < g.of.size(); ++n) {
            unsigned leaf = 0;
            for (unsigned b = 0; b < 4; ++b) {
                const T limit = g.threshold(n)[b], value = x[g.columns(n)[b]];
                if (limit != limit ? value != value : value > limit) leaf |= 1u << b;
            }
            CHECK_EQUAL(g.leaves[n], leaf);
            for (std::size_t r = 0; r < R; ++r) {
                sums[r] += static_cast<double>(static_cast<T>(table[n][leaf][r]));
                table[n][leaf][r] = static_cast<double>(static_cast<T>(table[n][leaf][r] - steps[r]));
            }
        }
        for (std::size_t r = 0; r < R; ++r) CHECK_NEAR(g.f[r], sums[r], 1e-12);
        g.of.step(g.ferns, g.leaves, steps);
        const std::size_t born = g.of.size();
        g.of.grow(g.ferns, x, g.rng, t == 1);
        CHECK_EQUAL(g.of.size(), t == 1 ? 0 : smaller(born + 1, room));
        for (std::size_t b = 0; g.of.size() > born && b < 4; ++b) {
            const std::size_t k = g.columns(born)[b];
            const T limit = g.threshold(born)[b], last = before[k] == before[k] ? before[k] : x[k];
            CHECK(x[k] != x[k] ? limit != limit : smaller(x[k], last) <= limit && limit <= larger(x[k], last));
        }
        std::memcpy(before, x, sizeof x);
        CHECK(g.of.valid(g.ferns, 1e30));
    }
    double squares = 0.0;
    for (const auto& leaves : table)
        for (const auto& leaf : leaves)
            for (double value : leaf) squares += value * value;
    CHECK_NEAR(g.of.norm2(g.ferns), squares, 1e-6 * squares);
}

// A fern whose column has changed goes, and the last one takes its place; others stay as they are.
template <class T>
void forgets_columns_that_have_changed() {
    Garden<T, 1> g;
    T x[d] = {};
    for (std::size_t t = 1; t <= room + 1; ++t) {
        for (T& value : x) value = static_cast<T>(g.rng.uniform());
        g.of.grow(g.ferns, x, g.rng, t == 1);
    }
    CHECK_EQUAL(g.of.size(), room);
    std::size_t others = 0;
    for (std::size_t n = 0; n < room; ++n) {
        bool tested = false;
        for (std::size_t b = 0; b < 4; ++b) tested = tested || g.columns(n)[b] == 2;
        others += !tested;
    }
    CHECK(others > 0 && others < room);
    g.of.restart(g.ferns, 2, 1e9);
    CHECK_EQUAL(g.of.size(), others);
    for (std::size_t n = 0; n < others; ++n)
        for (std::size_t b = 0; b < 4; ++b) CHECK(g.columns(n)[b] != 2);
    // The anchor keeps the digits of a column far from 0, dense and sparse.
    const double row[d] = {0.0, 0.0, 1e9 + 0.25};
    const std::int32_t at[] = {2};
    T sparse[d];
    g.of.read(Row<double>{row, nullptr, 0}, x);
    g.of.read(Row<double>{row + 2, at, 1}, sparse);
    for (std::size_t k = 0; k < d; ++k) CHECK_EQUAL(x[k], sparse[k]);
    CHECK_EQUAL(x[2], T(0.25));
    g.of.resize(2);
    CHECK_EQUAL(g.of.size(), smaller(others, std::size_t(2)));
}

template <class T>
void recognises_what_cannot_be() {
    Garden<T, 2> g;
    T x[d] = {};
    for (std::size_t t = 1; t <= 4; ++t) g.of.grow(g.ferns, x, g.rng, t == 1);
    CHECK(g.of.valid(g.ferns, 1e30));
    const auto with = [&](auto* place, auto bad) {
        const auto before = *place;
        *place = bad;
        CHECK(!g.of.valid(g.ferns, 1e30));
        *place = before;
    };
    with(reinterpret_cast<T*>(g.ferns) + 5, std::numeric_limits<T>::quiet_NaN());
    with(reinterpret_cast<T*>(g.ferns) + 5, std::numeric_limits<T>::max());
    with(const_cast<std::uint16_t*>(g.columns(2)) + 3, std::uint16_t(d));
    with(reinterpret_cast<std::uint64_t*>(g.block) + 1, std::uint64_t(room + 1));
    with(reinterpret_cast<double*>(g.block + 64), 1e31);
    with(reinterpret_cast<double*>(g.block + 64), std::nan(""));
    CHECK(g.of.valid(g.ferns, 1e30));
}

}  // namespace

TEST(ferns_follow_the_formula) {
    follows_the_formula<float, 1>();
    follows_the_formula<float, 3>();
    follows_the_formula<double, 2>();
}
TEST(ferns_forget_columns_that_have_changed) {
    forgets_columns_that_have_changed<float>();
    forgets_columns_that_have_changed<double>();
}
TEST(ferns_recognise_what_cannot_be) {
    recognises_what_cannot_be<float>();
    recognises_what_cannot_be<double>();
}
