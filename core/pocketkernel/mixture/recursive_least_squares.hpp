// RecursiveLeastSquares: the matrix of a least-squares fit with forgetting, and the step that it gives.
//
//   A      keep A + c x x' + ridge's share     c is how many times the row counts
//   gain   c A^-1 x                            coefficients move by gain times the error
//
// A is kept as L D L', which a row changes in O(n^2) (Gill, Golub, Murray & Saunders 1974, method C1). Forgetting would
// wear the ridge off; it is given back to one coordinate after the other, (1 - keep) n ridge at a time, so that no
// direction's step grows without bound however long a column is constant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../simd.hpp"

POCKETKERNEL_BEGIN

class RecursiveLeastSquares {
  public:
    RecursiveLeastSquares() = default;
    // On `doubles(n)` numbers, which are part of the state.
    RecursiveLeastSquares(std::size_t n, double* state, double keep, double ridge)
        : n_(n), factor_(state), keep_(keep), ridge_(ridge) {}
    static constexpr std::size_t doubles(std::size_t n) { return n * (n + 1) / 2; }

    void reset() {
        for (std::size_t k = 0; k < n_; ++k) column(k)[0] = ridge_;
    }

    // Takes a row, leaves the gain in it. `turn` counts the rows. Scratch has room for n numbers.
    void update(double* x, double c, std::uint64_t turn, double* scratch) {
        for (std::size_t k = 0; k < n_; ++k) column(k)[0] *= keep_;
        for (std::size_t k = 0; k < n_; ++k) scratch[k] = x[k];
        add(c, scratch, 0);
        give_back((1.0 - keep_) * static_cast<double>(n_), static_cast<std::size_t>(turn % n_), scratch);
        solve(x);
        for (std::size_t k = 0; k < n_; ++k) x[k] *= c;
    }

    // Keeps a part of what A knows, so that later steps are longer.
    void forget(double keep, double* scratch) {
        for (std::size_t k = 0; k < n_; ++k) column(k)[0] *= keep;
        for (std::size_t k = 0; k < n_; ++k) give_back(1.0 - keep, k, scratch);
    }

    bool valid() const {
        for (std::size_t k = 0; k < n_; ++k) {
            if (!(column(k)[0] >= 1e-3 * ridge_ && column(k)[0] <= most)) return false;
            for (std::size_t i = 1; i < n_ - k; ++i)
                if (!(absolute(column(k)[i]) <= most)) return false;
        }
        return true;
    }

  private:
    static constexpr double most = 1e15;

    // D_k, then what is below it in column k of L.
    double* column(std::size_t k) const { return factor_ + k * n_ - k * (k - 1) / 2; }

    void give_back(double share, std::size_t k, double* scratch) {
        for (std::size_t i = 0; i < n_; ++i) scratch[i] = i == k ? 1.0 : 0.0;
        add(share * ridge_, scratch, k);
    }

    // A + alpha w w', where w is 0 before `first`; w is used up.
    void add(double alpha, double* w, std::size_t first) {
        for (std::size_t k = first; k < n_; ++k) {
            double* below = column(k);
            const double p = w[k], before = below[0], now = before + alpha * p * p;
            const double beta = alpha * p / now;
            alpha *= before / now;
            below[0] = now;
            for (std::size_t i = 1; i < n_ - k; ++i) {
                w[k + i] -= p * below[i];
                below[i] += beta * w[k + i];
            }
        }
    }

    void solve(double* x) const {
        for (std::size_t k = 0; k < n_; ++k)
            for (std::size_t i = 1; i < n_ - k; ++i) x[k + i] -= column(k)[i] * x[k];
        for (std::size_t k = n_; k-- > 0;) {
            double rest = x[k] / column(k)[0];
            for (std::size_t i = 1; i < n_ - k; ++i) rest -= column(k)[i] * x[k + i];
            x[k] = rest;
        }
    }

    std::size_t n_ = 0;
    double* factor_ = nullptr;
    double keep_ = 1.0, ridge_ = 1.0;
};

POCKETKERNEL_END
