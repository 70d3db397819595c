// Buffer: up to `capacity` stored rows in order of arrival, and the pass over them that every learner uses.
//
// Rows are stored in tiles of W (the lanes of a pack); in a tile the W values of a column are adjacent:
//   value(row j, column k) = values[((j / W) d + k) W + j % W]
// so a pass reads memory front to back with one row per lane, and a sparse query reads its own columns only.
// The values are of type T, or 16-bit halves. Rows beyond size() are zero. The coefficients are not here: they belong
// to a Hypothesis.
#pragma once

#include <initializer_list>

#include "kernels/bank.hpp"
#include "row.hpp"

POCKETKERNEL_BEGIN

// How a pass reads W adjacent values of a tile: directly, or from halves.
template <class T>
struct FullCells {
    const T* values;
    POCKETKERNEL_INLINE Pack<T> operator()(std::size_t at) const { return Pack<T>::load(values + at); }
};
struct HalfCells {
    const std::int16_t* halves;
    HalfFormat format;
    POCKETKERNEL_INLINE Pack<float> operator()(std::size_t at) const { return format.decode_pack(halves + at); }
};

template <class T>
class Buffer {
  public:
    static constexpr std::size_t W = lanes_of<T>;

    Buffer() = default;
    Buffer(Arena& arena, std::size_t capacity, std::size_t features, RowNorms norms, Storage storage)
        : capacity_(capacity),
          features_(features),
          norms_(norms),
          limit_(value_limit<T>(storage)),
          format_(storage),
          values_(arena.take<T>(format_ ? 0 : padded<T>(capacity), features)),
          halves_(arena.take<std::int16_t>(format_ ? padded<T>(capacity) : 0, features)),
          norm2_(arena.take<double>(norms.squared ? padded<T>(capacity) : 0)),
          norm1_(arena.take<double>(norms.l1 ? padded<T>(capacity) : 0)),
          size_(arena.take<std::uint64_t>(1)) {}

    std::size_t size() const { return static_cast<std::size_t>(*size_); }
    std::size_t capacity() const { return capacity_; }
    bool valid() const {
        bool good = *size_ <= capacity_;
        for (std::size_t n = 0; good && n < padded<T>(capacity_) * features_; ++n)
            good = absolute(static_cast<double>(get(n))) <= limit_;
        const double widest = static_cast<double>(features_) * limit_ * (1.0 + 1e-9);
        for (std::size_t j = 0; norms_.squared && j < padded<T>(capacity_); ++j)
            good = good && norm2_[j] >= 0.0 && norm2_[j] <= widest * limit_;
        for (std::size_t j = 0; norms_.l1 && j < padded<T>(capacity_); ++j)
            good = good && norm1_[j] >= 0.0 && norm1_[j] <= widest;
        return good;
    }

    void append(const Query<T>& q) {
        const std::size_t j = size();
        if (parts::sparse_rows && q.sparse) {
            for (std::size_t n = 0; n < q.nonzeros; ++n)
                put(cell(j, static_cast<std::size_t>(q.columns[n])), q.values[n]);
        } else {
            for (std::size_t k = 0; k < features_; ++k) put(cell(j, k), q.dense[k]);
        }
        if (norms_.squared) norm2_[j] = q.norm2;
        if (norms_.l1) norm1_[j] = q.norm1;
        ++*size_;
    }

    // Removes rows first .. first + count - 1; the others keep their order.
    void erase(std::size_t first, std::size_t count) {
        const std::size_t n = size();
        for (std::size_t j = first; j < n; ++j) {
            const std::size_t from = j + count;
            if (parts::halves && format_)
                move_row(halves_, from, j);
            else
                move_row(values_, from, j);
            if (norms_.squared) norm2_[j] = from < n ? norm2_[from] : 0.0;
            if (norms_.l1) norm1_[j] = from < n ? norm1_[from] : 0.0;
        }
        *size_ -= count;
    }

    // Stored row j as a query, through the given scratch.
    Query<T> query(std::size_t j, QueryScratch<T>& scratch) const {
        T* row = scratch.row();
        for (std::size_t k = 0; k < features_; ++k) row[k] = get(cell(j, k));
        return scratch.read(Row<T>{row});
    }

    // Calls visit(tile, metrics) for groups of consecutive tiles that hold the oldest `rows` rows, in order; metrics is
    // a Metrics<T, G> for G tiles.
    template <class Visit>
    void for_each_tile(const MetricSet& wanted, const Query<T>& q, std::size_t rows, Visit&& visit) const {
        // Five tiles at a time hide the latency of the arithmetic and still fit the registers. Each group size adds
        // code, so only three exist; the remainder takes at most two steps more than with all sizes. Without vector
        // registers there is nothing to hide.
        std::size_t tile = 0;
        if constexpr (POCKETKERNEL_REGISTER_BYTES > 0) {
            visit_tiles<5>(wanted, q, rows, tile, visit);
            visit_tiles<2>(wanted, q, rows, tile, visit);
        }
        visit_tiles<1>(wanted, q, rows, tile, visit);
    }

    // The oldest row, starting at `tile`, that has this dissimilarity for kernel i; it must exist.
    std::size_t find(const KernelBank<T>& bank, std::size_t i, const Query<T>& q, std::size_t tile,
                     double dissimilarity) const {
        for (; tile * W < size(); ++tile) {
            const Metrics<T, 1> m = measure<1>(bank.metrics_of(i), q, size(), tile);
            T lane[W];
            bank.dissimilarity(i, at<1>(m, bank.metric_of(i))[0]).store(lane);
            for (std::size_t l = 0; l < m.rows; ++l)
                if (static_cast<double>(lane[l]) == dissimilarity) return tile * W + l;
        }
        return 0;
    }

  private:
    std::size_t cell(std::size_t row, std::size_t column) const {
        return ((row / W) * features_ + column) * W + row % W;
    }
    T get(std::size_t at) const {
        return parts::halves && format_ ? static_cast<T>(format_.decode(halves_[at])) : values_[at];
    }
    void put(std::size_t at, T value) {
        if (parts::halves && format_)
            halves_[at] = format_.encode(static_cast<float>(value));
        else
            values_[at] = value;
    }

    // Row `to` becomes row `from`, or zero if there is no such row.
    template <class Cell>
    void move_row(Cell* cells, std::size_t from, std::size_t to) {
        const bool there = from < size();
        for (std::size_t k = 0; k < features_; ++k) cells[cell(to, k)] = there ? cells[cell(from, k)] : Cell(0);
    }

    template <std::size_t G, class Visit>
    POCKETKERNEL_INLINE void visit_tiles(const MetricSet& wanted, const Query<T>& q, std::size_t rows,
                                         std::size_t& tile, Visit& visit) const {
        for (const std::size_t tiles = packs_for<T>(rows); tile + G <= tiles; tile += G)
            visit(tile, measure<G>(wanted, q, rows, tile));
    }

    template <std::size_t G>
    Metrics<T, G> measure(const MetricSet& wanted, const Query<T>& q, std::size_t rows, std::size_t tile) const {
        Metrics<T, G> m;
        if constexpr (std::is_same<T, float>::value && parts::halves) {
            if (format_)
                measure_cells(HalfCells{halves_, format_}, wanted, q, tile, m);
            else
                measure_cells(FullCells<T>{values_}, wanted, q, tile, m);
        } else {
            measure_cells(FullCells<T>{values_}, wanted, q, tile, m);
        }
        m.rows = rows - tile * W < G * W ? rows - tile * W : G * W;
        for (Metric metric : {Metric::squared_distance, Metric::l1_distance, Metric::cosine}) {
            if (!is_used(metric) || !wanted[metric]) continue;
            const T nothing = metric == Metric::cosine ? T(0) : std::numeric_limits<T>::infinity();
            if (m.rows < G * W) fill_from(m.rows - (G - 1) * W, nothing, at<G>(m, metric)[G - 1]);
            m.least[static_cast<std::size_t>(metric)] = smallest(at<G>(m, metric));
        }
        return m;
    }

    template <class Cells, std::size_t G>
    POCKETKERNEL_INLINE void measure_cells(const Cells& cells, const MetricSet& wanted, const Query<T>& q,
                                           std::size_t tile, Metrics<T, G>& m) const {
        if (parts::sparse_rows && q.sparse) {
            if (wanted[Metric::squared_distance] || wanted[Metric::cosine]) sparse_products(cells, wanted, q, tile, m);
            if (wanted[Metric::l1_distance]) sparse_l1(cells, q, tile, at<G>(m, Metric::l1_distance));
        } else {
            if (is_used(Metric::squared_distance) && wanted[Metric::squared_distance])
                dense_squares(cells, q, tile, at<G>(m, Metric::squared_distance));
            if (is_used(Metric::l1_distance) && wanted[Metric::l1_distance])
                dense_l1(cells, q, tile, at<G>(m, Metric::l1_distance));
            if (is_used(Metric::cosine) && wanted[Metric::cosine])
                dense_cosine(cells, q, tile, at<G>(m, Metric::cosine));
        }
    }

    static void fill_from(std::size_t first, T value, Pack<T>& pack) {
        T lane[W];
        pack.store(lane);
        for (std::size_t l = first; l < W; ++l) lane[l] = value;
        pack = Pack<T>::load(lane);
    }

    template <std::size_t G, class M>
    static POCKETKERNEL_INLINE auto& at(M& m, Metric metric) {
        return m.of[static_cast<std::size_t>(metric)];
    }

    template <class Cells>
    POCKETKERNEL_INLINE Pack<T> column(const Cells& cells, std::size_t tile, std::size_t k) const {
        return cells((tile * features_ + k) * W);
    }

    template <class Cells, std::size_t G>
    void dense_squares(const Cells& cells, const Query<T>& q, std::size_t tile, Pack<T> (&out)[G]) const {
        Pack<T> total[G];
        for (std::size_t g = 0; g < G; ++g) total[g] = Pack<T>(T(0));
        for (std::size_t k = 0; k < features_; ++k) {
            const Pack<T> x(q.dense[k]);
            for (std::size_t g = 0; g < G; ++g) {
                const Pack<T> stored = column(cells, tile + g, k);
                lanewise(
                    [](auto& sum, const auto& u, const auto& v) POCKETKERNEL_FLAT {
                        const auto difference = u - v;
                        sum = sum + difference * difference;
                    },
                    total[g], x, stored);
            }
        }
        for (std::size_t g = 0; g < G; ++g) out[g] = total[g];
    }

    template <class Cells, std::size_t G>
    void dense_l1(const Cells& cells, const Query<T>& q, std::size_t tile, Pack<T> (&out)[G]) const {
        for (std::size_t g = 0; g < G; ++g) out[g] = Pack<T>(T(0));
        for (std::size_t k = 0; k < features_; ++k) {
            const Pack<T> x(q.dense[k]);
            for (std::size_t g = 0; g < G; ++g) out[g] += absolute(x - column(cells, tile + g, k));
        }
    }

    template <class Cells, std::size_t G>
    void dense_cosine(const Cells& cells, const Query<T>& q, std::size_t tile, Pack<T> (&out)[G]) const {
        for (std::size_t g = 0; g < G; ++g) {
            Wide<T> product = Wide<T>::zero();
            for (std::size_t k = 0; k < features_; ++k) add_product(product, column(cells, tile + g, k), q.dense[k]);
            out[g] = cosine(product, tile + g, q.norm2);
        }
    }

    // u'v over the query's nonzeros gives both |u - v|^2 = |u|^2 + |v|^2 - 2u'v and the cosine. It is summed in double
    // precision because narrow kernels depend on the difference of nearly equal norms.
    template <class Cells, std::size_t G>
    void sparse_products(const Cells& cells, const MetricSet& wanted, const Query<T>& q, std::size_t tile,
                         Metrics<T, G>& m) const {
        for (std::size_t g = 0; g < G; ++g) {
            Wide<T> product = Wide<T>::zero();
            for (std::size_t n = 0; n < q.nonzeros; ++n)
                add_product(product, column(cells, tile + g, static_cast<std::size_t>(q.columns[n])), q.values[n]);
            if (wanted[Metric::squared_distance]) {
                Wide<T> squares = Wide<T>::load(norm2_ + (tile + g) * W);
                for (std::size_t i = 0; i < Wide<T>::parts; ++i)
                    squares.p[i] = larger((squares.p[i] + Pack<double>(q.norm2)) - (product.p[i] + product.p[i]),
                                          Pack<double>(0.0));
                at<G>(m, Metric::squared_distance)[g] = narrow(squares);
            }
            if (wanted[Metric::cosine]) at<G>(m, Metric::cosine)[g] = cosine(product, tile + g, q.norm2);
        }
    }

    template <class Cells, std::size_t G>
    void sparse_l1(const Cells& cells, const Query<T>& q, std::size_t tile, Pack<T> (&out)[G]) const {
        for (std::size_t g = 0; g < G; ++g) {
            // |u - v|_1 = |u|_1 + |v|_1 + sum over the nonzeros of v of |u_k - v_k| - |u_k| - |v_k|.
            Wide<T> total = Wide<T>::load(norm1_ + (tile + g) * W);
            for (std::size_t i = 0; i < Wide<T>::parts; ++i) total.p[i] += Pack<double>(q.norm1);
            for (std::size_t n = 0; n < q.nonzeros; ++n) {
                const Wide<T> stored = widen(column(cells, tile + g, static_cast<std::size_t>(q.columns[n])));
                const Pack<double> x(static_cast<double>(q.values[n]));
                for (std::size_t i = 0; i < Wide<T>::parts; ++i)
                    total.p[i] += absolute(stored.p[i] - x) - (absolute(stored.p[i]) + absolute(x));
            }
            for (std::size_t i = 0; i < Wide<T>::parts; ++i) total.p[i] = larger(total.p[i], Pack<double>(0.0));
            out[g] = narrow(total);
        }
    }

    static POCKETKERNEL_INLINE void add_product(Wide<T>& product, const Pack<T>& column, T x) {
        const Wide<T> stored = widen(column);
        for (std::size_t i = 0; i < Wide<T>::parts; ++i)
            product.p[i] += stored.p[i] * Pack<double>(static_cast<double>(x));
    }

    Pack<T> cosine(const Wide<T>& product, std::size_t tile, double norm2) const {
        const Pack<double> zero(0.0), one(1.0);
        const Wide<T> stored = Wide<T>::load(norm2_ + tile * W);
        if (norm2 == 0.0) {
            Wide<T> out;
            for (std::size_t i = 0; i < Wide<T>::parts; ++i) out.p[i] = select(stored.p[i] == zero, one, zero);
            return narrow(out);
        }
        Wide<T> out;
        for (std::size_t i = 0; i < Wide<T>::parts; ++i) {
            // u'v / |v|^2 * (|v| / |u|): exactly 1 for a duplicate, and no product of norms that could underflow.
            const Mask<double> of_zero = stored.p[i] == zero;
            const Pack<double> ratio = Pack<double>(norm2) / select(of_zero, one, stored.p[i]);
            const Pack<double> cosine = product.p[i] / Pack<double>(norm2) * square_root(ratio);
            out.p[i] = select(of_zero, zero, larger(smaller(cosine, one), zero - one));
        }
        return narrow(out);
    }

    std::size_t capacity_ = 0, features_ = 0;
    RowNorms norms_;
    double limit_ = 0.0;
    HalfFormat format_;
    T* values_ = nullptr;             // if rows are stored as T
    std::int16_t* halves_ = nullptr;  // if rows are stored as halves
    double* norm2_ = nullptr;
    double* norm1_ = nullptr;
    std::uint64_t* size_ = nullptr;
};

// The stored row nearest to a query, found during the pass: its dissimilarity, and the group of tiles that it is in.
// Ties go to the oldest. Buffer::find gives the row itself.
struct Nearest {
    double dissimilarity;
    std::size_t tile;

    void reset() { *this = {std::numeric_limits<double>::infinity(), 0}; }
    void offer(double least, std::size_t from_tile) {
        if (least < dissimilarity) *this = {least, from_tile};
    }
};

POCKETKERNEL_END
