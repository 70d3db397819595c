// NumberMixture: the scores of the experts of m numbers, mixed by least squares with forgetting, for each by itself.
//
//   F_r    sum_i w_ir s_ir
//   w_ir   by RecursiveLeastSquares, from scores and errors in units of the deviation of y_r
#pragma once

#include "../arena.hpp"
#include "../parts.hpp"
#include "../tuning.hpp"
#include "recursive_least_squares.hpp"

POCKETKERNEL_BEGIN

class NumberMixture {
  public:
    // What is known of an expert, for each target.
    struct Expert {
        double weight;   // w
        double squares;  // of its lessons
        double loss;     // mean of its own over the recent rows, in units of the target's variance
    };

    NumberMixture() = default;
    NumberMixture(Arena& arena, std::size_t experts, std::size_t targets)
        : E_(experts),
          m_(targets),
          experts_(arena.take<Expert>(E_, m_)),
          numbers_(arena.take<double>(RecursiveLeastSquares::doubles(E_), m_)) {}

    // The linear expert counts in full at first, the last one, a constant, not at all, the others are averaged.
    void reset() {
        for (std::size_t r = 0; r < m_; ++r) {
            squares_of(r).reset();
            for (std::size_t i = 0; i < E_; ++i)
                of(i, r).weight = i == 0 ? 1.0 : i + 1 < E_ ? 1.0 / static_cast<double>(E_ - 2) : 0.0;
        }
    }

    std::size_t experts() const { return E_; }
    Expert& of(std::size_t i, std::size_t r) const { return experts_[i * m_ + r]; }

    // Of scores s_ir at s[im + r].
    double mix(const double* s, std::size_t r) const {
        double F = 0.0;
        for (std::size_t i = 0; i < E_; ++i) F += of(i, r).weight * s[i * m_ + r];
        return F;
    }
    // Takes the error of F_r. Scratch has room for E numbers, twice.
    void learn(std::size_t r, const double* s, double error, double deviation, double times, std::uint64_t rounds,
               double* x, double* room) {
        if (!(deviation > 1e-100)) return;
        for (std::size_t i = 0; i < E_; ++i) x[i] = s[i * m_ + r] / deviation;
        squares_of(r).update(x, times, rounds, room);
        for (std::size_t i = 0; i < E_; ++i) {
            double& w = of(i, r).weight;
            w = larger(-most_weight, smaller(w + x[i] * (error / deviation), most_weight));
        }
    }

    // Keeps a part of how much is known of a target.
    void hurry(std::size_t r, double keep, double* room) {
        squares_of(r).forget(keep, room);
        for (std::size_t i = 0; i < E_; ++i) of(i, r).squares *= keep;
    }
    // Target r has another scale.
    void scale(std::size_t r, double factor) {
        for (std::size_t i = 0; i < E_; ++i) of(i, r).squares = smaller(factor * factor * of(i, r).squares, 1e150);
    }

    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = true;
        for (std::size_t r = 0; r < m_; ++r) {
            good = good && squares_of(r).valid();
            for (std::size_t i = 0; i < E_; ++i)
                good = good && within(of(i, r).weight, -most_weight, most_weight) &&
                       within(of(i, r).squares, 0.0, 1e160) && within(of(i, r).loss, 0.0, 1e12);
        }
        return good;
    }

  private:
    static constexpr double most_weight = 1e6;  // which only a forged state can reach

    RecursiveLeastSquares squares_of(std::size_t r) const {
        return {E_, numbers_ + r * RecursiveLeastSquares::doubles(E_), Tuning::NumberMixture::keep,
                Tuning::NumberMixture::ridge};
    }

    std::size_t E_ = 0;
    Known<parts::functions> m_{0};
    Expert* experts_ = nullptr;
    double* numbers_ = nullptr;
};

POCKETKERNEL_END
