// M-OMD-H: memory-bounded optimistic mirror descent for the hinge loss (the paper's Algorithm 1).
//
// Every kernel has a buffer of its own, and draws for itself whether a row enters it. The rest is in
// optimistic_descent.hpp.
#pragma once

#include "optimistic_descent.hpp"

POCKETKERNEL_BEGIN

template <class T>
class MOMDH : public OptimisticDescent<T> {
  public:
    static constexpr const char* name = "m_omd_h";

    MOMDH(const Config& c, Arena& arena) : OptimisticDescent<T>(c, arena, false) {}

    template <class U>
    double learn(const Row<U>& row, double y, double weight = 1.0) {
        return learn(work_.query.read(row), y, weight);
    }
    double learn(const Query<T>& x, double y, double weight) {
        return this->round(
            x, y, weight, [&](Rng& rng) { return will_remove(y, weight, rng); },
            [&] {
                for (std::size_t i = 0; i < K_; ++i)
                    if (y * this->optimistic_[i] < 1.0) learn_kernel(i, x, weight * y);
            });
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;
    using OptimisticDescent<T>::a_;
    using OptimisticDescent<T>::lambda_;
    using OptimisticDescent<T>::nowhere;
    using OptimisticDescent<T>::own_;
    using OptimisticDescent<T>::S_;

    bool will_remove(double y, double weight, Rng& rng) const {
        const std::size_t most = config_.budget - (config_.removal == Removal::eager);
        for (std::size_t i = 0; i < K_; ++i) {
            if (!(y * this->optimistic_[i] < 1.0)) continue;
            const double D = this->squared_difference(i, weight * y);
            if (this->near_enough(i, D, own_[i].A + D)) continue;
            if (rng.uniform() < D / (D + own_[i].H_norm2) && S_[i].size() >= most) return true;
        }
        return false;
    }

    // Step 2 of the round for a kernel with y f_i(x) < 1; y carries the row's weight.
    void learn_kernel(std::size_t i, const Query<T>& x, double y) {
        double D = 0.0;
        if (this->merge(i, x, y, D)) return;
        const double P = D / (D + own_[i].H_norm2);
        if (!(common_->rng.uniform() < P)) {
            // Deviation: the paper's listing omits this step; its proof (case 2) takes it.
            this->step(i, nowhere, 0.0, 0.0, 0.0, lambda_);
            return;
        }
        double at = work_.values[i];
        if (S_[i].size() == config_.budget) {
            remove(i);
            at = this->value_of(i, x, nullptr);
        }
        const std::size_t j = S_[i].size();
        S_[i].append(x);
        this->step(i, j, lambda_ * y / P, at, work_.values[K_ + i], lambda_ * (1.0 - 1.0 / P));
        ++own_[i].additions;
        ++common_->tally.additions;
        if (config_.removal == Removal::eager && S_[i].size() == config_.budget) remove(i);
    }

    // Drops the newest half of S_i, everything, or only the oldest; coefficients over the archive stay. The norm as in
    // SharedBuffer.
    void remove(std::size_t i) {
        const std::size_t size = S_[i].size(), dropped = this->leaving();
        const bool oldest = config_.removal == Removal::oldest;
        const bool afresh = !oldest || own_[i].removals % config_.budget == 0;
        if (!afresh) {
            const double a = own_[i].f.scale * static_cast<double>(a_.of(i)[0]);
            const double at = this->value_of(i, S_[i].query(0, this->stored_), nullptr);
            own_[i].f.norm2 = larger(own_[i].f.norm2 - a * (2.0 * at - a), 0.0);
        }
        const std::size_t first = oldest ? 0 : size - dropped;
        a_.erase(i, first, dropped, size);
        S_[i].erase(first, dropped);
        if (afresh) this->compute_norm(i);
        this->evaluate_on_reservoir(i);
        ++own_[i].removals;
        ++common_->tally.removals;
    }
};

POCKETKERNEL_END
