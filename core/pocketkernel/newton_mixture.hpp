// NewtonMixture: combines E scores by the online Newton step, with forgetting (Hazan, Agarwal & Kale 2007).
//
//   F    sum_i w_i s_i                            the combined score
//   u    gradient of the loss of F in w
//   A    keep A + (1 - keep) ridge I + u u'       keep = 1 - 1/2000
//   w    w - A^-1 u
#pragma once

#include "arena.hpp"
#include "math.hpp"

POCKETKERNEL_BEGIN

class NewtonMixture {
  public:
    NewtonMixture() = default;
    // On so many numbers, which are part of the state.
    NewtonMixture(std::size_t experts, double* state) : experts_(experts), weights_(state), A_(state + experts) {}
    static constexpr std::size_t doubles(std::size_t experts) { return experts + triangle(experts); }

    void reset() {
        for (std::size_t i = 0; i < experts_; ++i) {
            weights_[i] = 1.0 / static_cast<double>(experts_);
            A_[place(i, i)] = ridge;
        }
    }

    double weight(std::size_t i) const { return weights_[i]; }

    // How much expert i counts: the share of |w_i|.
    double share(std::size_t i) const {
        double total = 0.0;
        for (std::size_t j = 0; j < experts_; ++j) total += absolute(weights_[j]);
        return total > 0.0 ? absolute(weights_[i]) / total : 1.0 / static_cast<double>(experts_);
    }

    // Takes the gradient u, and leaves the step in it. Scratch has room for `doubles(experts)`.
    void update(double* u, double* scratch) {
        forget(1.0 - 1.0 / 2000.0);
        for (std::size_t i = 0; i < experts_; ++i)
            for (std::size_t j = 0; j <= i; ++j) A_[place(i, j)] += u[i] * u[j];
        factorise(scratch);
        solve(scratch, u);
        for (std::size_t i = 0; i < experts_; ++i) weights_[i] -= u[i];
    }

    // Keeps a part of what A knows, so that later steps are longer.
    void forget(double keep) {
        for (std::size_t n = 0; n < triangle(experts_); ++n) A_[n] *= keep;
        for (std::size_t i = 0; i < experts_; ++i) A_[place(i, i)] += (1.0 - keep) * ridge;
    }

    bool valid() const {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        bool good = true;
        for (std::size_t n = 0; n < triangle(experts_); ++n) good = good && absolute(A_[n]) < infinity;
        for (std::size_t i = 0; i < experts_; ++i)
            good = good && absolute(weights_[i]) < infinity && A_[place(i, i)] >= 0.5 * ridge;
        return good;
    }

  private:
    static constexpr double ridge = 3.0;

    // A is symmetric: its lower triangle, row by row.
    static constexpr std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }
    static constexpr std::size_t place(std::size_t i, std::size_t j) { return triangle(i) + j; }

    // A = L L' (Cholesky), with 1 / L_ii on the diagonal. A is never below half the ridge, so nor are its pivots but
    // for rounding, which is in proportion to A_ii: after rows of weight 1e9 the ridge is lost in it, and steps along
    // what is left would be of any length.
    void factorise(double* L) const {
        for (std::size_t i = 0; i < experts_; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                double rest = A_[place(i, j)];
                for (std::size_t k = 0; k < j; ++k) rest -= L[place(i, k)] * L[place(j, k)];
                const double least = larger(0.5 * ridge, 1e-10 * A_[place(i, i)]);
                L[place(i, j)] = i == j ? 1.0 / std::sqrt(larger(rest, least)) : rest * L[place(j, j)];
            }
    }

    void solve(const double* L, double* u) const {
        for (std::size_t i = 0; i < experts_; ++i) {
            for (std::size_t k = 0; k < i; ++k) u[i] -= L[place(i, k)] * u[k];
            u[i] *= L[place(i, i)];
        }
        for (std::size_t i = experts_; i-- > 0;) {
            for (std::size_t k = i + 1; k < experts_; ++k) u[i] -= L[place(k, i)] * u[k];
            u[i] *= L[place(i, i)];
        }
    }

    std::size_t experts_ = 0;
    double* weights_ = nullptr;
    double* A_ = nullptr;
};

POCKETKERNEL_END
