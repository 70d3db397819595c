// LKMBooks: kernel selection by randomly adding examples (Li & Liao 2022), a baseline.
//
//   S        one buffer of at most B examples; nothing is ever removed      B  config.budget
//   f_i      sum_j a_j kappa_i(x_j, .): one coefficient vector for all      T  config.horizon, rounds to come
//   p        weights of the kernels, kept as logarithms                     nu config.nu
//   m        largest spread max f - min f seen so far, at least 1
#pragma once

#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class LKMBooks : public Learner<T> {
  public:
    using Element = T;
    static constexpr const char* name = "lkm_books";

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, false);
        if (status != Status::ok) return status;
        if (!positive(c.step)) return Status::step_not_positive;
        if (!(c.nu > 0.0 && c.nu < 1.0)) return Status::nu_out_of_range;
        if (!(c.horizon >= 1.0 && c.horizon <= 1e18)) return Status::horizon_out_of_range;
        return Status::ok;
    }

    POCKETKERNEL_ONCE LKMBooks(const Config& c, Arena& arena) : Learner<T>(c, arena) {
        own_ = arena.take<Own>(1);
        log_p_ = arena.take<double>(padded<double>(K_));
        p_ = arena.take<double>(padded<double>(K_));
        norm2_ = arena.take<double>(K_);
        a_ = Coefficients<T>(arena, 1, c.budget);
        S_ = Buffer<T>(arena, c.budget, c.features, norms_for(bank_.metrics(), c.features), c.storage);
        this->end_of_state(arena, K_);
        const auto B = static_cast<double>(c.budget);
        lambda_ = c.step * std::sqrt((1.0 + c.nu) * B) / (std::sqrt(1.0 - c.nu) * c.horizon);
        eta_ = std::sqrt(8.0 * logarithm(static_cast<double>(K_)) / c.horizon);
        rho_scale_ = B / ((1.0 - c.nu) * exponential((1.0 - c.nu) * logarithm(c.horizon)));
    }

    void reset() {
        common_->rng = Rng(config_.seed);
        own_->spread = 1.0;
        normalise();
    }

    double score(const Query<T>& x, Workspace<T>& work) const {
        this->template pass<1>(S_, S_.size(), a_, 1, true, x, work, nullptr);
        double f = 0.0;
        for (std::size_t i = 0; i < K_; ++i) f += p_[i] * work.values[i];
        return f;
    }

    template <class U>
    double learn(const Row<U>& row, double y, double weight = 1.0) {
        return learn(work_.query.read(row), y, weight);
    }
    double learn(const Query<T>& x, double y, double weight) {
        const double F = score(x, work_);
        if (weight == 0.0) return F;
        const LossPoint loss = loss_at(config_.loss, F, y);
        const double g = weight * loss.derivative;
        this->record(this->is_mistake(F, y), weight * loss.value);
        double least = work_.values[0], most = work_.values[0];
        for (std::size_t i = 1; i < K_; ++i) {
            least = smaller(least, work_.values[i]);
            most = larger(most, work_.values[i]);
        }
        if (g != 0.0) {
            for (std::size_t i = 0; i < K_; ++i)
                log_p_[i] -= eta_ * Hedge::linearised_cost(g, work_.values[i], least, most) / own_->spread;
            normalise();
            if (S_.size() < config_.budget) maybe_add(x, g);
            ++own_->steps;
        }
        own_->spread = larger(own_->spread, most - least);
        return F;
    }

    KernelReport report(std::size_t i) const {
        return {p_[i], std::sqrt(norm2_[i]), 0.0, S_.size(), common_->tally.additions, 0, 0};
    }

    bool valid() const {
        bool good = this->common_valid() && S_.valid() && a_.finite() && own_->steps <= this->clock() &&
                    own_->spread >= 1.0 && own_->spread <= state_limit;
        double total = 0.0, most = -state_limit;
        for (std::size_t i = 0; i < K_; ++i) {
            good = good && log_p_[i] >= -state_limit && p_[i] >= 0.0 && this->is_sum(norm2_[i]);
            total += p_[i];
            most = larger(most, log_p_[i]);
        }
        return good && most == 0.0 && absolute(total - 1.0) < 1e-9;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    struct Own {
        std::uint64_t steps;  // rounds with g != 0 so far
        double spread;        // m
    };
    static_assert(part_of_state<Own, 16>);

    // rho = min(1, B / ((1 - nu) T^(1 - nu) (n + 1)^nu))
    void maybe_add(const Query<T>& x, double g) {
        const double n = static_cast<double>(own_->steps);
        const double rho = smaller(rho_scale_ / exponential(config_.nu * logarithm(n + 1.0)), 1.0);
        if (!(common_->rng.uniform() < rho)) return;
        const double s = -lambda_ * g / rho;
        for (std::size_t i = 0; i < K_; ++i) norm2_[i] = larger(norm2_[i] + 2.0 * s * work_.values[i] + s * s, 0.0);
        a_.of(0)[S_.size()] = static_cast<T>(s);
        S_.append(x);
        ++common_->tally.additions;
    }

    // Shifts the logarithms so that the largest is 0.
    void normalise() {
        double most = log_p_[0];
        for (std::size_t i = 1; i < K_; ++i) most = larger(most, log_p_[i]);
        double total = 0.0;
        for (std::size_t i = 0; i < K_; ++i) {
            log_p_[i] -= most;
            p_[i] = exponential(log_p_[i]);
            total += p_[i];
        }
        for (std::size_t i = 0; i < K_; ++i) p_[i] /= total;
    }

    double lambda_ = 0.0, eta_ = 0.0, rho_scale_ = 0.0;
    Own* own_ = nullptr;
    double* log_p_ = nullptr;
    double* p_ = nullptr;
    double* norm2_ = nullptr;  // |f_i|^2
    Coefficients<T> a_;
    Buffer<T> S_;
};

POCKETKERNEL_END
