#include "pocketkernel/columns/columns.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 80;

// Who keeps something of a row of zeros: as lines and a pool do, sum_k a_k zero_k.
template <class T>
struct Kept {
    double of_zero = 0.0;
    T factors[d] = {};
    static constexpr std::size_t slopes_at_once = 1;

    void move_origin(const Columns<T>& columns, double sign) {
        for (std::size_t k = 0; columns.counts_from_zero() && k < d; ++k)
            of_zero += sign * static_cast<double>(k) * static_cast<double>(columns.zero()[k]);
    }
    void move_origin(std::size_t k, T change) { of_zero += static_cast<double>(k) * static_cast<double>(change); }
    void refresh(const T* row) { std::memcpy(factors, row, sizeof factors); }
    void refresh_column(std::size_t k, T change) { factors[k] += change; }
    template <std::size_t N>
    void slopes(std::size_t k, T* out) const {
        for (std::size_t n = 0; n < N; ++n) out[n] = k + n == 3 ? T(1) : T(0);
    }
};

template <class T>
struct Stream {
    alignas(pack_bytes) unsigned char block[64 * 1024]{};
    Arena arena{block};
    typename Columns<T>::Pace* pace = arena.take<typename Columns<T>::Pace>(1);
    Columns<T> columns;
    QueryScratch<T> scratch;
    Kept<T> kept;
    Rng rng{7};
    std::uint64_t rounds = 0;
    float values[d];
    Query<T> z;
    T row[padded<T>(d)];

    explicit Stream(bool may_be_sparse)
        : columns(arena, d, may_be_sparse, true, pace),
          scratch(arena, d, RowNorms(), Storage::full, may_be_sparse ? std::size_t(64) : d + 1) {
        CHECK(arena.used() <= sizeof block);
        columns.reset();
    }
    // A row in which so many columns are not 0.
    void learn(std::size_t count) {
        for (std::size_t k = 0; k < d; ++k) values[k] = k < count ? static_cast<float>(1.0 + rng.uniform()) : 0.0f;
        z = columns.learn(Row<float>{values, nullptr, 0}, scratch, ++rounds, true);
        std::memcpy(row, z.dense, d * sizeof(T));
        columns.weigh(z, scratch);
        columns.measure(z, scratch.row(), rounds);
        if (columns.refresh(z, scratch, rounds, kept, kept)) refreshed = true;
    }
    bool refreshed = false;
};

// Sparse rows are counted from a row of zeros once most rows are sparse, and no longer once most are not; those who
// keep something of such a row always keep what it is.
template <class T>
void rows_count_from_zero() {
    Stream<T> stream(true);
    for (int row = 0; row < 200; ++row) {
        stream.learn(5);
        const bool counts = stream.columns.counts_from_zero();
        CHECK(stream.columns.lists(stream.z) == (counts && stream.z.sparse));
        double of_zero = 0.0;
        for (std::size_t k = 0; counts && k < d; ++k)
            of_zero += static_cast<double>(k) * static_cast<double>(stream.columns.zero()[k]);
        CHECK_NEAR(stream.kept.of_zero, of_zero, sizeof(T) == 4 ? 1e-2 : 1e-9);
        for (std::size_t k = 0; counts && k < d; ++k)
            CHECK_NEAR(static_cast<double>(stream.kept.factors[k]),
                       static_cast<double>(stream.columns.zero()[k] * stream.columns.factors()[k]), 1e-3);
    }
    CHECK(stream.refreshed && stream.columns.counts_from_zero() && stream.columns.valid(stream.rounds));
    for (int row = 0; row < 1200; ++row) stream.learn(60);
    CHECK(!stream.columns.counts_from_zero() && !stream.columns.lists(stream.z));
}

// A list has what each column adds to a row of zeros; what is measured of it is what the dense row says.
template <class T>
void lists_are_the_row() {
    Stream<T> stream(true);
    for (int row = 0; row < 100; ++row) stream.learn(4 + static_cast<std::size_t>(row % 3));
    CHECK(stream.columns.lists(stream.z));
    const Query<T> z = stream.columns.read(Row<float>{stream.values, nullptr, 0}, stream.scratch, true);
    T rebuilt[d];
    std::memcpy(rebuilt, stream.columns.zero(), sizeof rebuilt);
    for (std::size_t n = 0; n < z.nonzeros; ++n) rebuilt[z.columns[n]] += z.values[n];
    for (std::size_t k = 0; k < d; ++k)
        CHECK_NEAR(static_cast<double>(rebuilt[k]), static_cast<double>(z.dense[k]), 1e-5);
    const T before = z.values[0];
    stream.columns.weigh(z, stream.scratch);
    CHECK_EQUAL(z.values[0], before * stream.columns.factors()[z.columns[0]]);
}

// Where rows are never sparse nothing counts from zero, and the mean of z is about 0.
template <class T>
void dense_rows_stay() {
    Stream<T> stream(false);
    double sum = 0.0;
    for (int row = 0; row < 400; ++row) {
        stream.learn(d);
        CHECK(!stream.columns.counts_from_zero() && !stream.z.sparse && !stream.columns.zero());
        if (row >= 200) sum += static_cast<double>(stream.row[0]);
    }
    CHECK(absolute(sum) < 40.0 && stream.columns.square() > 40.0 && stream.columns.square() < 120.0);
}

// A column with a slope matters less, or more, than the others, in the sum of a row's steps; the mean of rho is 0.
template <class T>
void relevance_follows_slopes() {
    Stream<T> stream(true);
    for (int row = 0; row < 300; ++row) {
        stream.learn(d);
        for (std::size_t k = 0; k < d; ++k) stream.scratch.row()[k] = T(1);
        stream.columns.learn_relevance(stream.z, stream.scratch, stream.kept, T(1), T(0.1));
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < d; ++k) {
        sum += std::log(static_cast<double>(stream.columns.factors()[k]));
        CHECK(k == 3 || stream.columns.factors()[k] > stream.columns.factors()[3]);
    }
    CHECK_NEAR(sum, 0.0, 1e-3);
    CHECK(stream.columns.valid(stream.rounds));
}

}  // namespace

TEST(columns_count_from_zero) {
    rows_count_from_zero<float>();
    rows_count_from_zero<double>();
}
TEST(columns_list_rows) {
    lists_are_the_row<float>();
    lists_are_the_row<double>();
}
TEST(columns_of_dense_rows) {
    dense_rows_stay<float>();
    dense_rows_stay<double>();
}
TEST(columns_weigh_by_slopes) {
    relevance_follows_slopes<float>();
    relevance_follows_slopes<double>();
}
