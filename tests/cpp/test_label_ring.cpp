#include "pocketkernel/label_ring.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 5, classes = 4, bytes = 70 * 16 * (d + 2);

template <class T>
struct Ring {
    alignas(pack_bytes) unsigned char block[bytes + 1024]{};
    Arena arena{block};
    LabelRing<T> of{arena, bytes, d};

    Ring() {
        CHECK(arena.used() <= sizeof block);
        of.reset();
    }
    double* numbers() { return reinterpret_cast<double*>(block); }
};

// Every row there ever was, and what the header says of the nearest, one by one.
template <class T>
void finds_the_nearest() {
    constexpr std::size_t capacity = 70 * 16, rows = 2 * capacity + 37;
    static std::uint8_t all[rows][d];
    static std::size_t labels[rows];
    Ring<T> ring;
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
            // Places of the ring from the newest page to the oldest.
            const std::size_t there = smaller(t, capacity), pages = (there + 15) / 16;
            for (std::size_t window = 0; window < 3; ++window) {
                const std::size_t limit = window == 0 ? 2 : window == 1 ? 9 : pages;  // whole pages of 17 and 140 rows
                std::uint32_t best[3] = {~0u, ~0u, ~0u};
                std::int32_t label[3] = {-1, -1, -1};
                for (std::size_t n = 0; n < smaller(limit, pages); ++n) {
                    const std::size_t page = ((t - 1) % capacity / 16 + pages - n) % pages;
                    for (std::size_t place = page * 16; place < smaller(page * 16 + 16, there); ++place) {
                        std::size_t row = (t - 1) / capacity * capacity + place;  // the last one stored there
                        if (row >= t) row -= capacity;
                        std::uint32_t away = 0;
                        for (std::size_t k = 0; k < d; ++k)
                            away += weights[k] * static_cast<unsigned>(std::abs(all[row][k] - all[t][k]));
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
            double total = 0.0;
            for (T factor : factors) total += static_cast<double>(factor);
            for (std::size_t k = 0; k < d; ++k)
                weights[k] = static_cast<unsigned>(
                    smaller(255.0, std::floor(2048.0 / total * static_cast<double>(factors[k]) + 0.5)));
        }
    }
    CHECK(ring.of.valid(classes, rows) && !ring.of.valid(classes - 1, rows) && !ring.of.valid(classes, rows - 1));
}

template <class T>
void learns_whom_to_trust() {
    Ring<T> ring;
    typename LabelRing<T>::Found found;
    for (std::size_t m = 0; m < 9; ++m) found.label[m] = static_cast<std::int32_t>(m % 3) - (m == 8 ? 3 : 0);
    double a[9], q[9];
    for (std::size_t m = 0; m < 9; ++m) a[m] = 1.0 / (1.0 + 0.5 * static_cast<double>(m % 3)) / 3.0, q[m] = 1.0;
    const double slopes[classes] = {-0.5, 0.3, 0.1, 0.1};
    for (double times : {1.0, 2.5}) {
        double s[classes] = {};
        for (std::size_t m = 0; m < 8; ++m) s[m % 3] += a[m];
        for (std::size_t r = 0; r < classes; ++r) CHECK_NEAR(ring.of.score(found, r), s[r], 1e-12);
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
            CHECK(!damaged.of.valid(classes, 10));
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
    CHECK(ring.of.norm2() == worth && worth != other.of.norm2() && ring.of.valid(classes, 0));
    ring.of.store(row, 2);
    CHECK_EQUAL(ring.of.find(row).label[0], std::int32_t(2));
    CHECK_EQUAL(ring.of.find(row).label[1], std::int32_t(-1));
}

}  // namespace

TEST(label_ring_forgets_rows) {
    forgets_rows<float>();
    forgets_rows<double>();
}
TEST(label_ring_finds_the_nearest) {
    finds_the_nearest<float>();
    finds_the_nearest<double>();
}
TEST(label_ring_learns_whom_to_trust) {
    learns_whom_to_trust<float>();
    learns_whom_to_trust<double>();
}
