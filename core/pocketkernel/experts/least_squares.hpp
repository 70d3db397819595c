// LeastSquares: the linear expert of a regressor, one linear function of z and a bias for each of m targets.
//
//   s_r   b_r + sum_k a_rk z_k,    z within +-5: a farther column would rule all by itself
//
// In enough memory by recursive least squares, with one matrix for all targets; else by AdaGrad steps with forgetting,
// in units of the target's variance.
#pragma once

#include "../arena.hpp"
#include "../mixture/recursive_least_squares.hpp"
#include "../parts.hpp"
#include "../tuning.hpp"

POCKETKERNEL_BEGIN

template <class T>
class LeastSquares {
  public:
    LeastSquares() = default;
    LeastSquares(Arena& arena, std::size_t features, std::size_t targets, bool matrix)
        : n_(features + 1), m_(targets), linear_(arena.take<double>(n_, m_)) {
        if (matrix)
            matrix_ = RecursiveLeastSquares(n_, arena.take<double>(RecursiveLeastSquares::doubles(n_)),
                                            Tuning::LeastSquares::keep, Tuning::LeastSquares::ridge);
        else
            squares_ = arena.take<T>(n_, m_);
    }
    void reset() { matrix_.reset(); }

    // Coefficients of a target: its bias is the last one.
    std::size_t coefficients() const { return n_; }

    double score(const T* z, std::size_t r) const {
        double s = linear(r)[n_ - 1];
        for (std::size_t k = 0; k + 1 < n_; ++k) s += linear(r)[k] * near(z[k]);
        return s;
    }

    // Takes a row that counts so many times; `error(r)` is what the expert leaves of target r, of this variance.
    // Scratch has room for a row and as much again.
    template <class Error, class Variance>
    void step(const T* z, double times, std::uint64_t rounds, Error&& error, Variance&& variance, double* x,
              double* room) {
        for (std::size_t k = 0; k + 1 < n_; ++k) x[k] = near(z[k]);
        x[n_ - 1] = 1.0;
        if (!squares_) matrix_.update(x, times, rounds, room);
        for (std::size_t r = 0; r < m_; ++r) {
            const double g = error(r), g2 = g * g / larger(variance(r), 1e-300);
            for (std::size_t k = 0; k < n_; ++k) {
                double step = x[k];
                if (squares_) {
                    T& squares = squares_[r * n_ + k];
                    const double kept = Tuning::LeastSquares::keep * static_cast<double>(squares);
                    const double more = smaller(g2 * x[k] * x[k], 1e9);
                    step *= Tuning::LeastSquares::rate * times / std::sqrt(1.0 + kept + times * times * more);
                    squares = static_cast<T>(kept + times * more);
                }
                linear(r)[k] += step * g;
            }
        }
    }

    // Keeps a part of how much is known, so that later steps are longer.
    void hurry(std::size_t r, double keep, double* room) {
        if (!squares_) matrix_.forget(keep, room);
        for (std::size_t k = 0; squares_ && k < n_; ++k) squares_[r * n_ + k] *= T(keep);
    }
    // Target r has another unit.
    void scale(std::size_t r, double factor) {
        for (std::size_t k = 0; k < n_; ++k) linear(r)[k] *= factor;
    }

    // The sum of the squared coefficients, in units that are given for each target.
    template <class Unit>
    double norm2(Unit&& unit) const {
        double total = 0.0;
        for (std::size_t r = 0; r < m_; ++r)
            for (std::size_t k = 0; k < n_; ++k) {
                const double a = linear(r)[k] / unit(r);
                total += a * a;
            }
        return total;
    }

    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = squares_ || matrix_.valid();
        for (std::size_t n = 0; n < n_ * m_; ++n)
            good = good && within(linear_[n], -1e90, 1e90) &&
                   (!squares_ || within(static_cast<double>(squares_[n]), 0.0, 1e20));
        return good;
    }

  private:
    double* linear(std::size_t r) const { return linear_ + r * n_; }
    static double near(T z) {
        constexpr double most = Tuning::LeastSquares::most_z;
        return larger(-most, smaller(static_cast<double>(z), most));
    }

    std::size_t n_ = 0;
    Known<parts::functions> m_{0};
    double* linear_ = nullptr;
    RecursiveLeastSquares matrix_;
    T* squares_ = nullptr;  // of the lessons, if there is no matrix
};

POCKETKERNEL_END
