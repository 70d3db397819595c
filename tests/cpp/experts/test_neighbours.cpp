#include "pocketkernel/experts/neighbours.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 3, R = 2, rows = 70;

template <class T>
struct Ring {
    alignas(pack_bytes) unsigned char block[4096];
    Arena arena{block};
    NeighbourRing<T> ring{arena, rows, d, R};
};

// The rows found and their mean, beside a plain search through all rows stored.
template <class T>
void follows_the_formula() {
    Ring<T> real;
    CHECK_EQUAL(real.ring.rows(), rows / lanes_of<T> * lanes_of<T>);
    const std::size_t capacity = real.ring.rows();
    static double stored[rows][d], values[rows][R];
    const T factors[d] = {T(1), T(0.5), T(2)};
    Rng rng(1);
    for (std::uint64_t n = 0; n < 300; ++n) {
        T z[d], q[d];
        for (T& value : z) value = static_cast<T>(std::floor(16.0 * (2.0 * rng.uniform() - 1.0)) / 8.0);
        if (n % 10 == 0) z[0] = T(60);  // beyond a byte
        real.ring.round(z, q);
        const auto found = real.ring.find(q, factors, n);
        const std::size_t there = n < capacity ? static_cast<std::size_t>(n) : capacity;
        CHECK_EQUAL(found.count, there < 5 ? there : 5);
        bool taken[rows] = {};
        double total[R] = {}, weights = 0.0, first = 0.0;
        for (std::size_t i = 0; i < found.count; ++i) {
            std::size_t best = rows;
            double least = HUGE_VAL;
            for (std::size_t j = 0; j < there; ++j) {
                double distance = 0.0;
                for (std::size_t k = 0; k < d; ++k) {
                    const double gap = static_cast<double>(factors[k]) * (static_cast<double>(q[k]) - stored[j][k]);
                    distance += gap * gap;
                }
                if (!taken[j] && distance < least) least = distance, best = j;
            }
            taken[best] = true;
            CHECK_EQUAL(found.place[i], best);
            CHECK_EQUAL(found.distance[i], least);
            if (i == 0) first = least;
            const double weight = 1.0 / (least + 0.5 * first + 1.0);
            weights += weight;
            for (std::size_t r = 0; r < R; ++r) total[r] += weight * values[best][r];
        }
        for (std::size_t r = 0; r < R; ++r)
            CHECK_NEAR(real.ring.mean(found, r), found.count > 0 ? total[r] / weights : 0.0, 1e-12);
        T* to = real.ring.store(q, n);
        for (std::size_t k = 0; k < d; ++k) {
            stored[n % capacity][k] = std::fmax(-127.0, std::fmin(std::floor(16.0 * double(z[k]) + 0.5), 127.0));
            CHECK_EQUAL(q[k], stored[n % capacity][k]);
        }
        for (std::size_t r = 0; r < R; ++r) {
            to[r] = static_cast<T>(std::floor(100.0 * rng.uniform()));
            values[n % capacity][r] = static_cast<double>(to[r]);
        }
    }
    const T q[d] = {T(0), T(0), T(0)};
    const auto found = real.ring.find(q, factors, 300);
    const double before = real.ring.mean(found, 1), other = real.ring.mean(found, 0);
    real.ring.scale(1, 0.5);
    CHECK_EQUAL(real.ring.mean(found, 1), 0.5 * before);
    CHECK_EQUAL(real.ring.mean(found, 0), other);
    CHECK(real.ring.valid());
    real.ring.store(q, 7)[1] = static_cast<T>(HUGE_VAL);
    CHECK(!real.ring.valid());
}

}  // namespace

TEST(neighbour_ring_follows_the_formula) {
    follows_the_formula<double>();
    follows_the_formula<float>();
}
