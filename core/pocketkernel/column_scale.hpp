// ColumnScale: brings every column to the same size, from rows seen before, and tames its outliers.
//
//   m_k, v_k   running mean and variance of column k; beyond `window` rows the oldest fade
//   h_k        running median of |x_k - m_k| over rows where x_k is not 0; what is farther than 32 h_k from the mean
//              counts as that far, so that no outlier can drown a column
//   z_k        2 asinh((x_k - m_k) / (2 sqrt(v_k))), so that 1 deviation is 1 and 1000 are 14; 0 in a constant column
//
// Where rows may be sparse, z is made with m_k and v_k as they were at the last refresh, after every sixteenth part
// more of rows: what is derived from them can be kept for as long.
#pragma once

#include "arena.hpp"
#include "math.hpp"
#include "row.hpp"

POCKETKERNEL_BEGIN

template <class T>
class ColumnScale {
  public:
    static constexpr std::uint64_t window = 65536;

    struct Pace {
        double square, running_square;
        std::uint64_t next;  // round of the next refresh
    };

    ColumnScale() = default;
    // `pace` is part of the state. Rows that may be sparse are scaled through their nonzeros alone.
    ColumnScale(Arena& arena, std::size_t columns, bool may_be_sparse, Pace* pace)
        : columns_(columns),
          mean_(arena.take<T>(columns)),
          variance_(arena.take<T>(columns)),
          usual_(arena.take<T>(columns)),
          centre_(may_be_sparse ? arena.take<T>(columns) : mean_),
          spread_(may_be_sparse ? arena.take<T>(columns) : variance_),
          zero_(may_be_sparse ? arena.take<T>(columns) : nullptr),
          pace_(pace) {}

    void reset() {
        pace_->square = pace_->running_square = static_cast<double>(columns_);
        pace_->next = 1;
    }

    // Takes a dense row into the running figures. It is row number `rounds`, from 1 on.
    void observe(const T* x, std::uint64_t rounds) {
        const double share = 1.0 / static_cast<double>(rounds < window ? rounds : window);
        const Pack<T> rate(static_cast<T>(share)), rest(static_cast<T>(1.0 - share)), nothing(T(0));
        const T step = rounds < 64 ? T(0.125) : T(0.015625);
        const Pack<T> up(T(1) + step), down(T(1) - step), far(T(32));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) {
            const Pack<T> value = Pack<T>::load(x + k), mean = Pack<T>::load(mean_ + k);
            const Pack<T> variance = Pack<T>::load(variance_ + k), usual = Pack<T>::load(usual_ + k);
            const Pack<T> size = absolute(value - mean);
            const Pack<T> moved = select(usual == nothing, size, usual * select(usual < size, up, down));
            const Pack<T> now = select(value == nothing, usual, select(size == nothing, usual, moved));
            const Pack<T> limit = far * larger(now, usual);
            const Pack<T> away = larger(nothing - limit, smaller(value - mean, limit));
            now.store(usual_ + k);
            (mean + away * rate).store(mean_ + k);
            (variance + (away * away * rest - variance) * rate).store(variance_ + k);
        }
    }

    // Turns a dense row into z, in place.
    void apply(T* x) const {
        for (std::size_t k = 0; k < columns_; ++k) x[k] = zero_ && x[k] == T(0) ? zero_[k] : scaled(k, x[k]);
    }
    // The same for a row whose nonzeros are listed in q.
    void apply(const Query<T>& q, T* x) const {
        std::memcpy(x, zero_, columns_ * sizeof(T));
        for (std::size_t n = 0; n < q.nonzeros; ++n) x[q.columns[n]] = scaled(at(q, n), q.values[n]);
    }
    // What a nonzero adds to the z of a row of zeros.
    T beyond_zero(const Query<T>& q, std::size_t n, const T* z) const { return z[at(q, n)] - zero_[at(q, n)]; }
    const T* zero() const { return zero_; }

    // Mean |z|^2, the data's own scale.
    double square() const { return pace_->square; }
    void observe_square(const T* z, std::uint64_t rounds) {
        Pack<T> squares(T(0));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) squares += Pack<T>::load(z + k) * Pack<T>::load(z + k);
        const std::uint64_t rows = rounds + head_start;
        pace_->running_square +=
            (sum(squares) - pace_->running_square) / static_cast<double>(rows < window ? rows : window);
    }

    // Whether it was time to refresh; then z may be another one from now on.
    bool refresh(std::uint64_t rounds) {
        if (rounds < pace_->next) return false;
        const std::uint64_t rows = rounds < window ? rounds : window;
        pace_->next = rounds + 1 + rows / 16;
        pace_->square = pace_->running_square;
        for (std::size_t k = 0; zero_ && k < columns_; ++k) {
            centre_[k] = mean_[k];
            spread_[k] = variance_[k];
            zero_[k] = scaled(k, T(0));
        }
        return true;
    }

    bool valid() const {
        bool good = pace_->square > 0.0 && pace_->running_square > 0.0 &&
                    pace_->square + pace_->running_square < std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < columns_; ++k)
            good = good && finite(mean_[k]) && finite(centre_[k]) && size(variance_[k]) && size(spread_[k]) &&
                   size(usual_[k]) && (!zero_ || finite(zero_[k]));
        return good;
    }

  private:
    static constexpr std::uint64_t head_start = 10;  // rows for which |z|^2 counts as the number of columns

    static bool finite(T value) { return absolute(value) < std::numeric_limits<T>::infinity(); }
    static bool size(T value) { return finite(value) && value >= T(0); }
    static std::size_t at(const Query<T>& q, std::size_t n) { return static_cast<std::size_t>(q.columns[n]); }

    T scaled(std::size_t k, T x) const {
        if (!(spread_[k] > T(0))) return T(0);
        const double v = static_cast<double>((x - centre_[k]) / std::sqrt(spread_[k]));
        const double a = smaller(0.5 * absolute(v), 1e15);
        const double z = 2.0 * logarithm(a + std::sqrt(a * a + 1.0));
        return static_cast<T>(v < 0.0 ? -z : z);
    }

    std::size_t columns_ = 0;
    T* mean_ = nullptr;
    T* variance_ = nullptr;
    T* usual_ = nullptr;   // h
    T* centre_ = nullptr;  // mean and variance that z is made with
    T* spread_ = nullptr;
    T* zero_ = nullptr;  // z of x_k = 0, if rows may be sparse
    Pace* pace_ = nullptr;
};

POCKETKERNEL_END
