// ColumnRelevance: how much each column counts in distances, learned by gradient.
//
//   rho_k   of column k, within [-5, 3], 0 in the mean; features see e^rho_k z_k instead of z_k
//   G_k     slope of the loss in rho_k
//   rho_k   rho_k - 0.1 G_k / sqrt(v_k),  v_k = 0.999 v_k + 1e-5 + G_k^2      (AdaGrad with forgetting)
#pragma once

#include "arena.hpp"
#include "math.hpp"

POCKETKERNEL_BEGIN

template <class T>
class ColumnRelevance {
  public:
    ColumnRelevance() = default;
    ColumnRelevance(Arena& arena, std::size_t columns)
        : columns_(columns),
          rho_(arena.take<T>(columns)),
          squares_(arena.take<T>(columns)),
          factors_(arena.take<T>(columns)) {}

    void reset() {
        for (std::size_t k = 0; k < columns_; ++k) {
            squares_[k] = T(0.01);
            factors_[k] = T(1);
        }
    }

    std::size_t columns() const { return columns_; }
    const T* factors() const { return factors_; }  // e^rho

    void apply(const T* z, T* weighed) const {
        for (std::size_t k = 0; k < columns_; ++k) weighed[k] = factors_[k] * z[k];
    }

    // Takes the slopes of the loss in the weighed columns, at a row.
    void step(const T* slopes, const T* weighed) {
        double mean = 0.0;
        for (std::size_t k = 0; k < columns_; ++k) {
            const double most = 1e6;  // which only a forged state can reach
            const double slope = static_cast<double>(slopes[k]) * static_cast<double>(weighed[k]);
            const double G = larger(-most, smaller(slope, most));
            const double square = 0.999 * static_cast<double>(squares_[k]) + 1e-5 + G * G;
            const double rho = static_cast<double>(rho_[k]) - 0.1 * G / std::sqrt(square);
            squares_[k] = static_cast<T>(square);
            rho_[k] = static_cast<T>(rho);
            mean += static_cast<double>(rho_[k]);
        }
        mean /= static_cast<double>(columns_);
        for (std::size_t k = 0; k < columns_; ++k) {
            const double rho = larger(-5.0, smaller(static_cast<double>(rho_[k]) - mean, 3.0));
            rho_[k] = static_cast<T>(rho);
            factors_[k] = static_cast<T>(exponential(rho));
        }
    }

    bool valid() const {
        bool good = true;
        for (std::size_t k = 0; k < columns_; ++k)
            good = good && rho_[k] >= T(-5) && rho_[k] <= T(3) && squares_[k] > T(0) && squares_[k] <= T(1e16) &&
                   factors_[k] >= T(0.0067) && factors_[k] <= T(20.1);
        return good;
    }

  private:
    std::size_t columns_ = 0;
    T* rho_ = nullptr;
    T* squares_ = nullptr;
    T* factors_ = nullptr;
};

POCKETKERNEL_END
