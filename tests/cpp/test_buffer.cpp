// Rows in, rows out: row.hpp and the storage of buffer.hpp. What a pass computes is tested through learners
// (test_kernels).
#include "pocketkernel/buffer.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 20;

// Row number n: sparse for odd n, dense for even n.
template <class T>
void fill(std::size_t n, T* row) {
    for (std::size_t k = 0; k < d; ++k)
        row[k] = n % 2 == 1 && k % 5 != n % 5
                     ? T(0)
                     : static_cast<T>(static_cast<double>(n) + 0.125 * static_cast<double>(k + 1));
}

template <class T>
bool holds(const Buffer<T>& buffer, std::size_t j, std::size_t n, QueryScratch<T>& scratch) {
    T row[d];
    fill(n, row);
    const Query<T> q = buffer.query(j, scratch);
    if (q.sparse != (n % 2 == 1)) return false;
    double norm2 = 0.0, norm1 = 0.0;
    for (std::size_t k = 0, next = 0; k < d; ++k) {
        norm2 += static_cast<double>(row[k]) * static_cast<double>(row[k]);
        norm1 += std::fabs(static_cast<double>(row[k]));
        if (!q.sparse) {
            if (q.dense[k] != row[k]) return false;
        } else if (row[k] != T(0)) {
            if (next >= q.nonzeros || q.columns[next] != static_cast<std::int32_t>(k) || q.values[next] != row[k])
                return false;
            ++next;
        }
    }
    return std::fabs(q.norm2 - norm2) <= 1e-12 * norm2 && std::fabs(q.norm1 - norm1) <= 1e-12 * norm1;
}

template <class T>
void stores() {
    alignas(pack_bytes) unsigned char block[1 << 14];
    Arena arena(block);
    const RowNorms norms{true, true};
    constexpr std::size_t capacity = 37;
    Buffer<T> buffer(arena, capacity, d, norms, Storage::full);
    QueryScratch<T> in(arena, d, norms, Storage::full), out(arena, d, norms, Storage::full);
    CHECK(arena.used() < sizeof block);
    CHECK(buffer.size() == 0 && buffer.capacity() == capacity && buffer.valid());

    std::size_t expected[capacity], size = 0, number = 0;
    const auto append = [&] {
        T row[d];
        fill(number, row);
        buffer.append(in.read(Row<T>{row}));
        expected[size++] = number++;
    };
    const auto erase = [&](std::size_t first, std::size_t count) {
        buffer.erase(first, count);
        for (std::size_t j = first; j + count < size; ++j) expected[j] = expected[j + count];
        size -= count;
    };
    const auto agrees = [&] {
        bool good = buffer.size() == size;
        for (std::size_t j = 0; j < size; ++j) good = good && holds(buffer, j, expected[j], out);
        return good;
    };

    while (size < capacity) append();
    CHECK(agrees());
    erase(0, capacity / 2);  // the older half
    CHECK(agrees());
    while (size < capacity) append();  // into places that were used before: nothing may shine through
    CHECK(agrees());
    erase(capacity - 5, 5);  // the newest
    erase(7, 1);             // one in the middle
    CHECK(agrees());
    append();
    CHECK(agrees());
    erase(0, size);
    CHECK(agrees());
    append();
    CHECK(agrees() && buffer.valid());
}

// A row is the same query however it is handed in.
template <class T, class U>
void reads() {
    alignas(pack_bytes) unsigned char block[4096];
    Arena arena(block);
    QueryScratch<T> one(arena, d, {true, true}, Storage::full), other(arena, d, {true, true}, Storage::full);
    for (std::size_t n = 0; n < 12; ++n) {
        U row[d], values[d];
        std::int32_t columns[d];
        std::size_t nonzeros = 0;
        fill(n, row);
        for (std::size_t k = 0; k < d; ++k) {
            if (row[k] == U(0) && k % 3 != 0) continue;  // some zeros are stored
            values[nonzeros] = row[k];
            columns[nonzeros++] = static_cast<std::int32_t>(k);
        }
        const Query<T> a = one.read(Row<U>{row}), b = other.read(Row<U>{values, columns, nonzeros});
        CHECK(a.sparse == b.sparse && a.sparse == (n % 2 == 1));
        CHECK(a.norm2 == b.norm2 && a.norm1 == b.norm1);
        CHECK(a.nonzeros == b.nonzeros);
        bool same = true;
        for (std::size_t k = 0; !a.sparse && k < d; ++k) same = same && a.dense[k] == b.dense[k];
        for (std::size_t i = 0; i < a.nonzeros; ++i)
            same = same && a.values[i] == b.values[i] && a.columns[i] == b.columns[i];
        CHECK(same);
    }
}

}  // namespace

TEST(buffer_stores_and_forgets) {
    stores<float>();
    stores<double>();
}

TEST(buffer_reads_rows) {
    reads<float, float>();
    reads<float, double>();
    reads<double, float>();
    reads<double, double>();
}

TEST(buffer_narrow_rows_are_never_sparse) {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena(block);
    QueryScratch<float> scratch(arena, sparse_from_width - 1, {}, Storage::full);
    const float zeros[sparse_from_width] = {};
    CHECK(!scratch.read(Row<float>{zeros}).sparse);
    const std::int32_t column = 3;
    const float value = 2.0f;
    const Query<float> q = scratch.read(Row<float>{&value, &column, 1});
    CHECK(!q.sparse && q.dense[3] == 2.0f && q.dense[2] == 0.0f);
    CHECK(!norms_for(MetricSet{}, sparse_from_width - 1).squared && norms_for(MetricSet{}, sparse_from_width).squared);
}

TEST(buffer_checks_values) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double floats = value_limit<float>(Storage::full), doubles = value_limit<double>(Storage::full);
    const double halves = value_limit<float>(Storage::float16);
    CHECK(halves == 65504.0 && halves < floats && floats < doubles);
    CHECK(value_limit<float>(Storage::bfloat16) == floats);
    std::size_t fault = 99;
    const double good[] = {0.0, -1e17, 1e17};
    CHECK(check_values(good, 3, floats, fault) == Status::ok && check_values(good, 3, doubles, fault) == Status::ok);
    CHECK(check_values(good, 3, halves, fault) == Status::value_beyond_float16 && fault == 1);
    const double large[] = {0.0, 1.0, -1e30};
    CHECK(check_values(large, 3, floats, fault) == Status::value_too_large && fault == 2);
    CHECK(check_values(large, 3, doubles, fault) == Status::ok);
    const double bad[] = {1.0, nan, inf, 1e300};
    for (double limit : {halves, floats, doubles}) {
        CHECK(check_values(bad, 4, limit, fault) == Status::value_not_finite && fault == 1);
        CHECK(check_values(bad + 2, 2, limit, fault) == Status::value_not_finite && fault == 0);
        CHECK(check_values(bad, 0, limit, fault) == Status::ok);
    }
    CHECK(check_values(bad + 3, 1, doubles, fault) == Status::value_too_large && fault == 0);
    // A float is compared as a float: the limits are the same as of doubles.
    for (double limit : {halves, floats, 1e36, doubles, 1e100}) {
        const auto most = static_cast<float>(smaller(limit, 3.4028234663852886e38));
        const float above = std::nextafter(most, std::numeric_limits<float>::infinity());
        const float some[] = {most, -most, above};
        CHECK(static_cast<double>(most) <= limit && static_cast<double>(above) > smaller(limit, 3.5e38));
        CHECK(check_values(some, 2, limit, fault) == Status::ok);
        CHECK(check_values(some, 3, limit, fault) != Status::ok && fault == 2);
    }
    const float edge[] = {65504.0f, -65504.0f, 65504.004f};
    CHECK(check_values(edge, 2, halves, fault) == Status::ok);
    CHECK(check_values(edge, 3, halves, fault) == Status::value_beyond_float16 && fault == 2);
}
