// M-OMD-S: memory-bounded online mirror descent for smooth losses (the paper's Algorithm 2).
//
//   S        one buffer of at most B examples, shared by all kernels       B  config.budget
//   f_i      scale_i sum_j a[i][j] kappa_i(x_j, .), |f_i| <= U              U  config.norm_bound
//   p        weights of the kernels (Hedge)                                 lambda = step U / sqrt(B)
//   G        sum of |l'| so far, this round included
//
// A round is one pass over S. A second one is made only in the proxy branch and when half of S is dropped.
#pragma once

#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class MOMDS : public Learner<T> {
  public:
    using Element = T;
    static constexpr const char* name = "m_omd_s";

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common(c, true);
        if (status != Status::ok) return status;
        if (c.budget < 2) return Status::budget_too_small;
        if (!positive(c.step)) return Status::step_not_positive;
        if (!positive(c.norm_bound)) return Status::norm_bound_not_positive;
        return Status::ok;
    }

    MOMDS(const Config& c, Arena& arena) : Learner<T>(c, arena) {
        summed_slopes_ = arena.take<double>(1);
        hedge_ = Hedge(arena, K_);
        f_ = arena.take<Hypothesis>(K_);
        a_ = Coefficients<T>(arena, K_, c.budget);
        S_ = Buffer<T>(arena, c.budget, c.features, norms_for(bank_.metrics(), c.features));
        this->end_of_state(arena);
        work_ = Workspace<T>(arena, c, bank_);
        stored_ = QueryScratch<T>(arena, c.features, norms_for(bank_.metrics(), c.features));
        nearest_ = arena.take<Nearest>(bank_.groups());
        lambda_ = c.step * c.norm_bound / std::sqrt(static_cast<double>(c.budget));
        G1_ = loss_G1(c.loss);
    }

    void reset() {
        common_->rng = Rng(config_.seed);
        hedge_.reset();
        for (std::size_t i = 0; i < K_; ++i) f_[i].scale = 1.0;
    }

    double score(const Query<T>& x, Workspace<T>& work) const {
        evaluate(x, work, nullptr);
        return hedge_.mix(work.values);
    }

    template <class U>
    double learn(const Row<U>& row, double y) {
        const Query<T> x = work_.query.read(row);
        evaluate(x, work_, nearest_);
        const double f = hedge_.mix(work_.values);
        const LossPoint loss = loss_at(config_.loss, f, y);
        const double g = loss.derivative;  // at the aggregated f, shared by all kernels
        this->record(f, y, loss.value);

        charge(g);
        *summed_slopes_ += absolute(g);
        // Eq. learning_rate:M-OMD-S: gamma shrinks with the summed |l'|, so easy streams merge more points.
        const double gamma = hedge_.root_2_ln_K() / std::sqrt(1.0 + *summed_slopes_);
        if (near_enough(gamma)) {
            step_at_neighbours(x, g);
        } else if (common_->rng.uniform() < absolute(g) / (absolute(g) + G1_)) {
            add(x, g);
        }
        return f;
    }

    KernelReport report(std::size_t i) const {
        const Tally& t = common_->tally;
        return {hedge_.weights()[i], std::sqrt(f_[i].norm2), 0.0, S_.size(), t.additions, t.proxies, t.removals};
    }

    bool valid() const {
        bool good = this->common_valid() && *summed_slopes_ >= 0.0 && hedge_.valid() && S_.valid() && a_.finite();
        for (std::size_t i = 0; i < K_; ++i) good = good && f_[i].valid();
        return good;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    void evaluate(const Query<T>& x, Workspace<T>& work, Nearest* nearest) const {
        this->pass(S_, S_.size(), a_, false, x, work, nearest);
        for (std::size_t i = 0; i < K_; ++i) work.values[i] *= f_[i].scale;
    }

    void charge(double g) {
        double least = work_.values[0], most = work_.values[0];
        for (std::size_t i = 1; i < K_; ++i) {
            least = smaller(least, work_.values[i]);
            most = larger(most, work_.values[i]);
        }
        hedge_.update(work_.values, [&](const Pack<double>& f) { return Hedge::linearised_cost(g, f, least, most); });
    }

    // con(a): some stored row is within gamma of x in every kernel's space.
    bool near_enough(double gamma) const {
        if (S_.size() == 0) return false;
        for (std::size_t group = 0; group < bank_.groups(); ++group)
            if (!bank_.within(bank_.leader_of(group), nearest_[group].farness, gamma)) return false;
        return true;
    }

    void step_at_neighbours(const Query<T>& x, double g) {
        for (std::size_t group = 0; group < bank_.groups(); ++group) {
            const std::size_t s =
                S_.find(bank_, bank_.leader_of(group), x, nearest_[group].tile, nearest_[group].farness);
            evaluate(S_.query(s, stored_), work_, nullptr);
            for (std::size_t i = 0; i < K_; ++i)
                if (bank_.group_of(i) == group) step(i, s, -lambda_ * g, work_.values[i]);
        }
        ++common_->tally.proxies;
    }

    void add(const Query<T>& x, double g) {
        if (S_.size() == config_.budget) {
            remove();
            evaluate(x, work_, nullptr);
        }
        const std::size_t j = S_.size();
        S_.append(x);
        const double s = -lambda_ * (g > 0.0 ? absolute(g) + G1_ : -(absolute(g) + G1_));
        for (std::size_t i = 0; i < K_; ++i) step(i, j, s, work_.values[i]);
        ++common_->tally.additions;
    }

    // f_i += s kappa_i(x_j, .) where f_i(x_j) = at, then the projection.
    void step(std::size_t i, std::size_t j, double s, double at) {
        Hypothesis& f = f_[i];
        T& a = a_.of(i)[j];
        a = static_cast<T>(static_cast<double>(a) + s / f.scale);
        f.norm2 = larger(f.norm2 + 2.0 * s * at + s * s, 0.0);
        f.project(config_.norm_bound);
        if (f.wants_folding()) fold(i);
    }

    void fold(std::size_t i) {
        a_.scale(i, f_[i].scale);
        f_[i].scale = 1.0;
    }

    // Drops the oldest half, or everything, and computes the norms afresh.
    void remove() {
        const std::size_t dropped = config_.removal == Removal::half ? config_.budget / 2 : config_.budget;
        for (std::size_t i = 0; i < K_; ++i) {
            a_.erase(i, 0, dropped, S_.size());
            fold(i);
            f_[i].norm2 = 0.0;
        }
        S_.erase(0, dropped);
        // As if the rows came back one by one: |f + a k(x_j,.)|^2 = |f|^2 + 2 a f(x_j) + a^2.
        for (std::size_t j = 0; j < S_.size(); ++j) {
            this->pass(S_, j, a_, false, S_.query(j, stored_), work_, nullptr);
            for (std::size_t i = 0; i < K_; ++i) {
                const double a = static_cast<double>(a_.of(i)[j]);
                f_[i].norm2 += a * (2.0 * work_.values[i] + a);
            }
        }
        for (std::size_t i = 0; i < K_; ++i) {
            f_[i].norm2 = larger(f_[i].norm2, 0.0);
            f_[i].project(config_.norm_bound);
        }
        ++common_->tally.removals;
    }

    double lambda_ = 0.0, G1_ = 0.0;
    double* summed_slopes_ = nullptr;
    Hedge hedge_;
    Hypothesis* f_ = nullptr;
    Coefficients<T> a_;
    Buffer<T> S_;
    QueryScratch<T> stored_;
    Nearest* nearest_ = nullptr;
};

POCKETKERNEL_END
