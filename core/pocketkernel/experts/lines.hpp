// Lines: linear functions of z, which the linear experts share, with one sum of squares for each column.
//
//   f_r   b_r + sum_k a_rk z_k
//   a_rk  a_rk - rate g_r z_k / sqrt(max(q_k, 1)),   q_k = sum of |g|^2 z_k^2     (AdaGrad, a rate for each column)
//
// Where rows count from a row of zeros (Columns) z is what they add to it. The bias makes up for the difference, and
// takes a part of each step: then a step acts as one in a coordinate on the way between the two. With half of them,
// steps of many columns would carry a bias away that has to be far from 0, as of rare classes.
#pragma once

#include "../columns/columns.hpp"
#include "../hypothesis.hpp"
#include "../tuning.hpp"
#include "roster.hpp"

POCKETKERNEL_BEGIN

template <class T>
class Lines {
  public:
    static constexpr std::size_t fixed =
        parts::kernels == 0 ? 0 : parts::functions + roster_of(Config{}).slow;  // if the program has one configuration
    // Which functions take a step: slopes, the rate, how much the row adds to the sums of squares for it, and how much
    // of that is kept.
    struct Step {
        std::size_t first, end;
        const double* slopes;
        T rate, square, kept;
    };

    Lines() = default;
    // So many functions. Their biases are numbers of the state, the caller's.
    Lines(Arena& arena, std::size_t count, std::size_t columns, double* biases)
        : count_(static_cast<std::uint32_t>(count)),
          columns_(static_cast<std::uint32_t>(columns)),
          biases_(biases),
          coefficients_(arena, count + 1, columns) {}

    void reset() {
        for (std::size_t k = 0; k < columns_; ++k) squares()[k] = T(1);
    }

    std::size_t count() const { return count_; }

    double score(const Columns<T>& columns, const Query<T>& z, std::size_t r) const {
        const T* a = coefficients_.of(r);
        if (columns.lists(z)) {
            double total = 0.0;
            for (std::size_t n = 0; n < z.nonzeros; ++n)
                total += static_cast<double>(a[z.columns[n]]) * static_cast<double>(z.values[n]);
            return total + biases_[r];
        }
        Pack<T> product(T(0));
        for (std::size_t tile = 0; tile < packs_for<T>(columns_); ++tile)
            product +=
                coefficients_.pack(r, tile) * columns.from_origin(Pack<T>::load(z.dense + tile * lanes_of<T>), tile);
        return sum(product) + biases_[r];
    }

    // A step at the row whose z' is in the scratch, or in the query's list; `whole` is what the bias's is divided by
    // the root of.
    void step(const Columns<T>& columns, const Query<T>& z, const T* row, const Step& these, double whole) {
        if (columns.lists(z))
            for (std::size_t n = 0; n < z.nonzeros; ++n) step_column(columns, z, n, these);
        else
            step_columns(columns, row, these);
        for (std::size_t r = these.first, n = 0; r < these.end; ++r, ++n)
            biases_[r] -= static_cast<double>(these.rate) * these.slopes[n] / std::sqrt(whole);
    }

    // Biases take over what the functions make of a row of zeros (sign -1), or hand it back (1).
    void move_origin(const Columns<T>& columns, double sign) {
        for (std::size_t r = 0; columns.counts_from_zero() && r < count_; ++r)
            for (std::size_t k = 0; k < columns_; ++k)
                biases_[r] +=
                    sign * (static_cast<double>(coefficients_.of(r)[k]) * static_cast<double>(columns.zero()[k]));
    }
    // The same for one column of it that has changed.
    void move_origin(std::size_t k, T change) {
        for (std::size_t r = 0; r < count_; ++r)
            biases_[r] += static_cast<double>(coefficients_.of(r)[k]) * static_cast<double>(change);
    }

    // Keeps a part of the sums of squares, so that later steps are longer.
    void hurry(double keep) {
        for (std::size_t k = 0; k < columns_; ++k) squares()[k] = larger(T(keep) * squares()[k], T(1));
    }

    double norm2(std::size_t first, std::size_t end) const {
        double total = 0.0;
        for (std::size_t r = first; r < end; ++r) {
            total += biases_[r] * biases_[r];
            for (std::size_t k = 0; k < columns_; ++k)
                total += static_cast<double>(coefficients_.of(r)[k]) * static_cast<double>(coefficients_.of(r)[k]);
        }
        return total;
    }

    bool valid(double most) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = coefficients_.finite(most * most);
        for (std::size_t r = 0; r < count_; ++r) {
            good = good && within(biases_[r], -most, most);
            for (std::size_t k = 0; k < columns_; ++k)
                good = good && within(static_cast<double>(coefficients_.of(r)[k]), -most, most);
        }
        for (std::size_t k = 0; k < columns_; ++k)
            good = good && within(static_cast<double>(squares()[k]), 1.0, most * most);
        return good;
    }

  private:
    // Behind the last function.
    T* squares() { return coefficients_.of(count_); }
    const T* squares() const { return coefficients_.of(count_); }

    void step_column(const Columns<T>& columns, const Query<T>& z, std::size_t n, const Step& these) {
        const auto k = static_cast<std::size_t>(z.columns[n]);
        const T x =
            columns.weighs() ? z.values[n] / columns.factors()[k] : z.values[n];  // what stands there is weighed
        const T before = squares()[k], total = before + these.square * (x * x);
        squares()[k] = before + these.kept * (x * x);
        const T step = these.rate * x / std::sqrt(larger(total, T(1)));
        for (std::size_t r = these.first, g = 0; r < these.end; ++r, ++g) {
            const T down = step * static_cast<T>(these.slopes[g]);
            coefficients_.of(r)[k] -= down;
            biases_[r] -= static_cast<double>(T(Tuning::Linear::share_of_bias) * (down * columns.zero()[k]));
        }
    }
    void step_columns(const Columns<T>& columns, const T* z, const Step& these) {
        const T rate = these.rate, square = these.square, kept = these.kept;
        for (std::size_t tile = 0; tile < packs_for<T>(columns_); ++tile) {
            Pack<T> x = Pack<T>::load(z + tile * lanes_of<T>);
            if (columns.weighs())
                x = x / Pack<T>::load(columns.factors() + tile * lanes_of<T>);  // what stands there is z'
            x = columns.from_origin(x, tile);
            Pack<T> total = coefficients_.pack(count_, tile);
            lanewise(
                [=](auto& step, auto& sum) POCKETKERNEL_FLAT {
                    using V = std::decay_t<decltype(step)>;
                    const V x2 = step * step, whole = sum + V(square) * x2;
                    sum = sum + V(kept) * x2;
                    step = V(rate) * step / square_root(larger(whole, V(T(1))));
                },
                x, total);
            total.store(squares() + tile * lanes_of<T>);
            for (std::size_t r = these.first, n = 0; r < these.end; ++r, ++n) {
                Pack<T> a = coefficients_.pack(r, tile);
                const T slope = static_cast<T>(these.slopes[n]);
                lanewise([=](auto& t, const auto& step)
                             POCKETKERNEL_FLAT { t = t - step * std::decay_t<decltype(t)>(slope); },
                         a, x);
                a.store(coefficients_.of(r) + tile * lanes_of<T>);
                if (columns.counts_from_zero())
                    biases_[r] -=
                        sum(Pack<T>(T(Tuning::Linear::share_of_bias)) * (x * Pack<T>(slope) * columns.zero_pack(tile)));
            }
        }
    }

    Known<fixed, std::uint32_t> count_{0};
    Known<parts::features, std::uint32_t> columns_{0};
    double* biases_ = nullptr;
    Coefficients<T> coefficients_;  // a row for each function; the last row: sums of squares
};

POCKETKERNEL_END
