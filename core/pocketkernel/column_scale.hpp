// ColumnScale: reads a row and brings every column to the same size, from rows seen before.
//
//   m_k, s_k   running mean and deviation of column k over its last `window` rows or so; n_k rows are in them
//   h_k        running median of |x_k - x_k of the row before|, over rows where neither it nor x_k is 0; what is
//              farther from the mean than 24 h_k and 4 s_k counts as that far, so that no outlier can drown a column;
//              the first zeros after other values count as they are
//   z_k        2 asinh((x_k - m_k) / (2 s_k)), so that 1 deviation is 1 and 1000 are 14; 0 in a constant column
//
// The mean, the value of the row before, and the differences to both are taken in double precision whatever T is: a
// column keeps its digits however far from 0, or from its mean, it lies. Everything else is relative to s_k, so units
// from 1e-30 to 1e30 are alike.
//
// Two tests tell when a column has changed its units or its level; it then starts again, as in a new learner, and soon
// z means again what it meant when the coefficients were learned. Both take rows for independent ones, and those of a
// column that moves on are not: dates, counters, the time of day on its circle. So what speaks for a change counts only
// where x_k has turned, going up after it went down or down after it went up. Of independent rows two in three turn.
//   beyond   sum of min(((x_k - m_k) / s_k)^2, 16) - 4, never below 0. By the definition of s_k the square is 1 in the
//            mean. It takes 512, of which a row adds at most 12: far values count if they are the rule.
//   unlike   how many more rows had |x_k - x_k of the row before| > 8 h_k, or (then negative) < h_k / 2, than not; the
//            latter count twice. It takes 32. Half of the rows are above h_k and half below: if all of one half were
//            unlike, and rows independent, 32 would be reached once in 7e10 rows (2.186^32). Rows where x_k is 0, or
//            the same as before, do not count, as they are so in any unit: columns that are rare, stand still or have
//            two values have a test too. In the first 256 rows h_k follows so fast that it may reach its new size
//            before 32, while s_k is that of a few first rows for long. Then s_k > 8 h_k, and nothing is far: rows with
//            |x_k - m_k| < s_k / 2 count as below h_k / 2, and any other begins the count anew.
//
// NaN is a missing value: its z is 0, as if it were the usual one, and it leaves the column as it is.
//
// Where rows may be sparse, z is made with m_k and s_k as they were at the last refresh, after every sixteenth part
// more of rows, or when the column has moved far: what is derived from them can be kept for as long. There, a row's
// zeros are not taken in one by one: a column makes up for them when it next has another value, or at the refresh.
#pragma once

#include "arena.hpp"
#include "math.hpp"
#include "row.hpp"

POCKETKERNEL_BEGIN

template <class T>
class ColumnScale {
  public:
    static constexpr double window = 65535.0;
    static constexpr double farthest = 71.0;  // |z_k| is below
    // Values that can be scaled: deviations and sizes are kept in T.
    static constexpr double value_limit = sizeof(T) == sizeof(float) ? 1e36 : 1e70;

    struct Pace {
        double square, running_square;
        std::uint64_t next;  // round of the next refresh
    };

    ColumnScale() = default;
    // `pace` is part of the state. Rows that may be sparse are scaled through their nonzeros alone.
    ColumnScale(Arena& arena, std::size_t columns, bool may_be_sparse, Pace* pace)
        : columns_(columns),
          mean_(arena.take<double>(2, padded<T>(columns))),  // as many as T has in whole packs
          figures_(arena.take<T>(figures * padded<T>(columns))),
          centre_(may_be_sparse ? arena.take<double>(padded<T>(columns)) : nullptr),
          spread_(may_be_sparse ? arena.take<T>(columns) : nullptr),
          zero_(may_be_sparse ? arena.take<T>(columns) : nullptr),
          rows_(may_be_sparse ? arena.take<std::uint32_t>(columns) : nullptr),
          pace_(pace) {}

    std::size_t columns() const { return columns_; }

    void reset() {
        pace_->square = pace_->running_square = static_cast<double>(columns_);
        pace_->next = 1;
    }

    // The z of a row, in the scratch's dense row. If few columns are not 0, the query lists them, with what each adds
    // to the z of a row of zeros; then the dense row is made only if it is needed as well, at the cost of a dense one.
    // Each of the caller's numbers is read once.
    template <class U>
    Query<T> read(const Row<U>& row, QueryScratch<T>& scratch, bool needs_dense = true) const {
        return parts::sparse_rows && zero_ ? for_each_batch(row, scratch, needs_dense, [](const Batch&) {})
                                           : for_each_tile(row, scratch, [](std::size_t, const double*) {});
    }
    // The same, and takes the row into the running figures. It is row number `rounds`, from 1 on.
    template <class U>
    Query<T> learn(const Row<U>& row, QueryScratch<T>& scratch, std::uint64_t rounds, bool needs_dense = true) {
        const auto now = static_cast<std::uint32_t>(rounds);
        if (!parts::sparse_rows || !zero_)
            return for_each_tile(row, scratch, [&](std::size_t begin, const double* x) {
                if (observe(cells_at(begin), x)) restart_some(begin, x);
            });
        return for_each_batch(row, scratch, needs_dense, [&](const Batch& batch) { observe(batch, now); });
    }

    // Scratch, for a learner that asks which columns have started.
    void plan(Arena& arena) { started_ = arena.take<bool>(columns_); }
    // After `refresh`: calls f(k, mean) for the columns that have started with this row, for the first time or again.
    template <class F>
    void for_each_started(F&& f) {
        if (!some_started_) return;
        some_started_ = false;
        for (std::size_t k = 0; k < columns_; ++k)
            if (started_[k]) {
                f(k, mean_[k]);
                started_[k] = false;
            }
    }
    // What has changed in a column that was known and has started again: its level, or how far it varies.
    enum Change : std::uint8_t { unchanged, other_level, varies_more, varies_less };
    // The first one of this row as 4 k + change, 0 if there is none.
    std::uint32_t take_restarted() {
        const std::uint32_t was = restarted_;
        restarted_ = 0;
        return was;
    }

    // z of a row of zeros, if rows may be sparse.
    const T* zero() const { return zero_; }

    // Mean |z|^2 (of z as the caller weighs its columns), the data's own scale.
    double square() const { return pace_->square; }
    // A row counts at most as 16 usual ones.
    void observe_square(const T* z, std::uint64_t rounds) {
        Pack<T> squares(T(0));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) squares += Pack<T>::load(z + k) * Pack<T>::load(z + k);
        observe_square(sum(squares), rounds);
    }
    void observe_square(double square, std::uint64_t rounds) {
        const double before = pace_->running_square;
        const double now = before + (smaller(square, 16.0 * before) - before) /
                                        smaller(static_cast<double>(rounds) + head_start, window);
        pace_->running_square = larger(now, least_square);
    }

    bool is_due(std::uint64_t rounds) const { return rounds >= pace_->next; }
    // Whether it was time to refresh; then z may be another one from now on.
    bool refresh(std::uint64_t rounds) {
        if (!is_due(rounds)) return false;
        pace_->next = rounds + 1 + static_cast<std::uint64_t>(smaller(static_cast<double>(rounds), window)) / 16;
        pace_->square = pace_->running_square;
        for (std::size_t k = 0; parts::sparse_rows && zero_ && k < columns_; ++k) {
            make_up(k, static_cast<std::uint32_t>(rounds));
            refresh_column(k);
        }
        return true;
    }
    // Between refreshes: calls f(k, change of zero_k) for columns whose z has moved by more than a quarter. They are
    // among those of the row that was learned, as it was read.
    template <class F>
    void refresh_moved(const Query<T>& row, F&& f) {
        if (!parts::sparse_rows || !moved_) return;
        moved_ = false;
        const std::size_t count = row.sparse ? row.nonzeros : columns_;
        for (std::size_t n = 0; n < count; ++n) {
            const std::size_t k = row.sparse ? static_cast<std::size_t>(row.columns[n]) : n;
            if (!has_moved(k)) continue;
            const T before = zero_[k];
            refresh_column(k);
            f(k, zero_[k] - before);
        }
    }

    bool valid(std::uint64_t rounds) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = within(pace_->square, least_square, most_square) &&
                    within(pace_->running_square, least_square, most_square);
        for (std::size_t k = 0; k < columns_; ++k) {
            T n, unlike;
            part(age()[k], n, unlike);
            good = good && within(mean_[k], -value_limit, value_limit) &&
                   within(last()[k], -value_limit, value_limit) && size(deviation()[k]) && size(absolute(usual()[k])) &&
                   within(n, 0.0, window) && within(unlike, -most_unlike, most_unlike) &&
                   within(beyond()[k], 0.0, most_beyond);
            if (parts::sparse_rows && zero_)
                good = good && within(centre_[k], -value_limit, value_limit) && size(spread_[k]) &&
                       within(zero_[k], -farthest, farthest) && static_cast<std::uint32_t>(rounds) - rows_[k] <= 65536;
        }
        return good;
    }

  private:
    static constexpr std::size_t figures = 4;
    static constexpr double head_start = 10.0;  // rows for which |z|^2 counts as the number of columns
    static constexpr double least_square = 1e-3, most_square = 1e13;
    static constexpr double most_beyond = 512.0, most_unlike = 32.0;
    static constexpr double rounding = 4.0 * 1.1102230246251565e-16;  // of a double
    static constexpr double least_rows = 32.0;                        // before which there are no tests
    static constexpr double first_rows = 256.0;                       // a few of which may have made the deviation
    static constexpr double forgetting = -1.0 / (window - 0.5);       // ln(1 - 1 / window), nearly

    static bool size(T value) { return value >= T(0) && value <= T(4.0 * value_limit); }

    double* last() const { return mean_ + padded<T>(columns_); }      // x of the row before
    T* deviation() const { return figures_; }                         // s
    T* usual() const { return figures_ + padded<T>(columns_); }       // h, negative if the last change was down
    T* beyond() const { return figures_ + 2 * padded<T>(columns_); }  // evidence
    T* age() const { return figures_ + 3 * padded<T>(columns_); }     // n + unlike / 256, exact in single precision

    template <class V>
    static POCKETKERNEL_INLINE void part(const V& age, V& n, V& unlike) {
        const V magic(MathConstants<Element<V>>::round_magic);
        n = (age + magic) - magic;
        unlike = (age - n) * V(Element<V>(256));
    }

    // The figures of a tile of columns.
    struct Cells {
        double *mean, *last;
        T *deviation, *usual, *beyond, *age;
    };
    Cells cells_at(std::size_t k) const {
        return {mean_ + k, last() + k, deviation() + k, usual() + k, beyond() + k, age() + k};
    }

    // Columns of a row that have a value, up to a tile of them; then zeros.
    struct Batch {
        std::size_t size = 0;
        std::size_t column[lanes_of<T>];
        alignas(pack_bytes) double x[lanes_of<T>];
    };

    // Goes through the row tile by tile: copies the caller's numbers (-0.0 as 0, which is not listed in sparse rows),
    // makes their z, and hands them to f.
    template <class U, class F>
    Query<T> for_each_tile(const Row<U>& row, QueryScratch<T>& scratch, F&& f) const {
        Query<T> q;
        T* z = scratch.row();
        std::size_t next = 0;
        for (std::size_t begin = 0; begin < columns_; begin += lanes_of<T>) {
            const std::size_t count = columns_ - begin < lanes_of<T> ? columns_ - begin : lanes_of<T>;
            alignas(pack_bytes) double x[lanes_of<T>] = {};
            if (!parts::sparse_rows || !row.columns)
                for (std::size_t l = 0; l < count; ++l) x[l] = static_cast<double>(row.values[begin + l] + U(0));
            else
                for (; next < row.nonzeros; ++next) {
                    // Whatever the column is by now, it is stored within this tile or not at all.
                    const std::size_t l = static_cast<std::size_t>(row.columns[next]) - begin;
                    if (l >= count) break;
                    x[l] = static_cast<double>(row.values[next] + U(0));
                }
            scaled(x, mean_ + begin, deviation() + begin).store(z + begin);
            f(begin, x);
        }
        q.dense = z;
        return q;
    }

    // The same where rows may be sparse: through the values that are not 0 alone, which are listed if they are few.
    template <class U, class F>
    Query<T> for_each_batch(const Row<U>& row, QueryScratch<T>& scratch, bool needs_dense, F&& f) const {
        Query<T> q;
        T* z = needs_dense || !row.columns || row.nonzeros > scratch.capacity() ? scratch.row() : nullptr;
        std::size_t nonzeros = 0;
        if (z) std::memcpy(z, zero_, columns_ * sizeof(T));
        Batch batch;
        const auto finish = [&] {
            alignas(pack_bytes) double centre[lanes_of<T>] = {};
            alignas(pack_bytes) T spread[lanes_of<T>] = {}, of_batch[lanes_of<T>];
            for (std::size_t l = batch.size; l < lanes_of<T>; ++l) batch.x[l] = 0.0;
            for (std::size_t l = 0; l < batch.size; ++l) {
                centre[l] = centre_[batch.column[l]];
                spread[l] = spread_[batch.column[l]];
            }
            scaled(batch.x, centre, spread).store(of_batch);
            for (std::size_t l = 0; l < batch.size; ++l, ++nonzeros) {
                const std::size_t k = batch.column[l];
                if (z) z[k] = of_batch[l];
                if (nonzeros >= scratch.capacity()) continue;
                scratch.columns()[nonzeros] = static_cast<std::int32_t>(k);
                scratch.values()[nonzeros] = of_batch[l] - zero_[k];
            }
            f(batch);
            batch.size = 0;
        };
        const auto take = [&](std::size_t k, double x) {
            if (k >= columns_ || x == 0.0) return;  // whatever the caller has made of the column by now
            batch.column[batch.size] = k;
            batch.x[batch.size++] = x;
            if (batch.size == lanes_of<T>) finish();
        };
        if (row.columns)
            for (std::size_t n = 0; n < row.nonzeros; ++n)
                take(static_cast<std::size_t>(read_once(row.columns + n)),
                     static_cast<double>(read_once(row.values + n)));
        else
            for (std::size_t k = 0; k < columns_; ++k) take(k, static_cast<double>(read_once(row.values + k)));
        if (batch.size > 0) finish();
        q.dense = z;
        q.values = scratch.values();
        q.columns = scratch.columns();
        q.sparse = nonzeros <= scratch.capacity();
        q.nonzeros = q.sparse ? nonzeros : 0;
        return q;
    }

    // z of a tile of values.
    static POCKETKERNEL_INLINE Pack<T> scaled(const double* x, const double* centre, const T* spread) {
#if POCKETKERNEL_REGISTER_BYTES == 0
        Pack<T> z;
        for (std::size_t l = 0; l < lanes_of<T>; ++l)
            z.r[l] = static_cast<T>(scaled(x[l], centre[l], static_cast<double>(spread[l])));
        return z;
#else
        const Wide<T> values = Wide<T>::load(x), centres = Wide<T>::load(centre),
                      spreads = widen(Pack<T>::load(spread));
        Wide<T> z;
        for (std::size_t i = 0; i < Wide<T>::parts; ++i)
            lanewise([](auto& out, const auto& in, const auto& c, const auto& of)
                         POCKETKERNEL_FLAT { out = scaled(in, c, of); },
                     z.p[i], values.p[i], centres.p[i], spreads.p[i]);
        return narrow(z);
#endif
    }
    template <class V>
    static POCKETKERNEL_INLINE V scaled(const V& x, const V& centre, const V& spread) {
        const V zero(0.0), one(1.0);
        const auto varies = zero < spread;
        if constexpr (std::is_same<V, double>::value)
            if (!varies) return zero;
        const V v = (x - centre) / select(varies, spread, one);
        const V a = smaller(V(0.5) * absolute(v), V(1e15));
        const V z = V(2.0) * logarithm(a + square_root(a * a + one));
        return select(varies, select(x == x, z * select(v < zero, zero - one, one), zero), zero);
    }

    void refresh_column(std::size_t k) {
        centre_[k] = mean_[k];
        spread_[k] = deviation()[k];
        zero_[k] = static_cast<T>(scaled(0.0, mean_[k], static_cast<double>(spread_[k])));
    }

    // Takes the columns of a batch into the running figures of row `now`, after their zeros since: where they are if
    // they are a tile without such zeros, else in a copy.
    void observe(const Batch& batch, std::uint32_t now) {
        constexpr std::size_t W = lanes_of<T>;
        const std::size_t first = batch.column[0], size = batch.size;
        alignas(pack_bytes) double zeros[W] = {};
        bool some = false, due = false;
        for (std::size_t l = 0; l < size; ++l) {
            zeros[l] = static_cast<double>(now - 1 - rows_[batch.column[l]]);
            some = some || zeros[l] > 0.0;
        }
        if (!some && size == W && first % W == 0 && batch.column[W - 1] == first + W - 1) {
            due = observe(cells_at(first), batch.x);
        } else {
            alignas(pack_bytes) double mean[W] = {}, before[W] = {};
            alignas(pack_bytes) T figure[figures][W] = {};
            for (std::size_t l = size; l < W; ++l) figure[3][l] = T(1);
            const Cells cells{mean, before, figure[0], figure[1], figure[2], figure[3]};
            const auto gather = [&] {
                for (std::size_t l = 0; l < size; ++l) {
                    mean[l] = mean_[batch.column[l]];
                    before[l] = last()[batch.column[l]];
                    for (std::size_t n = 0; n < figures; ++n) figure[n][l] = figure_of(n, batch.column[l]);
                }
            };
            gather();
            if (some && !make_up(cells, zeros)) {
                for (std::size_t l = 0; l < size; ++l) make_up(batch.column[l], now - 1);
                gather();
            }
            due = observe(cells, batch.x);
            for (std::size_t l = 0; l < size; ++l) {
                mean_[batch.column[l]] = mean[l];
                last()[batch.column[l]] = before[l];
                for (std::size_t n = 0; n < figures; ++n) figure_of(n, batch.column[l]) = figure[n][l];
            }
        }
        for (std::size_t l = 0; l < size; ++l) {
            const std::size_t k = batch.column[l];
            rows_[k] = now;
            if (due) restart_if_due(k, batch.x[l]);
            moved_ = moved_ || has_moved(k);
        }
    }
    T& figure_of(std::size_t figure, std::size_t k) { return figures_[figure * padded<T>(columns_) + k]; }

    // Takes in the zeros of column k up to row `until`: one by one while they are unusual, then all at once. With f the
    // share that the rows before keep, m rows of zeros make the mean f m and the variance f (s^2 + (1 - f) m^2).
    void make_up(std::size_t k, std::uint32_t until) {
        std::uint32_t zeros = until - rows_[k];
        if (zeros == 0) return;
        rows_[k] = until;
        T age_now, unlike;
        part(age()[k], age_now, unlike);
        double m = mean_[k], s = static_cast<double>(deviation()[k]), e = static_cast<double>(beyond()[k]);
        auto n = static_cast<double>(age_now);
        bool turned = turn(k);
        for (; zeros > 0 && m * m > 4.0 * s * s; --zeros, turned = false) {
            const double most = larger(24.0 * static_cast<double>(absolute(usual()[k])), 4.0 * s);
            const double limit = most > 0.0 ? most : absolute(m), away = larger(-limit, smaller(-m, limit)),
                         ratio = smaller(absolute(m) / larger(s, 1e-300), 4.0);
            const bool known = n >= first_rows;
            e = n < least_rows ? 0.0 : turned ? larger(e + ratio * ratio - 4.0, 0.0) : e;
            n = smaller(n + 1.0, window);
            s = std::sqrt((1.0 - 1.0 / n) * (s * s + away * away / n));
            m += away / n;
            if (e < most_beyond) continue;
            m = s = e = 0.0;
            n = 1.0;
            unlike = usual()[k] = T(0);
            note_start(k, known, other_level);
        }
        if (zeros > 0) {
            const auto more = static_cast<double>(zeros);
            const double within = smaller(more, window - n);
            double f = n / larger(n + within, 1.0);
            if (more > within) f *= exponential((more - within) * forgetting);
            if (e > 0.0) e = larger(e - more * (4.0 - m * m / (s * s)), 0.0);
            s = std::sqrt(f * (s * s + (1.0 - f) * (m * m)));
            m *= f;
            n += within;
        }
        mean_[k] = m;
        deviation()[k] = static_cast<T>(s);
        beyond()[k] = static_cast<T>(e);
        last()[k] = 0.0;
        age()[k] = static_cast<T>(n) + unlike * T(1.0 / 256);
    }

    // Notes that column k goes to 0 from where it is; answers whether it turns there.
    bool turn(std::size_t k) {
        T& h = usual()[k];
        const bool turned = last()[k] < 0.0 ? h < T(0) : last()[k] > 0.0 && h > T(0);
        if (turned) h = -h;
        return turned;
    }

    // The same for a tile of columns with so many zeros each; false, with nothing done, if one has unusual zeros.
    bool make_up(const Cells& cells, const double* zeros) {
        using D = Pack<double>;
        const D nothing(0.0), one(1.0), four(4.0);
        Pack<T> age_now, unlike;
        part(Pack<T>::load(cells.age), age_now, unlike);
        Wide<T> m = Wide<T>::load(cells.mean), s = widen(Pack<T>::load(cells.deviation));
        for (std::size_t i = 0; i < Wide<T>::parts; ++i) {
            const D usual = four * s.p[i] * s.p[i] - m.p[i] * m.p[i];
            if (smallest_lane(select(D::load(zeros + i * lanes_of<double>) == nothing, nothing, usual)) < 0.0)
                return false;
        }
        Wide<T> n = widen(age_now), e = widen(Pack<T>::load(cells.beyond)), h = widen(Pack<T>::load(cells.usual));
        for (std::size_t i = 0; i < Wide<T>::parts; ++i) {
            const D more = D::load(zeros + i * lanes_of<double>), squares = s.p[i] * s.p[i], mean2 = m.p[i] * m.p[i];
            const Mask<double> none = more == nothing;
            const D within = smaller(more, D(window) - n.p[i]);
            D f = n.p[i] / larger(n.p[i] + within, one);
            if (smallest_lane(within - more) < 0.0)
                f = select(within < more, f * exponential((more - within) * D(forgetting)), f);
            const D calmer = larger(e.p[i] - more * (four - mean2 / squares), nothing);
            const D deviation = square_root(f * (squares + (one - f) * mean2)), mean = m.p[i] * f;
            e.p[i] = select(nothing < e.p[i], calmer, e.p[i]);
            s.p[i] = select(none, s.p[i], deviation);
            m.p[i] = select(none, m.p[i], mean);
            n.p[i] = select(none, n.p[i], n.p[i] + within);
            m.p[i].store(cells.mean + i * lanes_of<double>);
            double* of_row = cells.last + i * lanes_of<double>;
            const D before = D::load(of_row), size = absolute(h.p[i]);
            const D down = select(nothing < before, nothing - size, select(before < nothing, size, h.p[i]));
            h.p[i] = select(none, h.p[i], down);
            select(none, before, nothing).store(of_row);
        }
        narrow(h).store(cells.usual);
        narrow(s).store(cells.deviation);
        narrow(e).store(cells.beyond);
        (narrow(n) + unlike * Pack<T>(T(1.0 / 256))).store(cells.age);
        return true;
    }

    // Takes a tile of a row into the running figures. Answers whether a column of it may have to start again.
    POCKETKERNEL_APART bool observe(const Cells& cells, const double* x) {
#if POCKETKERNEL_REGISTER_BYTES == 0
        bool all_calm = true;
        for (std::size_t l = 0; l < lanes_of<T>; ++l) {
            const double given = x[l] == x[l] ? x[l] : cells.mean[l];
            T shift, calm;
            follow(static_cast<T>(given), static_cast<T>(given - cells.mean[l]), static_cast<T>(given - cells.last[l]),
                   static_cast<T>(x[l]), cells.deviation[l], cells.usual[l], cells.beyond[l], cells.age[l], shift,
                   calm);
            cells.mean[l] += static_cast<double>(shift);
            if (x[l] == x[l]) cells.last[l] = x[l];
            all_calm = all_calm && calm > T(0);
        }
        return !all_calm;
#else
        using P = Pack<T>;
        Wide<T> given = Wide<T>::load(x), difference = Wide<T>::zero(), change = Wide<T>::zero();
        const Wide<T> mean = Wide<T>::load(cells.mean);
        const P raw = narrow(given);
        for (std::size_t i = 0; i < Wide<T>::parts; ++i) {
            double* of_row = cells.last + i * lanes_of<double>;
            const Pack<double> before = Pack<double>::load(of_row);
            const Mask<double> known = given.p[i] == given.p[i];
            given.p[i] = select(known, given.p[i], mean.p[i]);  // to compute with, not to keep
            difference.p[i] = given.p[i] - mean.p[i];
            change.p[i] = given.p[i] - before;
            select(known, given.p[i], before).store(of_row);
        }
        const P gap = narrow(difference), step = narrow(change);
        const P value = narrow(given);  // a value that rounds to 0 counts as 0
        P s = P::load(cells.deviation), h = P::load(cells.usual), e = P::load(cells.beyond);
        P ages = P::load(cells.age), away, calm;
        lanewise([](auto&... columns) POCKETKERNEL_FLAT { follow(columns...); }, value, gap, step, raw, s, h, e, ages,
                 away, calm);
        s.store(cells.deviation);
        h.store(cells.usual);
        e.store(cells.beyond);
        ages.store(cells.age);
        const Wide<T> shift = widen(away);
        for (std::size_t i = 0; i < Wide<T>::parts; ++i) {
            const Pack<double> moved = mean.p[i] + shift.p[i];
            moved.store(cells.mean + i * lanes_of<double>);
        }
        return !(smallest_lane(calm) > T(0));
#endif
    }

    // The figures of a column after a value, and what its mean changes by. A column may have to start again if `calm`
    // is not positive. Missing values change nothing.
    template <class P>
    static POCKETKERNEL_INLINE void follow(const P& value, const P& gap, const P& change, const P& raw, P& deviation,
                                           P& usual, P& beyond, P& age, P& shift, P& calm) {
        const P zero(T(0)), one(T(1)), two(T(2)), s = deviation, h = absolute(usual), e = beyond;
        // What may be the rounding of a column that was computed, such as a cosine, is no change.
        const P gone = absolute(change), least = P(T(rounding)) * absolute(value);
        const P jump = select(least < gone, gone, zero);
        const auto known = raw == raw, down = change < zero;
        // Positive if it goes another way than before; then rows count that speak for a change.
        const P turned = select(jump == zero, zero, select(down, usual, zero - usual));
        P n, unlike;
        part(age, n, unlike);
        const P far = absolute(gap);

        // From an eighth to a 256th: first the median is to be found, then kept.
        const P rows = smaller(n + one, P(T(window))), rate = one / rows;
        const P step = larger(smaller(rate * P(T(16)), P(T(0.125))), P(T(1.0 / 256)));
        const P moved = select(h == zero, jump, h + select(h < jump, h * step, zero - h * step));
        const P now = select(value == zero, h, select(jump == zero, h, moved));
        const P most = larger(larger(now, h) * P(T(24)), s * P(T(4)));
        const P limit = select(most == zero, far, most);
        const P away = larger(zero - limit, smaller(gap, limit));

        const P old = select(n < P(T(least_rows)), zero, one);
        const P ratio = smaller(far / larger(s, P(std::numeric_limits<T>::min())), P(T(4)));
        const P farther = ratio * ratio - P(T(4)), counts = select(zero < turned, farther, smaller(farther, zero));
        const P evidence = larger((e + counts) * old, zero);
        const P most_h = h * P(T(8)), least_h = h * P(T(0.5));
        const P more = select(zero < turned, larger(unlike, zero) + one, unlike);
        const P less = select(zero < turned, smaller(unlike, zero) - one, unlike);
        const P near = select(n < P(T(first_rows)), select(most_h < s, s * P(T(0.5)), zero), zero);
        const P toward = select(unlike < zero, smaller(unlike + two, zero), larger(unlike - two, zero));
        const P other = select(far < near, less, select(zero < near, zero, toward));
        const P counted = select(most_h < jump, more, select(jump < least_h, less, other));
        const P count = select(value == zero, unlike, select(jump == zero, unlike, counted)) * old;

        // s^2 <- (1 - rate) (s^2 + rate away^2), in units of the larger one lest squares overflow.
        const P unit = larger(larger(s, absolute(away)), P(std::numeric_limits<T>::min()));
        const P a = s / unit, b = away / unit;
        deviation = select(known, unit * square_root((one - rate) * (a * a + rate * (b * b))), s);
        usual = select(known, select(jump == zero, usual, select(down, zero - now, now)), usual);
        beyond = select(known, evidence, e);
        age = select(known, rows + count * P(T(1.0 / 256)), age);
        shift = away * rate;
        calm = smaller(smaller(P(T(most_beyond)) - evidence, P(T(most_unlike)) - absolute(count)), n - P(T(0.5)));
    }
    bool has_moved(std::size_t k) const {
        const T s = deviation()[k];
        return absolute(static_cast<T>(mean_[k] - centre_[k])) > T(0.25) * s || absolute(s - spread_[k]) > T(0.25) * s;
    }

    void restart_some(std::size_t begin, const double* x) {
        for (std::size_t l = 0; l < lanes_of<T> && begin + l < columns_; ++l) restart_if_due(begin + l, x[l]);
    }
    void restart_if_due(std::size_t k, double x) {
        T n, unlike;
        part(age()[k], n, unlike);
        if (x != x) return;
        const bool far = !(beyond()[k] < T(most_beyond));
        if (n > T(1) && !far && absolute(unlike) < T(most_unlike)) return;
        note_start(k, n >= T(first_rows), far ? other_level : unlike > T(0) ? varies_more : varies_less);
        mean_[k] = last()[k] = x;
        deviation()[k] = usual()[k] = beyond()[k] = T(0);
        age()[k] = T(1);
    }

    void note_start(std::size_t k, bool again, Change change) {
        if (again && restarted_ == 0) restarted_ = static_cast<std::uint32_t>(4 * k + change);
        some_started_ = true;
        if (started_) started_[k] = true;
    }

    Known<parts::features> columns_{0};
    double* mean_ = nullptr;
    T* figures_ = nullptr;
    double* centre_ = nullptr;  // mean and deviation that z is made with; null if they are the running ones
    T* spread_ = nullptr;
    T* zero_ = nullptr;              // z of 0
    std::uint32_t* rows_ = nullptr;  // the row up to which a column's figures are
    Pace* pace_ = nullptr;
    bool* started_ = nullptr;  // of columns, if anybody asks
    // Whether some column's z has moved; some have started; of the first that has started again, 4 k and what changed.
    // Settled within the row.
    bool moved_ = false, some_started_ = false;
    std::uint32_t restarted_ = 0;
};

POCKETKERNEL_END
