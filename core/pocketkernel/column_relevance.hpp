// ColumnRelevance: how much each column counts in distances, learned by gradient.
//
//   rho_k   of column k, within [-5, 3], 0 in the mean; features see z'_k = e^rho_k z_k instead of z_k
//   G_k     slope of the loss in rho_k
//   rho_k   rho_k - rate G_k / sqrt(v_k),  v_k = keep v_k + floor + G_k^2     (AdaGrad, with forgetting if keep < 1)
//
// The pace is a type with `start`, `keep` and `floor`, see Tuning. v_k starts at `start`: a small number makes the
// first steps long, 1 waits for evidence. The factors e^rho_k may be kept for a while, for those who derive something
// from them: `refresh` makes them anew.
#pragma once

#include "arena.hpp"
#include "math.hpp"
#include "parts.hpp"
#include "tuning.hpp"

POCKETKERNEL_BEGIN

template <class T, class Pace>
class ColumnRelevance {
  public:
    ColumnRelevance() = default;
    ColumnRelevance(Arena& arena, std::size_t columns)
        : columns_(columns),
          rho_(arena.take<T>(padded<T>(columns))),
          squares_(arena.take<T>(padded<T>(columns))),
          factors_(arena.take<T>(padded<T>(columns))) {}

    void reset() {
        for (std::size_t k = 0; k < padded<T>(columns_); ++k) {
            squares_[k] = static_cast<T>(Pace::start);
            factors_[k] = T(1);
        }
    }

    std::size_t columns() const { return columns_; }
    const T* factors() const { return factors_; }  // e^rho

    // The weighed columns of a row, which may take its place. Both have room for whole packs.
    void apply(const T* z, T* weighed) const {
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>)
            (Pack<T>::load(factors_ + k) * Pack<T>::load(z + k)).store(weighed + k);
    }

    // Takes the slopes of the loss in rho at a row; room for whole packs, with 0 behind the last column.
    void step(const T* slopes, T rate) {
        using P = Pack<T>;
        const T keep = T(Pace::keep), floor = T(Pace::floor);
        P total(T(0));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) {
            const P slope = P::load(slopes + k);
            P squares = P::load(squares_ + k), rho = P::load(rho_ + k);
            lanewise(
                [=](const auto& g, auto& v, auto& r, auto& sum) POCKETKERNEL_FLAT {
                    using V = std::decay_t<decltype(v)>;
                    const V most(T(1e6));  // which only a forged state can reach
                    const V G = larger(V(T(0)) - most, smaller(g, most));
                    v = v * V(keep) + V(floor) + G * G;
                    r = r - V(rate) * G / square_root(v);
                    sum = sum + r;
                },
                slope, squares, rho, total);
            squares.store(squares_ + k);
            rho.store(rho_ + k);
        }
        centre(sum(total));
    }
    // The same where the slopes are 0 but in some columns: without forgetting, and to be followed by `centre` before
    // the next refresh, so that it costs nothing in all the others.
    void step(const std::int32_t* columns, const T* slopes, std::size_t count, T rate) {
        for (std::size_t n = 0; n < count; ++n) {
            const auto k = static_cast<std::size_t>(columns[n]);
            const T G = larger(T(-1e6), smaller(slopes[n], T(1e6)));
            squares_[k] += G * G;
            rho_[k] = larger(T(least), smaller(rho_[k] - rate * G / std::sqrt(squares_[k]), T(greatest)));
        }
    }
    void centre() {
        Pack<T> total(T(0));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) total += Pack<T>::load(rho_ + k);
        centre(sum(total));
    }
    void refresh() {
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>)
            exponential(Pack<T>::load(rho_ + k)).store(factors_ + k);
    }

    bool valid() const {
        const auto within = [](T value, double low, double high) { return value >= T(low) && value <= T(high); };
        bool good = true;
        for (std::size_t k = 0; k < padded<T>(columns_); ++k)
            good = good && within(rho_[k], least, greatest) && within(squares_[k], 1e-6, 1e30) &&
                   within(factors_[k], 0.0067, largest_factor);
        for (std::size_t k = columns_; k < padded<T>(columns_); ++k) good = good && rho_[k] == T(0);
        return good;
    }

    static constexpr double largest_factor = 20.1;

  private:
    static constexpr double least = -5.0, greatest = 3.0;

    void centre(double total) {
        using P = Pack<T>;
        const T mean = static_cast<T>(total / static_cast<double>(columns_));
        for (std::size_t k = 0; k < columns_; k += lanes_of<T>) {
            P rho = P::load(rho_ + k);
            lanewise(
                [=](auto& r) POCKETKERNEL_FLAT {
                    using V = std::decay_t<decltype(r)>;
                    r = larger(V(T(least)), smaller(r - V(mean), V(T(greatest))));
                },
                rho);
            rho.store(rho_ + k);
        }
        for (std::size_t k = columns_; k < padded<T>(columns_); ++k) rho_[k] = T(0);
    }

    Known<parts::features> columns_{0};
    T* rho_ = nullptr;
    T* squares_ = nullptr;
    T* factors_ = nullptr;
};

POCKETKERNEL_END
