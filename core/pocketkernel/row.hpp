// Row: one row in the caller's format. Query: the same row in the format of the passes.
//
// For a row with few nonzeros only these are processed, at a cost that grows with their number instead of d. The choice
// depends on the row's values, never on the input format, so dense and CSR input give the same bits.
//
// The caller may change a row while it is read, because another thread may refill the array. Values and columns are
// therefore copied once and checked on the copy; no write depends on a count or a column that was checked elsewhere. A
// change at the wrong moment can make scores wrong but cannot corrupt memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena.hpp"
#include "kernels/metric.hpp"
#include "parts.hpp"
#include "simd.hpp"
#include "status.hpp"
#include "storage.hpp"

POCKETKERNEL_BEGIN

// An integer that the caller may be changing, read exactly once: what is checked is what is used.
template <class I>
inline I read_once(const I* from) {
    return *static_cast<const volatile I*>(from);
}

// Dense if columns is null (values has d entries), else sparse (nonzeros entries, columns ascending).
template <class U>
struct Row {
    const U* values = nullptr;
    const std::int32_t* columns = nullptr;
    std::size_t nonzeros = 0;
};

// The largest value that precision T and a storage can take: squares must not overflow.
template <class T>
double value_limit(Storage storage) {
    if (storage == Storage::float16) return 65504.0;
    return sizeof(T) == sizeof(float) ? 1e18 : 1e70;
}

// Whether a row's values can be learned: finite and within the limit, or NaN if a learner accepts it as missing.
// `fault` is the position of the first that is not.
template <bool Missing = false, class U>
[[nodiscard]] inline Status check_values(const U* values, std::size_t n, double limit, std::size_t& fault) {
    // In the precision of the values: as a float, no limit becomes larger, unless it is beyond all floats.
    const U most = static_cast<U>(smaller(limit, static_cast<double>(std::numeric_limits<U>::max())));
    const auto is_good = [&](U value) { return absolute(value) <= most || (Missing && value != value); };
#if POCKETKERNEL_REGISTER_BYTES > 0
    bool good = true;  // without a branch for each value
    for (std::size_t i = 0; i < n; ++i) good &= is_good(values[i]);
    if (good) return Status::ok;
#endif
    U value = 0;
    for (fault = 0; fault < n; ++fault) {
        value = values[fault];
        if (!is_good(value)) break;
    }
    if (fault == n) return Status::ok;  // perhaps the caller has changed it in the meantime
    if (value - value != 0) return Status::value_not_finite;
    return limit < 1e18 ? Status::value_beyond_float16 : Status::value_too_large;
}

template <class T>
struct Query {
    bool sparse = false;
    const T* dense = nullptr;   // d values, if not sparse
    const T* values = nullptr;  // the nonzero values, if sparse
    const std::int32_t* columns = nullptr;
    std::size_t nonzeros = 0;
    double norm2 = 0.0, norm1 = 0.0;  // |x|^2 and |x|_1, where RowNorms asks for them
};

// Below this width sparse rows are not faster; from this width on, rows with at most a quarter nonzeros count as
// sparse.
inline constexpr std::size_t sparse_from_width = 16;

// Which norms of a row its metrics need: |x|^2 for cosines and for sparse rows, |x|_1 for L1 distances of sparse rows.
struct RowNorms {
    bool squared = false, l1 = false;
};
inline RowNorms norms_for(const MetricSet& metrics, std::size_t features) {
    const bool may_be_sparse = features >= sparse_from_width;
    return {may_be_sparse || metrics[Metric::cosine], may_be_sparse && metrics[Metric::l1_distance]};
}

template <class T>
class QueryScratch {
  public:
    QueryScratch() = default;
    QueryScratch(Arena& arena, std::size_t features, RowNorms norms, Storage storage,
                 std::size_t sparse_from = sparse_from_width)
        : features_(features),
          capacity_(parts::sparse_rows && features >= sparse_from ? features / 4 : 0),
          norms_(norms),
          format_(storage),
          dense_(arena.take<T>(features)),
          values_(arena.take<T>(capacity_)),
          columns_(arena.take<std::int32_t>(capacity_)) {}

    // The query of a row, rounded as the buffer will hold it; it points into this scratch (or at the row itself) until
    // the next call.
    template <class U>
    Query<T> read(const Row<U>& row) {
        return parts::sparse_rows && row.columns ? read_sparse(row) : read_dense(row.values);
    }

    // Room for a dense row that the caller fills and then reads, and for `capacity` columns and values of a sparse one.
    T* row() { return dense_; }
    T* values() { return values_; }
    std::int32_t* columns() { return columns_; }
    std::size_t capacity() const { return capacity_; }

  private:
    template <class U>
    Query<T> read_dense(const U* row) {
        Query<T> q;
        for (std::size_t k = 0; k < features_; ++k) dense_[k] = element(row[k]);
        if (parts::sparse_rows && capacity_ > 0) {
            std::size_t nonzeros = 0;
            for (std::size_t k = 0; k < features_; ++k) nonzeros += dense_[k] != T(0);
            q.sparse = nonzeros <= capacity_;
        }
        for (std::size_t k = 0; parts::sparse_rows && q.sparse && k < features_; ++k)
            if (dense_[k] != T(0)) keep(q, static_cast<std::int32_t>(k), dense_[k]);
        return finish(q);
    }

    // Nonzeros are kept while there is room; if there are more, the row is handled as dense.
    template <class U>
    Query<T> read_sparse(const Row<U>& row) {
        Query<T> q;
        q.sparse = capacity_ > 0;
        if (q.sparse && row.nonzeros <= capacity_) {  // all would fit, so the next place always exists
            for (std::size_t n = 0; n < row.nonzeros; ++n) {
                const std::int32_t column = read_once(row.columns + n);
                const T value = element(row.values[n]);
                values_[q.nonzeros] = value;
                columns_[q.nonzeros] = column;
                q.nonzeros += (value != T(0)) & (static_cast<std::size_t>(column) < features_);
            }
            return finish(q);
        }
        if (!q.sparse) clear();
        for (std::size_t n = 0; n < row.nonzeros; ++n) {
            const std::int32_t column = read_once(row.columns + n);
            const T value = element(row.values[n]);
            if (value == T(0) || static_cast<std::size_t>(column) >= features_)
                continue;  // a negative column is huge as unsigned
            if (q.sparse && !keep(q, column, value)) {
                q.sparse = false;
                q.nonzeros = 0;
                clear();
                for (std::size_t i = 0; i < capacity_; ++i) dense_[columns_[i]] = values_[i];
            }
            if (!q.sparse) dense_[column] = value;
        }
        return finish(q);
    }

    // Rounded as the buffer stores it. Adding 0 turns -0 into 0; otherwise equal rows would have different bytes.
    template <class U>
    T element(U value) const {
        if constexpr (std::is_same<T, float>::value)
            if (parts::halves && format_) return format_.rounded(static_cast<float>(value)) + T(0);
        return static_cast<T>(value) + T(0);
    }

    void clear() {
        for (std::size_t k = 0; k < features_; ++k) dense_[k] = T(0);
    }

    // False if there is no more room.
    bool keep(Query<T>& q, std::int32_t column, T value) {
        if (q.nonzeros == capacity_) return false;
        values_[q.nonzeros] = value;
        columns_[q.nonzeros++] = column;
        return true;
    }

    Query<T> finish(Query<T>& q) {
        q.dense = dense_;
        q.values = values_;
        q.columns = columns_;
        // Summed one by one in the order of the columns, as the passes sum u'v: a duplicate is at distance exactly 0.
        const T* x = q.sparse ? values_ : dense_;
        const std::size_t n = q.sparse ? q.nonzeros : features_;
        if (norms_.squared)
            for (std::size_t k = 0; k < n; ++k) q.norm2 += static_cast<double>(x[k]) * static_cast<double>(x[k]);
        if (norms_.l1)
            for (std::size_t k = 0; k < n; ++k) q.norm1 += absolute(static_cast<double>(x[k]));
        return q;
    }

    Known<parts::features> features_{0};
    std::size_t capacity_ = 0;
    RowNorms norms_;
    HalfFormat format_;
    T* dense_ = nullptr;
    T* values_ = nullptr;
    std::int32_t* columns_ = nullptr;
};

POCKETKERNEL_END
