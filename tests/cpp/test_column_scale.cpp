#include "pocketkernel/column_scale.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// A scale of d columns with its memory, and scratch for its rows.
template <class T, std::size_t d>
struct Scaled {
    static constexpr std::size_t width = padded<T>(d);
    // Means and last values in double precision, then deviation, usual jump, evidence and age; if rows may be sparse,
    // what z is made with.
    alignas(pack_bytes) unsigned char block[width * (28 + 6 * sizeof(T)) + 2 * pack_bytes];
    alignas(pack_bytes) unsigned char room[width * 3 * sizeof(T) + 256];
    typename ColumnScale<T>::Pace pace{};
    Arena arena{block}, scratch{room};
    ColumnScale<T> scale;
    QueryScratch<T> query;
    std::uint64_t rounds = 0;

    explicit Scaled(bool may_be_sparse = false)
        : scale(arena, d, may_be_sparse, &pace),
          query(scratch, d, RowNorms(), Storage::full, may_be_sparse ? 1 : d + 1) {
        CHECK(arena.used() <= sizeof block && scratch.used() <= sizeof room);
        scale.reset();
    }

    double* means() { return reinterpret_cast<double*>(block); }
    T* figure(std::size_t n) { return reinterpret_cast<T*>(block + 2 * width * sizeof(double)) + n * width; }

    // Learns from x, as a learner does. Its z is that of before.
    template <class U>
    Query<T> learn(const Row<U>& x) {
        const Query<T> z = scale.learn(x, query, rounds + 1);
        scale.observe_square(z.dense, ++rounds);
        if (!scale.refresh(rounds)) scale.refresh_moved(z, [](std::size_t, T) {});
        return z;
    }
    template <class U>
    const T* learn(const U* x) {
        return learn(Row<U>{x, nullptr, 0}).dense;
    }
    template <class U>
    const T* z(const U* x) {
        return scale.read(Row<U>{x, nullptr, 0}, query).dense;
    }
};

// A column by the header's formulas, in plain numbers. Only h and what is compared with it are rounded as there:
// a jump is on either side of h, which a last digit may decide.
template <class T>
struct Column {
    static double rounded(double value) { return static_cast<double>(static_cast<T>(value)); }
    double mean = 0.0, deviation = 0.0, usual = 0.0, n = 0.0, beyond = 0.0, unlike = 0.0, last = 0.0;
    double way = 0.0;  // 1 if the last change was up, -1 if it was down
    int limited = 0, restarts = 0;
    void add(double x) {
        const double size = std::fabs(x - mean), gone = rounded(std::fabs(x - last)), before = usual;
        const double jump = gone > std::pow(2.0, -51.0) * std::fabs(x) ? gone : 0.0;
        const double now = jump == 0.0 ? 0.0 : x > last ? 1.0 : -1.0;
        const bool turned = now * way < 0.0;
        const bool tested = n >= 32.0, spoilt = n < 256.0 && deviation > 8.0 * usual;
        n = n < 65535.0 ? n + 1.0 : n;
        const double step = larger(smaller(rounded(1.0 / n) * 16.0, 0.125), 1.0 / 256.0);
        const double turn = (jump > usual ? 1.0 : -1.0) * rounded(usual * step);
        if (x != 0.0 && jump > 0.0) usual = usual == 0.0 ? jump : rounded(usual + turn);
        const double most = larger(24.0 * larger(usual, before), 4.0 * deviation), limit = most > 0.0 ? most : size,
                     away = larger(-limit, smaller(x - mean, limit));
        limited += size > limit;
        if (tested) {
            const double ratio = deviation > 0.0 ? smaller(size / deviation, 4.0) : size > 0.0 ? 4.0 : 0.0;
            const double farther = ratio * ratio - 4.0;
            beyond = larger(beyond + (turned ? farther : smaller(farther, 0.0)), 0.0);
            if (x == 0.0 || jump == 0.0)
                ;
            else if (jump > 8.0 * before)
                unlike = turned ? larger(unlike, 0.0) + 1.0 : unlike;
            else if (jump < before / 2.0 || (spoilt && size < deviation / 2.0))
                unlike = turned ? smaller(unlike, 0.0) - 1.0 : unlike;
            else if (spoilt)
                unlike = 0.0;
            else
                unlike = unlike > 0.0 ? larger(unlike - 2.0, 0.0) : smaller(unlike + 2.0, 0.0);
        }
        mean += rounded(rounded(away) * rounded(1.0 / n));
        last = x;
        if (now != 0.0 && usual > 0.0) way = now;
        deviation = std::sqrt((1.0 - 1.0 / n) * (deviation * deviation + away * away / n));
        const bool changed = beyond >= 512.0 || std::fabs(unlike) >= 32.0;
        if (n > 1.0 && !changed) return;
        restarts += changed;
        *this = Column{x, 0.0, 0.0, 1.0, 0.0, 0.0, x, 0.0, limited, restarts};
    }
    double z(double x) const { return deviation > 0.0 ? 2.0 * std::asinh((x - mean) / (2.0 * deviation)) : 0.0; }
};

// Columns of all sizes with outliers, some of which change their units, their level, or wake up; one has few values.
template <class T>
void follows_the_formula(double tolerance) {
    constexpr std::size_t d = 21;
    Scaled<T, d> scaled;
    Column<T> kept[d];
    Rng rng(3);
    for (int t = 1; t <= 3000; ++t) {
        double x[d], squares = 0.0;
        for (std::size_t k = 0; k < d; ++k) {
            const double size = std::pow(10.0, 3.0 * static_cast<double>(k) - 30.0);
            x[k] = rng.uniform() + (k % 3 == 0 ? 1.0 : -0.5);
            if (t > 1000 && k == 5) x[k] *= 1e-3;
            if (t > 1000 && k == 4) x[k] *= 1e3;
            if (t > 1000 && k == 6) x[k] += 20.0;
            if (t > 1000 && k == 7) x[k] -= 1e6;
            if (t < 1000 && k == 8) x[k] = 2.0;
            if (k == 9) x[k] = t % 50 == 0 ? x[k] * (t > 1000 ? 1e-4 : 1.0) : 0.0;
            x[k] *= size * (t % 50 == 0 && k < 8 && k != 5 ? 1000.0 : 1.0);
            if (k == 10 && t % 7 != 5) x[k] = std::nan("");
        }
        const T* z = scaled.learn(x);
        for (std::size_t k = 0; k < d; ++k) {
            if (x[k] != x[k]) {
                CHECK_EQUAL(z[k], T(0));
                continue;
            }
            const double expected = kept[k].z(x[k]);
            CHECK_NEAR(static_cast<double>(z[k]), expected, tolerance * (1.0 + std::fabs(expected)));
            squares += expected * expected;
            kept[k].add(x[k]);
        }
        CHECK(squares < 21.0 * 71.0 * 71.0);
    }
    for (std::size_t k = 0; k < d; ++k) {
        CHECK(kept[k].limited > 3 || k == 5 || k >= 8);
        CHECK_EQUAL(kept[k].restarts, k >= 4 && k <= 9 ? 1 : 0);
    }
    CHECK(scaled.scale.valid(scaled.rounds));
}

// Before a learner has seen two different rows, z is 0; then 1 deviation is about 1.
template <class T>
void by_hand() {
    Scaled<T, 2> scaled;
    const double first[] = {5.0, -1.0}, second[] = {7.0, -1.0};
    CHECK(scaled.learn(first)[0] == T(0) && scaled.z(first)[1] == T(0));
    CHECK(scaled.z(second)[0] == T(0));
    scaled.learn(second);  // mean 6, deviation 1
    CHECK_NEAR(static_cast<double>(scaled.z(first)[0]), -2.0 * std::asinh(0.5), 1e-6);
    CHECK_NEAR(static_cast<double>(scaled.z(second)[0]), 2.0 * std::asinh(0.5), 1e-6);
    const double far[] = {1006.0, 1e6};
    CHECK_NEAR(static_cast<double>(scaled.z(far)[0]), 13.8155, 1e-3);
    CHECK(scaled.z(far)[1] == T(0));                                   // a constant column, whatever comes
    CHECK_NEAR(scaled.pace.running_square, 2.0 * 10.0 / 12.0, 1e-15);  // it was 2 for ten rows, then 0 twice
}

// However far from 0 a column lies, and whatever its unit: z is the same but for the last digits that x itself, and the
// mean, can have there; of 1e12 they are 1e-4.
template <class T>
void place_and_unit_do_not_matter() {
    constexpr std::size_t d = 5;
    const double places[d] = {0.0, 1e7, -1e9, 1e12, 0.0}, units[d] = {1.0, 1.0, 1.0, 1.0, 1e-30};
    Scaled<T, d> scaled;
    Rng rng(9);
    for (int t = 0; t < 2000; ++t) {
        double x[d];
        const double value = std::floor(256.0 * rng.uniform()) / 256.0;  // digits that survive the sum
        for (std::size_t k = 0; k < d; ++k) x[k] = places[k] + units[k] * value;
        const T* z = scaled.learn(x);
        for (std::size_t k = 1; k < d; ++k)
            CHECK_NEAR(static_cast<double>(z[k]), static_cast<double>(z[0]), k == 3 ? 1e-2 : 1e-5);
    }
}

// A change of units or level is followed within `most` rows of it, one outlier in twenty is not.
void follows_a_change() {
    for (double unit : {1e-6, 1e-2, 0.1, 1.0, 3.0, 10.0, 1e6})
        for (double level : {0.0, 3.0, 10.0, 1e3, 1e6}) {
            if (unit == 1.0 && level == 0.0) continue;
            Scaled<float, 1> scaled;
            Rng rng(10);
            double mean = 0.0, square = 0.0;
            for (int t = 0; t < 6000; ++t) {
                double x = 2.0 * std::sqrt(3.0) * (rng.uniform() - 0.5);  // deviation 1
                if (t >= 5000) x = unit * x + level;
                const auto z = static_cast<double>(scaled.learn(&x)[0]);
                if (t >= 5500) mean += z / 500.0, square += z * z / 500.0;
            }
            CHECK_NEAR(mean, 0.0, 0.2);
            CHECK_NEAR(square, 0.9, 0.15);
        }
    Scaled<float, 1> scaled;
    Rng rng(10);
    for (int t = 0; t < 20000; ++t) {
        const double x = (rng.uniform() - 0.5) * (t % 20 == 0 ? 1e6 : 1.0);
        scaled.learn(&x);
        if (t > 0) CHECK_EQUAL(std::floor(scaled.figure(3)[0] + 0.5f), static_cast<float>(t + 1));  // its age
    }
}

// Whatever the first rows are, or however far the unit falls, a thousand rows later the scale is that of the others.
template <class T>
void recovers_from_first_rows(bool may_be_sparse) {
    struct Case {
        int rows;       // that are bad
        bool constant;  // one value, else values about 0
        double level;   // of the others, whose deviation is 1
    };
    for (const Case& c : {Case{1, true, 0.0}, Case{1, true, 1e9}, Case{7, true, -5.0}, Case{7, false, 0.0},
                          Case{20, false, 3.0}, Case{700, false, 0.0}, Case{700, true, -3e5}})
        for (double bad : {1e3, 1e4, 1e6, 1e10, 1e12, 1e14, 1e15, 1e20, 1e25, 1e30}) {
            Scaled<T, 1> scaled(may_be_sparse);
            Rng rng(13);
            double mean = 0.0, square = 0.0;
            for (int t = -c.rows; t < 2000; ++t) {
                const double u = 2.0 * std::sqrt(3.0) * (rng.uniform() - 0.5);
                const double x = t >= 0 ? c.level + u : c.constant ? bad : bad * u;
                const auto z = static_cast<double>(scaled.learn(&x)[0]);
                if (t >= 1000) mean += z / 1000.0, square += z * z / 1000.0;
            }
            CHECK_NEAR(mean, 0.0, 0.2);
            CHECK_NEAR(square, 0.9, 0.15);
            CHECK(scaled.scale.valid(scaled.rounds));
        }
}

// The largest values that a learner lets in, the smallest there are, and columns of one value.
template <class T>
void bears_extremes() {
    constexpr std::size_t d = 9;
    const double most = ColumnScale<T>::value_limit, least = std::numeric_limits<double>::denorm_min();
    Scaled<T, d> scaled;
    Rng rng(4);
    for (int t = 0; t < 3000; ++t) {
        const double sign = rng.uniform() < 0.5 ? -1.0 : 1.0;
        const double x[d] = {sign * most,
                             t % 100 == 0 ? most : 0.0,
                             most,
                             0.0,
                             sign * least,
                             t % 2 == 0 ? least : most,
                             t < 1000 ? 0.0 : sign,
                             sign * static_cast<double>(std::numeric_limits<T>::min()),
                             t == 2999 ? -most : 1.0};
        const T* z = scaled.learn(x);
        for (std::size_t k = 0; k < d; ++k) CHECK(absolute(z[k]) <= T(71));
        CHECK(z[2] == T(0) && z[3] == T(0));
        CHECK(scaled.pace.running_square > 0.0 && scaled.pace.running_square < d * 71.0 * 71.0);
        CHECK(scaled.scale.valid(scaled.rounds));
    }
    const double x[d] = {1.0, -most, -most, most, most, -most, most, most, most};
    for (std::size_t k = 0; k < d; ++k) CHECK(absolute(scaled.z(x)[k]) <= T(71));
}

// Rows by their nonzeros and dense ones have the same z and leave the same figures, bit by bit; stored zeros and -0.0
// are zeros.
template <class T>
void sparse_as_dense() {
    constexpr std::size_t d = 70;
    static Scaled<T, d> by_columns(true), by_rows(true);
    Rng rng(5);
    for (int t = 0; t < 600; ++t) {
        double x[d] = {}, values[d];
        std::int32_t columns[d];
        std::size_t stored = 0, nonzeros = 0;
        for (std::size_t k = 0; k < d; ++k) {
            if (rng.uniform() > (t % 10 == 0 ? 0.9 : 0.2)) continue;
            x[k] = values[stored] =
                rng.uniform() < 0.1 ? -0.0 : rng.uniform() * static_cast<double>(t < 300 ? k + 1 : 1);
            columns[stored++] = static_cast<std::int32_t>(k);
            nonzeros += x[k] != 0.0;
        }
        const Query<T> sparse = by_columns.learn(Row<double>{values, columns, stored});
        const Query<T> dense = by_rows.learn(Row<double>{x, nullptr, 0});
        CHECK(std::memcmp(sparse.dense, dense.dense, d * sizeof(T)) == 0);
        CHECK(std::memcmp(by_columns.block, by_rows.block, sizeof by_rows.block) == 0);
        CHECK(sparse.sparse == (nonzeros <= d / 4) && sparse.sparse == dense.sparse);
        CHECK(sparse.nonzeros == (sparse.sparse ? nonzeros : 0) && sparse.nonzeros == dense.nonzeros);
        for (std::size_t n = 0; n < sparse.nonzeros; ++n) CHECK_EQUAL(sparse.columns[n], dense.columns[n]);
        for (std::size_t n = 0; n < sparse.nonzeros; ++n) CHECK_EQUAL(sparse.values[n], dense.values[n]);
    }
    CHECK(by_columns.scale.valid(by_columns.rounds));
}

// Columns that another thread is changing may be anything: what is out of place is left out, and nothing else is
// touched.
void bears_columns_out_of_place() {
    constexpr std::size_t d = 70;
    static Scaled<float, d> scaled(true);
    Rng rng(11);
    for (int t = 0; t < 2000; ++t) {
        double values[2 * d];
        std::int32_t columns[2 * d];
        for (double& value : values) value = rng.uniform();
        for (std::int32_t& column : columns)
            column = rng.uniform() < 0.9 ? static_cast<std::int32_t>(100.0 * rng.uniform() - 15.0)
                                         : std::numeric_limits<std::int32_t>::min();
        if (t % 2 == 0)
            for (std::size_t n = 1; n < 2 * d; ++n) columns[n] = smaller(columns[n - 1] + 1, 80);
        const Query<float> z = scaled.learn(Row<double>{values, columns, 2 * d});
        for (std::size_t n = 0; n < z.nonzeros; ++n) CHECK(z.columns[n] >= 0 && z.columns[n] < 70);
        CHECK(z.nonzeros <= d / 4);
    }
    CHECK(scaled.scale.valid(scaled.rounds));
}

// Columns of few values, of clusters, that stand still for long, or that move on without turning do not start again.
void stays_with_a_column() {
    constexpr std::size_t d = 21, rows = 20000;
    constexpr double turn = 6.283185307179586;
    const double often[] = {0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99};
    const double rows_of_a_day[] = {20.0, 1000.0, 1440.0};
    for (double low : {0.0, -1.0}) {
        Scaled<float, d> scaled;
        Rng rng(12);
        for (std::size_t t = 0; t < rows; ++t) {
            double x[d];
            for (std::size_t k = 0; k < 7; ++k) x[k] = rng.uniform() < often[k] ? 1.0 : low;
            x[7] = (rng.uniform() < 0.5 ? 1.0 : low) + 1e-3 * rng.uniform();
            x[8] = static_cast<double>(t / 60 % 24) + low;  // an hour, every minute
            x[9] = t % 999 == 0 ? 1.0 : 0.0;                // rare, and there at first
            const auto now = static_cast<double>(t);
            x[10] = now;
            x[20] = std::cos(turn * static_cast<double>((t / 200 + 3) % 7) /
                             7.0);  // two of seven are one, but for rounding
            for (std::size_t n = 0; n < 3; ++n) {
                const double days = now / rows_of_a_day[n], date = std::floor(days);
                x[11 + 3 * n] = 18000.0 + date;
                x[12 + 3 * n] = std::sin(turn * (n < 2 ? date / 365.2425 : days));  // of a date; of the time of day
                x[13 + 3 * n] = std::cos(turn * (n < 2 ? days / 7.0 : days / 365.2425));
            }
            scaled.learn(x);
        }
        for (std::size_t k = 0; k < d; ++k)
            CHECK_EQUAL(std::floor(scaled.figure(3)[k] + 0.5f), static_cast<float>(rows));  // its age
    }
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

TEST(column_scale_place_and_unit) {
    place_and_unit_do_not_matter<float>();
    place_and_unit_do_not_matter<double>();
}

TEST(column_scale_follows_a_change) { follows_a_change(); }

TEST(column_scale_stays_with_a_column) { stays_with_a_column(); }

TEST(column_scale_recovers_from_first_rows) {
    for (bool may_be_sparse : {false, true}) {
        recovers_from_first_rows<float>(may_be_sparse);
        recovers_from_first_rows<double>(may_be_sparse);
    }
}

TEST(column_scale_bears_extremes) {
    bears_extremes<float>();
    bears_extremes<double>();
}

TEST(column_scale_sparse_as_dense) {
    sparse_as_dense<float>();
    sparse_as_dense<double>();
}

TEST(column_scale_bears_columns_out_of_place) { bears_columns_out_of_place(); }

// Where rows may be sparse z stands still between refreshes; they come after a sixteenth more of rows, and at least
// every 4096, or when a column has moved by a quarter of its deviation.
TEST(column_scale_refreshes_in_time) {
    Scaled<double, 1> scaled(true);
    std::uint64_t next = 1, refreshes = 0, moves = 0;
    for (std::uint64_t t = 1; t <= 200000; ++t) {
        const double x = static_cast<double>(t % 7) + (t > 100000 ? 1000.0 : 0.0), probe = 2.0;
        const double before = *scaled.z(&probe);
        const Query<double> learned = scaled.scale.learn(Row<double>{&x, nullptr, 0}, scaled.query, t);
        CHECK_EQUAL(*scaled.z(&probe), before);
        const bool due = t == next;
        if (scaled.scale.refresh(t) != due) CHECK(!"refreshed in time");
        scaled.scale.refresh_moved(learned, [&](std::size_t k, double) { moves += k == 0 && t > 100000; });
        if (!due) continue;
        ++refreshes;
        next = t + 1 + (t < 65535 ? t : 65535) / 16;
    }
    CHECK(refreshes > 150 && refreshes < 250);
    CHECK(moves > 2 && moves < 100);
}

// Columns that have moved for good, but not far, count as they are now; the oldest rows fade, here to e^-4.6.
// A shift too small for the tests of a change, after which the column would start again: the window alone forgets it.
TEST(column_scale_forgets) {
    Scaled<float, 1> scaled;
    Rng rng(6);
    for (int t = 0; t < 400000; ++t) {
        const double x = rng.uniform() + (t < 100000 ? 0.4 : 0.0);
        scaled.learn(&x);
    }
    const double share = std::exp(-3e5 / 65535.0), mean = 0.5 + 0.4 * share;
    const double deviation = std::sqrt(share * (1.0 - share) * 0.16 + 1.0 / 12.0);
    for (double x : {0.0, 0.5, 1.0})
        CHECK_NEAR(static_cast<double>(*scaled.z(&x)), 2.0 * std::asinh((x - mean) / (2.0 * deviation)), 0.02);
}

TEST(column_scale_impossible_states) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double x[] = {1.0, 2.0, 3.0}, y[] = {2.0, 0.0, 5.0};
    const auto taught = [&](auto&& change) {
        Scaled<double, 3> scaled(true);
        scaled.learn(x);
        scaled.learn(y);
        CHECK(scaled.scale.valid(scaled.rounds));
        change(scaled);
        return scaled.scale.valid(scaled.rounds);
    };
    for (double bad : {0.0, -1.0, infinity, std::nan(""), 1e14}) {
        CHECK(!taught([=](auto& s) { s.pace.square = bad; }));
        CHECK(!taught([=](auto& s) { s.pace.running_square = bad; }));
    }
    // The arrays are mean, last value, deviation, usual jump, evidence, age, centre, spread and z of 0, a pack each.
    for (std::size_t array = 0; array < 9; ++array)
        for (double bad : {-infinity, infinity, std::nan(""), array == 3 ? -1e71 : -1.0, 1e71})
            CHECK(taught([=](auto& s) { reinterpret_cast<double*>(s.block)[8 * array + 2] = bad; }) ==
                  (bad == -1.0 && (array == 0 || array == 1 || array == 6 || array == 8)));
    CHECK(!taught([](auto& s) { s.figure(3)[2] = 70000.0; }));               // rows
    CHECK(!taught([](auto& s) { s.figure(3)[2] = 100.0 + 49.0 / 256.0; }));  // evidence
}
