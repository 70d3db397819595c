#include "pocketkernel/column_scale.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// A scale of d columns with its memory, and a row that it works on.
template <class T, std::size_t d>
struct Scaled {
    alignas(pack_bytes) unsigned char block[7 * padded<T>(d) * sizeof(T)];
    alignas(pack_bytes) T row[padded<T>(d)] = {};
    typename ColumnScale<T>::Pace pace{};
    Arena arena{block};
    ColumnScale<T> scale;
    std::uint64_t rounds = 0;

    explicit Scaled(bool may_be_sparse = false) : scale(arena, d, may_be_sparse, &pace) { scale.reset(); }

    // Learns from x, as a learner does, and leaves its z in `row`.
    void learn(const T* x) {
        ++rounds;
        alignas(pack_bytes) T raw[padded<T>(d)] = {};
        std::memcpy(raw, x, d * sizeof(T));
        std::memcpy(row, x, d * sizeof(T));
        scale.apply(row);
        scale.observe_square(row, rounds);
        scale.observe(raw, rounds);
        (void)scale.refresh(rounds);
    }
    const T* z(const T* x) {
        std::memcpy(row, x, d * sizeof(T));
        scale.apply(row);
        return row;
    }
};

// The z of the header's formula, from numbers kept in double precision over so many rows.
struct Moments {
    double mean = 0.0, variance = 0.0, usual = 0.0;
    int limited = 0;
    void add(double x, std::uint64_t rounds) {
        const double size = std::fabs(x - mean), before = usual, step = rounds < 64 ? 0.125 : 0.015625;
        if (x != 0.0 && size > 0.0) usual = usual == 0.0 ? size : usual * (size > usual ? 1.0 + step : 1.0 - step);
        const double limit = 32.0 * larger(usual, before);
        const double share = 1.0 / static_cast<double>(rounds), away = larger(-limit, smaller(x - mean, limit));
        limited += size > limit;
        mean += away * share;
        variance += (away * away * (1.0 - share) - variance) * share;
    }
    double z(double x) const {
        return variance > 0.0 ? 2.0 * std::asinh((x - mean) / (2.0 * std::sqrt(variance))) : 0.0;
    }
};

template <class T>
void follows_the_formula(double tolerance) {
    constexpr std::size_t d = 21;
    Scaled<T, d> scaled;
    Moments kept[d];
    Rng rng(3);
    for (std::uint64_t t = 1; t <= 600; ++t) {
        T x[d];
        double squares = 0.0;
        for (std::size_t k = 0; k < d; ++k) {
            const double size = std::pow(10.0, static_cast<double>(k) - 10.0);
            x[k] = static_cast<T>(size * (rng.uniform() + (k % 3 == 0 ? 1.0 : -0.5)) * (t % 50 == 0 ? 1000.0 : 1.0));
        }
        scaled.learn(x);
        for (std::size_t k = 0; k < d; ++k) {
            const double z = kept[k].z(static_cast<double>(x[k]));
            CHECK_NEAR(static_cast<double>(scaled.row[k]), z, tolerance * (1.0 + std::fabs(z)));
            squares += z * z;
            kept[k].add(static_cast<double>(x[k]), t);
        }
        CHECK(squares < 21.0 * 30.0 * 30.0);
    }
    for (const Moments& column : kept) CHECK(column.limited > 3);
    CHECK(scaled.scale.valid());
}

// Before a learner has seen two different rows, z is 0; then 1 deviation is about 1.
template <class T>
void by_hand() {
    Scaled<T, 2> scaled;
    const T first[] = {T(5), T(-1)}, second[] = {T(7), T(-1)};
    scaled.learn(first);
    CHECK(scaled.row[0] == T(0) && scaled.row[1] == T(0));
    CHECK(scaled.z(second)[0] == T(0));
    scaled.learn(second);  // mean 6, variance 1
    CHECK_NEAR(static_cast<double>(scaled.z(first)[0]), -2.0 * std::asinh(0.5), 1e-6);
    CHECK_NEAR(static_cast<double>(scaled.z(second)[0]), 2.0 * std::asinh(0.5), 1e-6);
    const T far[] = {T(1006), T(1e6)};
    CHECK_NEAR(static_cast<double>(scaled.z(far)[0]), 13.8155, 1e-3);
    CHECK(scaled.z(far)[1] == T(0));                                   // a constant column, whatever comes
    CHECK_NEAR(scaled.pace.running_square, 2.0 * 10.0 / 12.0, 1e-15);  // it was 2 for ten rows, then 0 twice
}

// The largest values that a learner lets in (row.hpp), the smallest there are, and columns of one value.
template <class T>
void bears_extremes() {
    constexpr std::size_t d = 9;
    const T most = static_cast<T>(value_limit<T>(Storage::full)), least = std::numeric_limits<T>::denorm_min();
    Scaled<T, d> scaled;
    Rng rng(4);
    for (int t = 0; t < 3000; ++t) {
        const T sign = rng.uniform() < 0.5 ? T(-1) : T(1);
        const T x[d] = {sign * most,
                        t % 100 == 0 ? most : T(0),
                        most,
                        T(0),
                        sign * least,
                        t % 2 == 0 ? least : most,
                        t < 1000 ? T(0) : sign,
                        sign * std::numeric_limits<T>::min(),
                        t == 2999 ? -most : T(1)};
        scaled.learn(x);
        for (T z : scaled.row) CHECK(absolute(z) <= T(71));
        CHECK(scaled.row[2] == T(0) && scaled.row[3] == T(0));
        CHECK(scaled.pace.running_square > 0.0 && scaled.pace.running_square < d * 71.0 * 71.0);
    }
    CHECK(scaled.scale.valid());
    const T x[d] = {T(1), -most, -most, most, most, -most, most, most, most};
    for (std::size_t k = 0; k < d; ++k) CHECK(absolute(scaled.z(x)[k]) <= T(71));
}

// Rows by their nonzeros and dense ones have the same z, bit by bit.
template <class T>
void sparse_as_dense() {
    constexpr std::size_t d = 70;
    Scaled<T, d> scaled(true);
    alignas(pack_bytes) T row[padded<T>(d)] = {};
    Rng rng(5);
    for (int t = 0; t < 300; ++t) {
        T x[d] = {}, values[d];
        std::int32_t columns[d];
        Query<T> q;
        q.sparse = true;
        q.values = values;
        q.columns = columns;
        for (std::size_t k = 0; k < d; ++k) {
            if (rng.uniform() > (t % 10 == 0 ? 0.0 : 0.2)) continue;
            x[k] = values[q.nonzeros] = static_cast<T>(rng.uniform() * static_cast<double>(k + 1));
            columns[q.nonzeros++] = static_cast<std::int32_t>(k);
        }
        scaled.scale.apply(q, row);
        const T* z = scaled.z(x);
        CHECK(std::memcmp(z, row, sizeof row) == 0);
        for (std::size_t n = 0; n < q.nonzeros; ++n) {
            const auto k = static_cast<std::size_t>(columns[n]);
            CHECK(scaled.scale.beyond_zero(q, n, z) == z[k] - scaled.scale.zero()[k]);
        }
        scaled.learn(x);
    }
    CHECK(scaled.scale.valid());
}

}  // namespace

TEST(column_scale_follows_the_formula) {
    follows_the_formula<float>(2e-4);
    follows_the_formula<double>(1e-12);
}

TEST(column_scale_by_hand) {
    by_hand<float>();
    by_hand<double>();
}

TEST(column_scale_bears_extremes) {
    bears_extremes<float>();
    bears_extremes<double>();
}

TEST(column_scale_sparse_as_dense) {
    sparse_as_dense<float>();
    sparse_as_dense<double>();
}

// Where rows may be sparse z stands still between refreshes; they come after a sixteenth more of rows, and at least
// every 4097.
TEST(column_scale_refreshes_in_time) {
    Scaled<double, 1> scaled(true);
    std::uint64_t next = 1, refreshes = 0;
    for (std::uint64_t t = 1; t <= 200000; ++t) {
        const double x = static_cast<double>(t % 7), probe = 2.0;
        const double before = *scaled.z(&probe);
        *scaled.row = x;
        scaled.scale.observe(scaled.row, t);
        CHECK_EQUAL(*scaled.z(&probe), before);
        const bool due = t == next;
        if (scaled.scale.refresh(t) != due) CHECK(!"refreshed in time");
        if (!due) continue;
        ++refreshes;
        next = t + 1 + (t < 65536 ? t : 65536) / 16;
    }
    CHECK(refreshes > 150 && refreshes < 250);
}

// Columns that have moved for good count as they are now; the oldest rows fade, here to e^-4.6.
TEST(column_scale_forgets) {
    Scaled<float, 1> scaled;
    Rng rng(6);
    for (int t = 0; t < 400000; ++t) {
        const auto x = static_cast<float>(rng.uniform() + (t < 100000 ? 20.0 : 5.0));
        scaled.learn(&x);
    }
    const double share = std::exp(-3e5 / 65536.0), mean = 5.5 + 15.0 * share;
    const double deviation = std::sqrt(share * (1.0 - share) * 225.0 + 1.0 / 12.0);
    for (float x : {5.0f, 5.5f, 6.0f})
        CHECK_NEAR(static_cast<double>(*scaled.z(&x)), 2.0 * std::asinh((x - mean) / (2.0 * deviation)), 0.01);
}

TEST(column_scale_impossible_states) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double x[] = {1.0, 2.0, 3.0}, y[] = {2.0, 0.0, 5.0};
    const auto taught = [&](auto&& change) {
        Scaled<double, 3> scaled(true);
        scaled.learn(x);
        scaled.learn(y);
        CHECK(scaled.scale.valid());
        change(scaled);
        return scaled.scale.valid();
    };
    for (double bad : {0.0, -1.0, infinity, std::nan("")}) {
        CHECK(!taught([=](auto& s) { s.pace.square = bad; }));
        CHECK(!taught([=](auto& s) { s.pace.running_square = bad; }));
    }
    // The arrays are mean, variance, usual distance, centre, spread and the z of 0, a pack each.
    for (std::size_t array = 0; array < 6; ++array)
        for (double bad : {-infinity, infinity, std::nan(""), -1.0})
            CHECK(taught([=](auto& s) { reinterpret_cast<double*>(s.block)[8 * array + 2] = bad; }) ==
                  (bad == -1.0 && array != 1 && array != 2 && array != 4));
}
