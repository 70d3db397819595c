// Columns: what is known of the columns of a row: their scale, how much each matters, and where a row of zeros lies.
//
//   x    the row
//   z    its columns brought to one scale (ColumnScale)
//   z'   z, its columns weighed by how much they matter (ColumnRelevance), for who measures distances; else z
//
// Where most rows are sparse, linear functions see z less the z of a row of zeros, which is 0 in every column where x
// is: their steps, the scale of rows and the relevance then cost as much as a row has values that are not 0
// (`lists`). Where most are not, z itself is the better coordinate, as its mean is 0. Which it is, is decided at each
// refresh of the scale (`counts_from_zero`).
#pragma once

#include "../column_relevance.hpp"
#include "../column_scale.hpp"
#include "../kernels/list.hpp"
#include "../state.hpp"
#include "../tuning.hpp"

POCKETKERNEL_BEGIN

template <class T>
class Columns {
  public:
    using Pace = typename ColumnScale<T>::Pace;
    using Relevance = ColumnRelevance<T, Tuning::Relevance::OfClasses>;

    static constexpr double farthest = ColumnScale<T>::farthest * Relevance::largest_factor;  // |z'_k| is below

    Columns() = default;
    // `pace` is part of the state.
    Columns(Arena& arena, std::size_t columns, bool may_be_sparse, bool weighs, Pace* pace)
        : origin_(may_be_sparse ? arena.take<Origin>(1) : nullptr), scale_(arena, columns, may_be_sparse, pace) {
        if (weighs) relevance_ = Relevance(arena, columns);
    }
    // Scratch, for a learner that asks which columns have started.
    void plan(Arena& arena) { scale_.plan(arena); }

    void reset() {
        scale_.reset();
        relevance_.reset();
    }

    // The z of a row, in the scratch; of a sparse row, all of z only if it is needed. `learn` also takes the row into
    // the running figures.
    template <class U>
    Query<T> read(const Row<U>& row, QueryScratch<T>& scratch, bool needs_dense) const {
        return scale_.read(row, scratch, needs_dense || !counts_from_zero());
    }
    template <class U>
    Query<T> learn(const Row<U>& row, QueryScratch<T>& scratch, std::uint64_t rounds, bool needs_dense) {
        return scale_.learn(row, scratch, rounds, needs_dense || !counts_from_zero());
    }

    // Whether a row is a list of what it adds to a row of zeros, for linear functions too.
    bool lists(const Query<T>& z) const { return counts_from_zero() && z.sparse; }
    bool counts_from_zero() const { return parts::sparse_rows && origin_ && origin_->from_zero; }

    // Whether columns are weighed at all; then e^rho of all of them.
    bool weighs() const { return parts::kernels > 0 ? parts::has(Family::gaussian) : relevance_.factors() != nullptr; }
    const T* factors() const { return relevance_.factors(); }
    // From z to z', in its place.
    void weigh(const Query<T>& z, QueryScratch<T>& scratch) const {
        if (!lists(z)) relevance_.apply(z.dense, scratch.row());
        for (std::size_t n = 0; parts::sparse_rows && n < z.nonzeros; ++n)
            scratch.values()[n] *= relevance_.factors()[scratch.columns()[n]];
    }

    // A tile of z as linear functions see it.
    POCKETKERNEL_INLINE Pack<T> from_origin(const Pack<T>& z, std::size_t tile) const {
        return counts_from_zero() ? z - zero_pack(tile) : z;
    }
    // Of the z of a row of zeros: all columns, and a tile of them.
    const T* zero() const { return scale_.zero(); }
    Pack<T> zero_pack(std::size_t tile) const {
        alignas(pack_bytes) T zero[lanes_of<T>] = {};
        const std::size_t begin = tile * lanes_of<T>;
        std::memcpy(zero, scale_.zero() + begin, smaller(scale_.columns() - begin, lanes_of<T>) * sizeof(T));
        return Pack<T>::load(zero);
    }

    // Mean |z'|^2, the data's own scale.
    double square() const { return scale_.square(); }
    // Takes the z' of a row into it.
    void measure(const Query<T>& z, const T* row, std::uint64_t rounds) {
        lists(z) ? scale_.observe_square(square_of(z), rounds) : scale_.observe_square(row, rounds);
    }

    // How much columns matter, from the slopes in z' that a pool has kept: the slope in rho_k is that in z'_k times
    // z'_k. Of a sparse row only columns that are not 0 are asked, at a cost that grows with their number. Takes the
    // place of z'.
    template <class Pool>
    void learn_relevance(const Query<T>& z, QueryScratch<T>& scratch, const Pool& pool, T times, T rate) {
        constexpr std::size_t at_once = Pool::slopes_at_once;
        const std::size_t d = scale_.columns();
        T* row = scratch.row();
        T* values = scratch.values();
        T slopes[at_once];
        const bool sparse = parts::sparse_rows && z.sparse;
        for (std::size_t k = 0, n = 1; !sparse && k < d; k += n) {
            n = k + at_once <= d ? at_once : 1;
            n == 1 ? pool.template slopes<1>(k, slopes) : pool.template slopes<at_once>(k, slopes);
            for (std::size_t l = 0; l < n; ++l) row[k + l] *= times * slopes[l];
        }
        for (std::size_t n = 0; sparse && n < z.nonzeros; ++n) {
            const auto k = static_cast<std::size_t>(z.columns[n]);
            pool.template slopes<1>(k, slopes);
            values[n] = (zero_at(k) + values[n]) * (times * slopes[0]);
        }
        if (sparse) return relevance_.step(z.columns, values, z.nonzeros, rate);
        relevance_.step(row, rate);
        if (d < Tuning::wide_from) relevance_.refresh();
    }

    // After all steps: measures the scale anew when it is due, and with it what lines and the pool keep of a row of
    // zeros; else that of columns which have moved. Answers whether the scale is another one.
    template <class Lines, class Pool>
    bool refresh(const Query<T>& z, QueryScratch<T>& scratch, std::uint64_t rounds, Lines& lines, Pool& pool) {
        if (parts::sparse_rows && origin_) approach(origin_->crowded, z.sparse ? 0.0 : 1.0, recent_rows(rounds));
        if (!scale_.is_due(rounds)) {
            scale_.refresh_moved(z, [&](std::size_t k, T change) { refresh_column(k, change, lines, pool); });
            return false;
        }
        lines.move_origin(*this, -1.0);
        scale_.refresh(rounds);
        if (parts::sparse_rows && scale_.zero()) {
            if (weighs()) {
                relevance_.centre();
                relevance_.refresh();
                refresh_zero(scratch, pool);
            }
            origin_->from_zero = origin_->crowded < Tuning::Linear::crowded;
            origin_->zero_square = 0.0;
            for (std::size_t k = 0; origin_->from_zero && k < scale_.columns(); ++k)
                origin_->zero_square += static_cast<double>(zero_at(k)) * static_cast<double>(zero_at(k));
        }
        lines.move_origin(*this, 1.0);
        return true;
    }
    // What a pool keeps of a row of zeros. Uses the scratch.
    template <class Pool>
    void refresh_zero(QueryScratch<T>& scratch, Pool& pool) const {
        if (!scale_.zero()) return;
        for (std::size_t k = 0; k < scale_.columns(); ++k) scratch.row()[k] = scale_.zero()[k];
        relevance_.apply(scratch.row(), scratch.row());
        pool.refresh(scratch.row());
    }

    // Calls f(k, mean) for columns that have started with this row, for the first time or again.
    template <class F>
    void for_each_started(F&& f) {
        scale_.for_each_started(f);
    }
    // Which known column has started again with this row, and why: 4 k + change; 0 if none has.
    std::uint32_t take_restarted() { return scale_.take_restarted(); }

    bool valid(std::uint64_t rounds) const {
        return scale_.valid(rounds) && relevance_.valid() && (!origin_ || origin_->valid());
    }

  private:
    // Where rows may be sparse.
    struct Origin {
        double crowded;           // share of the last rows in which more than a quarter of the columns are not 0
        double zero_square;       // |z'|^2 of a row of zeros, if `from_zero`
        std::uint64_t from_zero;  // 1 if linear functions count from the z of a row of zeros

        bool valid() const {
            return crowded >= 0.0 && crowded <= 1.0 && zero_square >= 0.0 && zero_square <= 1e24 && from_zero <= 1;
        }
    };
    static_assert(part_of_state<Origin, 24>);

    // The same as `refresh` for one column.
    template <class Lines, class Pool>
    void refresh_column(std::size_t k, T change, Lines& lines, Pool& pool) {
        const T weighed = weighs() ? change * relevance_.factors()[k] : change;
        pool.refresh_column(k, weighed);
        if (!counts_from_zero()) return;
        const auto now = static_cast<double>(zero_at(k)), before = now - static_cast<double>(weighed);
        origin_->zero_square = larger(origin_->zero_square + (now * now - before * before), 0.0);
        lines.move_origin(k, change);
    }

    // z'_k of a row of zeros.
    T zero_at(std::size_t k) const { return weighs() ? scale_.zero()[k] * relevance_.factors()[k] : scale_.zero()[k]; }
    // |z'|^2 of a row that lists what it adds to a row of zeros.
    double square_of(const Query<T>& z) const {
        double square = origin_->zero_square;
        for (std::size_t n = 0; n < z.nonzeros; ++n) {
            const auto more = static_cast<double>(z.values[n]);
            square += more * (more + 2.0 * static_cast<double>(zero_at(static_cast<std::size_t>(z.columns[n]))));
        }
        return larger(square, 0.0);
    }

    Origin* origin_ = nullptr;  // null if rows are not sparse
    ColumnScale<T> scale_;
    Relevance relevance_;
};

POCKETKERNEL_END
