#include "pocketkernel/experts/ring.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 5, classes = 4, pages = 70;

template <class T>
struct Ring {
    alignas(pack_bytes) unsigned char block[1024]{};
    unsigned char rows[pages * 16 * (d + 2)]{};
    Arena arena{block};
    experts::Ring<T> of;

    explicit Ring(std::size_t of_classes = classes) : of(arena, rows + sizeof rows, d, of_classes) {
        CHECK(arena.used() <= sizeof block);
        CHECK(experts::Ring<T>::page_bytes(d, of_classes) * pages <= sizeof rows);
        of.reset();
        of.resize(pages);
    }
    double* numbers() { return reinterpret_cast<double*>(block); }
    std::uint64_t* counts() { return reinterpret_cast<std::uint64_t*>(block) + 18; }
};

// Every row there ever was, and what the header says of the nearest, one by one; in either kind of distance.
template <class T>
void finds_the_nearest(bool squared) {
    constexpr std::size_t capacity = pages * 16, rows = 2 * capacity + 37;
    static std::uint8_t all[rows][d];
    static std::size_t labels[rows];
    Ring<T> ring;
    ring.counts()[3] = squared;
    CHECK_EQUAL(ring.of.capacity(), capacity);
    Rng rng(1);
    T factors[d] = {T(1), T(0.5), T(3), T(0.01), T(1)};
    unsigned weights[d] = {16, 16, 16, 16, 16};
    for (std::size_t t = 0; t < rows; ++t) {
        T z[d];
        for (T& value : z) value = static_cast<T>(20.0 * rng.uniform() - 10.0);
        ring.of.round(z, all[t]);
        for (std::size_t k = 0; k < d; ++k) {
            const double expected = 128.0 + larger(-127.0, smaller(std::floor(16.0 * double(z[k]) + 0.5), 127.0));
            CHECK_EQUAL(static_cast<double>(all[t][k]), expected);
        }
        if (t % 97 == 0 || t < 40) {
            const auto found = ring.of.find(all[t]);
            // Rows from the newest page to the oldest, each window up to the end of a page.
            for (std::size_t window = 0; window < 3; ++window) {
                const std::size_t least = window == 0 ? 17 : window == 1 ? 140 : capacity;
                std::uint32_t best[3] = {~0u, ~0u, ~0u};
                std::int32_t label[3] = {-1, -1, -1};
                const std::size_t oldest = t > capacity ? t - capacity : 0;
                std::size_t seen = 0;
                for (std::size_t page = (t + 15) / 16; page-- > oldest / 16 && seen < least;) {
                    for (std::size_t row = larger(16 * page, oldest); row < smaller(16 * page + 16, t); ++row, ++seen) {
                        std::uint32_t away = 0;
                        for (std::size_t k = 0; k < d; ++k) {
                            const unsigned gap = weights[k] * static_cast<unsigned>(std::abs(all[row][k] - all[t][k]));
                            const unsigned h = smaller((gap + 64) / 128, 127u);
                            away += squared ? h * h : gap;
                        }
                        auto its = static_cast<std::int32_t>(labels[row]);
                        for (std::size_t m = 0; m < 3; ++m)
                            if (away < best[m] || (label[m] < 0 && its >= 0)) {
                                std::swap(away, best[m]);
                                std::swap(its, label[m]);
                            }
                    }
                }
                for (std::size_t m = 0; m < 3; ++m) CHECK_EQUAL(found.label[3 * window + m], label[m]);
            }
        }
        labels[t] = rng.index(classes);
        ring.of.store(all[t], labels[t]);
        CHECK_EQUAL(ring.of.rows(), smaller(t + 1, capacity));
        if (t == 700) {
            ring.of.weigh(factors);
            for (std::size_t k = 0; k < d; ++k)
                weights[k] = static_cast<unsigned>(std::floor(127.0 / 3.0 * static_cast<double>(factors[k]) + 0.5));
        }
    }
    CHECK(ring.of.is_valid(pages) && !ring.of.is_valid(pages - 1));
    ring.rows[sizeof ring.rows - 1] = classes;  // a label that there is not
    CHECK(!ring.of.is_valid(pages));
}

// Rows that two columns tell apart in different ways: which of them is nearer depends on the kind of distance.
template <class T>
void changes_its_distance() {
    Ring<T> ring;
    const std::uint8_t q[d] = {128, 128, 128, 128, 128}, far_in_one[d] = {180, 128, 128, 128, 128},
                       off_in_all[d] = {140, 140, 140, 140, 140};
    const T factors[d] = {T(1), T(1), T(1), T(1), T(1)};
    ring.of.weigh(factors);
    for (std::size_t n = 0; n < 3; ++n) {
        ring.of.store(far_in_one, 1);
        ring.of.store(off_in_all, 2);
    }
    CHECK_EQUAL(ring.of.find(q).first(2), 1);
    const auto ask = [&](std::size_t y) {
        const auto found = ring.of.find(q);
        ring.of.try_other_distance(found, q, y);
        return ring.of.find(q).first(2);
    };
    for (std::size_t y : {2, 2, 2, 1, 2}) CHECK_EQUAL(ask(y), 1);  // leads by 3, 6, 9, 6, 9
    CHECK_EQUAL(ask(2), 2);
    CHECK(ring.of.is_valid(pages));
    for (int n = 0; n < 9; ++n) CHECK_EQUAL(ask(2), 2);
    for (int n = 0; n < 3; ++n) CHECK_EQUAL(ask(1), 2);
    CHECK_EQUAL(ask(1), 1);
    for (std::size_t n : {3, 4}) {
        Ring<T> damaged;
        damaged.counts()[n] = n == 3 ? 2 : 11;
        CHECK(!damaged.of.is_valid(pages));
    }
}

// A ring that grows keeps its rows and fills the new room first; one that shrinks loses what was there.
template <class T>
void changes_its_size(std::size_t of_classes) {
    Ring<T> ring(of_classes);
    ring.of.resize(2);
    const auto row = [](std::size_t n, std::uint8_t* q) {
        for (std::size_t k = 0; k < d; ++k) q[k] = static_cast<std::uint8_t>(n);
    };
    const auto nearest = [&](std::size_t n, std::size_t window = 2) {
        std::uint8_t q[d];
        row(n, q);
        return ring.of.find(q).first(window);
    };
    std::uint8_t q[d];
    for (std::size_t n = 0; n < 40; ++n) {
        row(n, q);
        ring.of.store(q, of_classes > 256 ? 200 + n : n % of_classes);
    }
    const auto label = [&](std::size_t n) {
        return static_cast<std::int32_t>(of_classes > 256 ? 200 + n : n % of_classes);
    };
    CHECK_EQUAL(ring.of.rows(), 32u);
    ring.of.resize(4);
    CHECK_EQUAL(ring.of.rows(), 32u);
    CHECK_EQUAL(nearest(8, 0), label(24));  // the first window still has the last 16 rows
    for (std::size_t n = 40; n < 72; ++n) {
        row(n, q);
        ring.of.store(q, of_classes > 256 ? 200 + n : n % of_classes);
    }
    CHECK_EQUAL(ring.of.rows(), 64u);
    for (std::size_t n = 8; n < 72; ++n) CHECK_EQUAL(nearest(n), label(n));
    CHECK(ring.of.is_valid(4));
    ring.of.resize(3);
    CHECK_EQUAL(ring.of.rows(), 48u);
    for (std::size_t n = 24; n < 72; ++n) CHECK_EQUAL(nearest(n), label(n));
    CHECK_EQUAL(nearest(10), label(24));
    CHECK(ring.of.is_valid(3));
    ring.of.resize(0);
    CHECK_EQUAL(nearest(10), -1);
    ring.of.store(q, 0);
    CHECK(ring.of.is_valid(0) && ring.of.rows() == 0);
    for (std::size_t n : {1, 2}) {
        Ring<T> damaged;
        damaged.counts()[n] = 16 * pages + 1;
        CHECK(!damaged.of.is_valid(pages));
    }
}

template <class T>
void tells_two_classes_apart_by_sign() {
    Ring<T> ring(2);
    typename experts::Ring<T>::Found found;
    for (std::size_t m = 0; m < 9; ++m) found.label[m] = static_cast<std::int32_t>(m % 3) - 1;
    double s = 9.0;
    ring.of.scores(found, &s);
    CHECK_NEAR(s, 3.0 * (-1.0 / 1.5 + 1.0 / 2.0) / 3.0, 1e-12);
    const double slope = 0.4;
    ring.of.step(found, &slope, 1.0);
    const double moved = 0.5 * 0.4 / std::sqrt(1.16);
    ring.of.scores(found, &s);
    CHECK_NEAR(s, -(1.0 / 1.5 + 3.0 * moved) + (1.0 / 2.0 - 3.0 * moved), 1e-12);
}

template <class T>
void learns_whom_to_trust() {
    Ring<T> ring;
    typename experts::Ring<T>::Found found;
    for (std::size_t m = 0; m < 9; ++m) found.label[m] = static_cast<std::int32_t>(m % 3) - (m == 8 ? 3 : 0);
    double a[9], q[9];
    for (std::size_t m = 0; m < 9; ++m) a[m] = 1.0 / (1.0 + 0.5 * static_cast<double>(m % 3)) / 3.0, q[m] = 1.0;
    const double slopes[classes] = {-0.5, 0.3, 0.1, 0.1};
    for (double times : {1.0, 2.5}) {
        double s[classes] = {}, found_s[classes];
        for (std::size_t m = 0; m < 8; ++m) s[m % 3] += a[m];
        ring.of.scores(found, found_s);
        for (std::size_t r = 0; r < classes; ++r) CHECK_NEAR(found_s[r], s[r], 1e-12);
        for (std::size_t m = 0; m < 8; ++m) {
            const double G = slopes[m % 3];
            a[m] -= 0.5 * times * G / std::sqrt(q[m] + times * times * G * G);
            q[m] += times * G * G;
        }
        ring.of.step(found, slopes, times);
    }
    double squares = 0.0;
    for (double weight : a) squares += weight * weight;
    CHECK_NEAR(ring.of.norm2(), squares, 1e-12);
    for (std::size_t n : {0, 9})
        for (double bad : {std::nan(""), 1e19, -1e10}) {
            Ring<T> damaged;
            damaged.numbers()[n] = bad;
            CHECK(!damaged.of.is_valid(pages));
        }
}

// Its rows, not what neighbours are worth.
template <class T>
void forgets_rows() {
    Ring<T> ring, other;
    const std::uint8_t row[d] = {1, 2, 3, 4, 5};
    for (std::size_t n = 0; n < 40; ++n) ring.of.store(row, n % classes);
    const double slopes[classes] = {-0.5, 0.3, 0.1, 0.1};
    ring.of.step(ring.of.find(row), slopes, 1.0);
    const double worth = ring.of.norm2();
    ring.of.forget();
    CHECK_EQUAL(ring.of.rows(), std::size_t(0));
    for (std::int32_t label : ring.of.find(row).label) CHECK_EQUAL(label, std::int32_t(-1));
    CHECK(ring.of.norm2() == worth && worth != other.of.norm2() && ring.of.is_valid(pages));
    ring.of.store(row, 2);
    CHECK_EQUAL(ring.of.find(row).label[0], std::int32_t(2));
    CHECK_EQUAL(ring.of.find(row).label[1], std::int32_t(-1));
}

}  // namespace

TEST(ring_forgets_rows) {
    forgets_rows<float>();
    forgets_rows<double>();
}
TEST(ring_finds_the_nearest) {
    for (bool squared : {false, true}) {
        finds_the_nearest<float>(squared);
        finds_the_nearest<double>(squared);
    }
}
TEST(ring_changes_its_distance) {
    changes_its_distance<float>();
    changes_its_distance<double>();
}
TEST(ring_changes_its_size) {
    for (std::size_t of_classes : {2, 7, 300}) {
        changes_its_size<float>(of_classes);
        changes_its_size<double>(of_classes);
    }
}
TEST(ring_of_two_classes) {
    tells_two_classes_apart_by_sign<float>();
    tells_two_classes_apart_by_sign<double>();
}
TEST(ring_learns_whom_to_trust) {
    learns_whom_to_trust<float>();
    learns_whom_to_trust<double>();
}
