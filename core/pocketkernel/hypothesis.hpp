// Hypothesis: f = scale * sum_j a_j kappa(x_j, .), with its squared RKHS norm kept up to date.
//
// Projection onto the ball of radius U changes only the scale, not the coefficients; when the scale has become small
// it is multiplied into them. This file has the numbers of a function and the coefficient vectors over a buffer; it has
// no rows and no kernels.
#pragma once

#include "arena.hpp"

POCKETKERNEL_BEGIN

struct Hypothesis {
    double scale;
    double norm2;  // |f|^2

    // f <- f U / |f| if |f| > U. Returns the factor that f was multiplied by.
    double project(double U) {
        if (norm2 <= U * U) return 1.0;
        const double factor = U / std::sqrt(norm2);
        scale *= factor;
        norm2 = U * U;
        return factor;
    }
    bool valid(double U) const { return !wants_folding() && scale <= 1.0 && norm2 >= 0.0 && norm2 <= U * U; }
    bool wants_folding() const { return scale < 0x1p-16; }
};

// Far beyond the numbers of any working learner; sums of larger numbers could become infinite.
template <class T>
constexpr double coefficient_limit() {
    return sizeof(T) == sizeof(float) ? 1e30 : 1e70;
}

// `functions` vectors of one coefficient per stored row; entries beyond the rows in use are zero.
template <class T>
class Coefficients {
  public:
    Coefficients() = default;
    Coefficients(Arena& arena, std::size_t functions, std::size_t capacity)
        : functions_(functions), stride_(padded<T>(capacity)), values_(arena.take<T>(functions, stride_)) {}

    T* of(std::size_t i) { return values_ + i * stride_; }
    const T* of(std::size_t i) const { return values_ + i * stride_; }
    Pack<T> pack(std::size_t i, std::size_t tile) const { return Pack<T>::load(of(i) + tile * lanes_of<T>); }

    // Removes entries first .. first + count - 1 of `size` in function i; the others keep their order.
    void erase(std::size_t i, std::size_t first, std::size_t count, std::size_t size) {
        T* a = of(i);
        for (std::size_t j = first; j < size; ++j) a[j] = j + count < size ? a[j + count] : T(0);
    }

    void scale(std::size_t i, double factor) {
        T* a = of(i);
        for (std::size_t j = 0; j < stride_; ++j) a[j] = static_cast<T>(static_cast<double>(a[j]) * factor);
    }

    // Zeroes the first `size` entries of every function, up to a whole pack.
    void clear(std::size_t size) {
        for (std::size_t i = 0; i < functions_; ++i) std::memset(of(i), 0, padded<T>(size) * sizeof(T));
    }

    // Whether all are finite and small enough that sums over any buffer stay finite.
    bool finite(double most = coefficient_limit<T>()) const {
        for (std::size_t n = 0; n < functions_ * stride_; ++n)
            if (!(static_cast<double>(absolute(values_[n])) <= most)) return false;
        return true;
    }

  private:
    std::size_t functions_ = 0, stride_ = 0;
    T* values_ = nullptr;
};

POCKETKERNEL_END
