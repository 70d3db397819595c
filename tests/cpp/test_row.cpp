// What becomes of a row on its way into the core, whatever the caller does to it meanwhile.
#include "pocketkernel/row.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 20, most = d / 4;

template <class T>
struct Reader {
    explicit Reader(Storage storage = Storage::full) : arena(block), scratch(arena, d, {true, true}, storage) {}
    alignas(pack_bytes) unsigned char block[1024] = {};
    Arena arena;
    QueryScratch<T> scratch;
};

// Of sparse rows every column is tried: out of range, repeated, descending. None may write anywhere else.
template <class T>
void keeps_within_its_arrays() {
    Reader<T> reader;
    double values[3 * d];
    std::int32_t columns[3 * d];
    const std::int32_t odd[] = {-1, 0, 7, d - 1, d, d + 1, 2147483647, -2147483647 - 1};
    for (std::size_t nonzeros = 0; nonzeros <= 3 * d; ++nonzeros)
        for (std::int32_t column : odd) {
            for (std::size_t n = 0; n < nonzeros; ++n) {
                values[n] = 1.0 + static_cast<double>(n);
                columns[n] = n % 2 == 0 ? column : odd[n % 8];
            }
            const Query<T> q = reader.scratch.read(Row<double>{values, columns, nonzeros});
            CHECK(!q.sparse || q.nonzeros <= most);
            for (std::size_t n = 0; q.sparse && n < q.nonzeros; ++n) CHECK(q.columns[n] >= 0 && q.columns[n] < int(d));
        }
}

template <class T>
void has_no_negative_zeros(Storage storage) {
    for (std::size_t nonzeros : {std::size_t(2), d}) {  // sparse, dense
        Reader<T> reader(storage);
        double values[d];
        std::int32_t columns[d];
        for (std::size_t k = 0; k < d; ++k) {
            columns[k] = static_cast<std::int32_t>(k);
            values[k] = k < nonzeros && k % 2 == 0 ? 1.5 : k % 3 == 0 ? -0.0 : -1e-320;  // that is 0 in float
        }
        for (const std::int32_t* c :
             {static_cast<const std::int32_t*>(nullptr), static_cast<const std::int32_t*>(columns)}) {
            const Query<T> q = reader.scratch.read(Row<double>{values, c, d});
            const T* x = q.sparse ? q.values : q.dense;
            for (std::size_t n = 0; n < (q.sparse ? q.nonzeros : d); ++n) CHECK(x[n] != T(0) || !std::signbit(x[n]));
        }
    }
}

}  // namespace

TEST(row_keeps_within_its_arrays) {
    keeps_within_its_arrays<float>();
    keeps_within_its_arrays<double>();
}

TEST(row_has_no_negative_zeros) {
    has_no_negative_zeros<float>(Storage::full);
    has_no_negative_zeros<float>(Storage::float16);
    has_no_negative_zeros<float>(Storage::bfloat16);
    has_no_negative_zeros<double>(Storage::full);
}

// A row with one nonzero too many is the dense row that it would be.
TEST(row_spills_over) {
    for (std::size_t nonzeros = 0; nonzeros <= d; ++nonzeros) {
        Reader<double> sparse, dense;
        double values[d] = {}, row[d] = {};
        std::int32_t columns[d];
        for (std::size_t n = 0; n < nonzeros; ++n) {
            columns[n] = static_cast<std::int32_t>(d - nonzeros + n);
            row[columns[n]] = values[n] = 1.0 + static_cast<double>(n);
        }
        const Query<double> a = sparse.scratch.read(Row<double>{values, columns, nonzeros});
        const Query<double> b = dense.scratch.read(Row<double>{row});
        CHECK(a.sparse == (nonzeros <= most) && b.sparse == a.sparse && a.nonzeros == b.nonzeros);
        CHECK_EQUAL(a.norm2, b.norm2);
        CHECK_EQUAL(a.norm1, b.norm1);
        for (std::size_t n = 0; n < a.nonzeros; ++n) CHECK(a.columns[n] == b.columns[n] && a.values[n] == b.values[n]);
        for (std::size_t k = 0; !a.sparse && k < d; ++k) CHECK_EQUAL(a.dense[k], b.dense[k]);
    }
}

// A value that was bad and is mended while the check looks for it: the search ends with the row.
TEST(row_check_finds_the_first) {
    double values[] = {1.0, -2.0, 3.0};
    std::size_t fault = 9;
    CHECK(check_values(values, 3, 3.0, fault) == Status::ok);
    CHECK(check_values(values, 3, 1.5, fault) == Status::value_beyond_float16 && fault == 1);
    values[2] = std::nan("");
    CHECK(check_values(values, 3, 3.0, fault) == Status::value_not_finite && fault == 2);
    CHECK(check_values<true>(values, 3, 3.0, fault) == Status::ok);
    values[1] = -std::numeric_limits<double>::infinity();
    CHECK(check_values<true>(values, 3, 3.0, fault) == Status::value_not_finite && fault == 1);
}
