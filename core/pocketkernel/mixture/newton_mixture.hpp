// NewtonMixture: combines E scores by the online Newton step, with forgetting (Hazan, Agarwal & Kale 2007).
//
//   F    sum_i w_i s_i                            the combined score
//   u    gradient of the loss of F in w
//   c    how many times the row counts
//   A    keep A + (1 - keep) ridge I + c u u'     keep = 1 - 1/5000
//   w    w - c A^-1 u                             within +-1e6, which only a forged state can reach
#pragma once

#include "../arena.hpp"
#include "../config.hpp"
#include "../math.hpp"
#include "../tuning.hpp"

POCKETKERNEL_BEGIN

class NewtonMixture {
  public:
    NewtonMixture() = default;
    // On so many numbers, which are part of the state.
    NewtonMixture(std::size_t experts, double* state) : experts_(experts), weights_(state) {}
    static constexpr std::size_t doubles(std::size_t experts) { return experts + triangle(experts); }

    void reset() {
        for (std::size_t i = 0; i < experts_; ++i) {
            weights_[i] = 1.0 / static_cast<double>(experts_);
            A()[place(i, i)] = ridge;
        }
    }

    std::size_t experts() const { return experts_; }
    double weight(std::size_t i) const { return weights_[i]; }

    // Takes the gradient u of a row that counts c times, and leaves the step in it. Scratch has room for
    // `doubles(experts)`.
    void update(double* u, double c, double* scratch) {
        forget(1.0 - 1.0 / Tuning::Newton::memory);
        for (std::size_t i = 0; i < experts_; ++i)
            for (std::size_t j = 0; j <= i; ++j) A()[place(i, j)] += c * u[i] * u[j];
        factorise(scratch);
        solve(scratch, u);
        for (std::size_t i = 0; i < experts_; ++i) weights_[i] = larger(-most, smaller(weights_[i] - c * u[i], most));
    }

    // Keeps a part of what A knows, so that later steps are longer.
    void forget(double keep) {
        for (std::size_t n = 0; n < triangle(experts_); ++n) A()[n] *= keep;
        for (std::size_t i = 0; i < experts_; ++i) A()[place(i, i)] += (1.0 - keep) * ridge;
    }

    // Gradients of some 100 over 5000 rows or so, and steps of at most 1, lead to nothing beyond these.
    bool valid() const {
        bool good = true;
        for (std::size_t n = 0; n < triangle(experts_); ++n) good = good && absolute(A()[n]) <= most * most;
        for (std::size_t i = 0; i < experts_; ++i) good = good && absolute(weights_[i]) <= most;
        return good && is_definite();
    }

  private:
    static constexpr double ridge = Tuning::Newton::ridge, most = 1e6;

    double* A() const { return weights_ + experts_; }
    // A is symmetric: its lower triangle, row by row.
    static constexpr std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }
    static constexpr std::size_t place(std::size_t i, std::size_t j) { return triangle(i) + j; }

    // A = L L' (Cholesky), with 1 / L_ii on the diagonal. A is never below half the ridge, so nor are its pivots but
    // for rounding. Column by column, which leaves the innermost steps independent of each other.
    void factorise(double* L) const {
        for (std::size_t n = 0; n < triangle(experts_); ++n) L[n] = A()[n];
        for (std::size_t k = 0; k < experts_; ++k) {
            L[place(k, k)] = 1.0 / std::sqrt(larger(L[place(k, k)], 0.5 * ridge));
            for (std::size_t i = k + 1; i < experts_; ++i) {
                L[place(i, k)] *= L[place(k, k)];
                for (std::size_t j = k + 1; j <= i; ++j) L[place(i, j)] -= L[place(i, k)] * L[place(j, k)];
            }
        }
    }

    // Whether `factorise` meets no pivot that it would have to raise: only then are its numbers bounded.
    bool is_definite() const {
        double L[triangle(max_kernels)];
        if (experts_ > max_kernels) return false;
        factorise(L);
        for (std::size_t i = 0; i < experts_; ++i) {
            double pivot = A()[place(i, i)];
            for (std::size_t k = 0; k < i; ++k) pivot -= L[place(i, k)] * L[place(i, k)];
            if (!(pivot >= 0.5 * ridge)) return false;
        }
        return true;
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

    Known<parts::kernels> experts_{0};
    double* weights_ = nullptr;
};

POCKETKERNEL_END
