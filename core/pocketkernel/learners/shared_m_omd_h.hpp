// SharedMOMDH: M-OMD-H with one buffer for all kernels, so that K kernels need no more rows than one.
//
//   S        the buffer, of at most B examples; S_i of optimistic_descent.hpp     B  config.budget
//   C_i      1 / max(p_i, 1 / (2K)): kernels that count little have little say in what is stored
//   W        the kernels with y f_i(x) < 1 and no stored example near enough
//   P        max over W of D_i / (C_i D_i + |H_i|^2), the probability that x is stored: one draw for all of W
//
// The step of a kernel in W is lambda H_i + (b / P) lambda (y kappa_i(x, .) - H_i), b = 1 if x is stored. In
// expectation it is the gradient step, and because D_i / P <= C_i D_i + |H_i|^2, the optimistic term still cancels
// |H_i|^2. A full buffer is halved at once (the newest rows leave), so that no round begins with one.
#pragma once

#include "optimistic_descent.hpp"

POCKETKERNEL_BEGIN

template <class T>
class SharedMOMDH : public OptimisticDescent<T> {
  public:
    static constexpr const char* name = "shared_m_omd_h";

    SharedMOMDH(const Config& c, Arena& arena) : OptimisticDescent<T>(c, arena, true) {}

    template <class U>
    double learn(const Row<U>& row, double y, double weight = 1.0) {
        return learn(work_.query.read(row), y, weight);
    }
    double learn(const Query<T>& x, double y, double weight) {
        return this->round(
            x, y, weight, [&](Rng& rng) { return will_remove(y, weight, rng); },
            [&] { learn_kernels(x, y, weight * y); });
    }

    // Of every kernel: the sum over rounds of C_i D_i / 2 if it was in W, or 2 D_i if it stepped at a stored example.
    template <class F>
    void for_each_evidence(F&& f) const {
        for (std::size_t i = 0; i < K_; ++i) f(spent_[i]);
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;
    using OptimisticDescent<T>::lambda_;
    using OptimisticDescent<T>::nowhere;
    using OptimisticDescent<T>::own_;
    using OptimisticDescent<T>::spent_;

    double C(std::size_t i) const { return 1.0 / larger(this->hedge_.weights()[i], 0.5 / static_cast<double>(K_)); }

    bool will_remove(double y, double weight, Rng& rng) const {
        bool waits = false;
        double P = 0.0;
        for (std::size_t i = 0; i < K_; ++i) {
            if (!(y * this->optimistic_[i] < 1.0)) continue;
            const double D = this->squared_difference(i, weight * y);
            if (this->near_enough(i, D, own_[i].A + D)) continue;
            P = larger(D / (C(i) * D + own_[i].H_norm2), P);
            waits = true;
        }
        return waits && rng.uniform() < P && this->S(0).size() + 1 == config_.budget;
    }

    void spend(std::size_t i, double cost) {
        if (!this->repeats_) spent_[i] += cost;
    }

    void learn_kernels(const Query<T>& x, double label, double y) {
        std::size_t W[max_kernels], count = 0;
        double P = 0.0;
        for (std::size_t i = 0; i < K_; ++i) {
            if (!(label * this->optimistic_[i] < 1.0)) continue;
            double D = 0.0;
            if (this->merge(i, x, y, D)) {
                spend(i, 2.0 * D);
                continue;
            }
            P = larger(D / (C(i) * D + own_[i].H_norm2), P);
            spend(i, 0.5 * C(i) * D);
            W[count++] = i;
        }
        if (count == 0) return;
        if (!(common_->rng.uniform() < P)) {
            for (std::size_t n = 0; n < count; ++n) this->step(W[n], nowhere, 0.0, 0.0, 0.0, lambda_);
            return;
        }
        Buffer<T>& S = this->S(0);
        const std::size_t j = S.size();
        S.append(x);
        for (std::size_t n = 0; n < count; ++n)
            this->step(W[n], j, lambda_ * y / P, work_.values[W[n]], work_.values[K_ + W[n]],
                       lambda_ * (1.0 - 1.0 / P));
        for (std::size_t i = 0; i < K_; ++i) ++own_[i].additions;
        ++common_->tally.additions;
        if (S.size() == config_.budget) remove();
    }

    // Drops the newest half; coefficients over the archive stay.
    void remove() {
        Buffer<T>& S = this->S(0);
        const std::size_t size = S.size(), dropped = size / 2;
        for (std::size_t i = 0; i < K_; ++i) this->a_.erase(i, size - dropped, dropped, size);
        S.erase(size - dropped, dropped);
        for (std::size_t i = 0; i < K_; ++i) {
            this->recompute(i);
            ++own_[i].removals;
        }
        ++common_->tally.removals;
    }
};

POCKETKERNEL_END
