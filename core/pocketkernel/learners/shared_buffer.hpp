// SharedBuffer: the common part of the two M-OMD-S learners. C functions for each of K kernels over one buffer.
//
//   S        one buffer of at most B examples, shared by all kernels and classes      B  config.budget
//   f_ic     scale_i sum_j a[i][c][j] kappa_i(x_j, .)
//   |f_i|    norm over all c together, at most U                                      U  config.norm_bound
//   p        weights of the kernels (Hedge)                                           lambda = step U / sqrt(B)
//   G        sum of |l'| so far, this round included
//
// A round is one pass over S. A second one is made only in the proxy branch and when half of S is dropped.
// The loss, and so the slope in each of the C functions, is the learner's. Count is C if the compiler may know it,
// else 0.
#pragma once

#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T, std::size_t Count>
class SharedBuffer : public Learner<T> {
  public:
    using Element = T;

    void reset() {
        common_->rng = Rng(config_.seed);
        hedge_.reset();
        for (std::size_t i = 0; i < K_; ++i) f_[i].scale = 1.0;
    }

    KernelReport report(std::size_t i) const {
        const Tally& t = common_->tally;
        return {hedge_.weights()[i], std::sqrt(f_[i].norm2), 0.0, S_.size(), t.additions, t.proxies, t.removals};
    }

    template <class F>
    void for_each_coefficient(std::size_t i, F&& f) const {
        for (std::size_t c = 0; c < C_; ++c)
            for (std::size_t j = 0; j < S_.size(); ++j) f(f_[i].scale * static_cast<double>(a_.of(i * C_ + c)[j]));
    }

    bool valid() const {
        bool good =
            this->common_valid() && this->is_sum(*summed_slopes_) && hedge_.valid() && S_.valid() && a_.finite();
        for (std::size_t i = 0; i < K_; ++i) good = good && f_[i].valid(config_.norm_bound);
        return good;
    }

  protected:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    SharedBuffer(const Config& c, Arena& arena, std::size_t functions_per_kernel, double G1)
        : Learner<T>(c, arena), C_(functions_per_kernel), G1_(G1) {
        const RowNorms norms = norms_for(bank_.metrics(), c.features);
        summed_slopes_ = arena.take<double>(1);
        hedge_ = Hedge(arena, K_);
        f_ = arena.take<Hypothesis>(K_);
        a_ = Coefficients<T>(arena, K_ * C_, c.budget);
        S_ = Buffer<T>(arena, c.budget, c.features, norms, c.storage);
        this->end_of_state(arena, K_ * C_);
        stored_ = QueryScratch<T>(arena, c.features, norms, c.storage);
        nearest_ = arena.take<Nearest>(bank_.groups());
        steps_ = arena.take<double>(C_);
        lambda_ = c.step * c.norm_bound / std::sqrt(static_cast<double>(c.budget));
    }

    [[nodiscard]] static Status check_parameters(const Config& c) {
        if (c.budget < 2) return Status::budget_too_small;
        if (!positive(c.step)) return Status::step_not_positive;
        if (!positive(c.norm_bound)) return Status::norm_bound_not_positive;
        return Status::ok;
    }

    // work.values[iC + c] = f_ic(x).
    void evaluate(const Query<T>& x, Workspace<T>& work, Nearest* nearest) const {
        this->template pass<Count>(S_, S_.size(), a_, C_, false, x, work, nearest);
        for (std::size_t i = 0; i < K_; ++i)
            for (std::size_t c = 0; c < C_; ++c) work.values[i * C_ + c] *= f_[i].scale;
    }

    // Whether `move` with slopes of this size will empty a part of S, which takes long if S is large.
    bool will_remove(double size) const {
        if (S_.size() < config_.budget || near_enough(gamma(*summed_slopes_ + size))) return false;
        Rng rng = common_->rng;
        return is_stored(size, rng);
    }

    // Takes the slopes g[c] of the loss at the aggregated score, of size |l'|, and moves every kernel's functions: at a
    // stored neighbour if there is one near enough, else, by chance, at x itself, which is then stored.
    void move(const Query<T>& x, const double* g, double size) {
        *summed_slopes_ += size;
        if (near_enough(gamma(*summed_slopes_))) {
            step_at_neighbours(x, g);
        } else if (is_stored(size, common_->rng)) {
            add(x, g, size);
        }
    }

    Hedge hedge_;
    Nearest* nearest_ = nullptr;

  private:
    // Eq. learning_rate:M-OMD-S: gamma shrinks with the summed |l'|, so easy streams merge more points.
    double gamma(double summed_slopes) const { return hedge_.root_2_ln_K() / std::sqrt(1.0 + summed_slopes); }
    bool is_stored(double size, Rng& rng) const { return rng.uniform() < size / (size + G1_); }

    // con(a): some stored row is within gamma of x in every kernel's space.
    bool near_enough(double gamma) const {
        if (S_.size() == 0) return false;
        for (std::size_t group = 0; group < bank_.groups(); ++group)
            if (!bank_.within(bank_.leader_of(group), nearest_[group].dissimilarity, gamma)) return false;
        return true;
    }

    void step_at_neighbours(const Query<T>& x, const double* g) {
        for (std::size_t c = 0; c < C_; ++c) steps_[c] = -lambda_ * g[c];
        for (std::size_t group = 0; group < bank_.groups(); ++group) {
            const std::size_t s =
                S_.find(bank_, bank_.leader_of(group), x, nearest_[group].tile, nearest_[group].dissimilarity);
            evaluate(S_.query(s, stored_), work_, nullptr);
            for (std::size_t i = 0; i < K_; ++i)
                if (bank_.group_of(i) == group) step(i, s);
        }
        ++common_->tally.proxies;
    }

    // g / P with P = |g| / (|g| + G1): rows that are stored less often have larger steps.
    void add(const Query<T>& x, const double* g, double size) {
        if (S_.size() == config_.budget) {
            remove();
            evaluate(x, work_, nullptr);
        }
        const std::size_t j = S_.size();
        S_.append(x);
        for (std::size_t c = 0; c < C_; ++c) steps_[c] = -lambda_ * ((g[c] / size) * (size + G1_));
        for (std::size_t i = 0; i < K_; ++i) step(i, j);
        ++common_->tally.additions;
    }

    // f_ic += steps_[c] kappa_i(x_j, .) where work_.values has f_ic(x_j), then the projection.
    void step(std::size_t i, std::size_t j) {
        Hypothesis& f = f_[i];
        double norm2 = f.norm2;
        for (std::size_t c = 0; c < C_; ++c) {
            T& a = a_.of(i * C_ + c)[j];
            a = static_cast<T>(static_cast<double>(a) + steps_[c] / f.scale);
            norm2 = norm2 + 2.0 * steps_[c] * work_.values[i * C_ + c] + steps_[c] * steps_[c];
        }
        f.norm2 = larger(norm2, 0.0);
        f.project(config_.norm_bound);
        if (f.wants_folding()) fold(i);
    }

    void fold(std::size_t i) {
        for (std::size_t c = 0; c < C_; ++c) a_.scale(i * C_ + c, f_[i].scale);
        f_[i].scale = 1.0;
    }

    // Drops the oldest half, everything, or only the oldest, and recomputes the norms. If only the oldest is dropped,
    // its contribution is subtracted instead, except once in B times, so that rounding errors do not accumulate.
    void remove() {
        Tally& tally = common_->tally;
        const bool afresh = config_.removal != Removal::oldest || tally.removals % config_.budget == 0;
        if (!afresh) take_away_oldest();
        for (std::size_t n = 0; n < K_ * C_; ++n) a_.erase(n, 0, this->leaving(), S_.size());
        S_.erase(0, this->leaving());
        if (afresh) compute_norms();
        for (std::size_t i = 0; i < K_; ++i) {
            f_[i].norm2 = larger(f_[i].norm2, 0.0);
            f_[i].project(config_.norm_bound);
        }
        ++tally.removals;
    }

    // |f - a k(x,.)|^2 = |f|^2 - 2 a f(x) + a^2
    void take_away_oldest() {
        evaluate(S_.query(0, stored_), work_, nullptr);
        for (std::size_t n = 0; n < K_ * C_; ++n) {
            Hypothesis& f = f_[n / C_];
            const double a = f.scale * static_cast<double>(a_.of(n)[0]);
            f.norm2 -= a * (2.0 * work_.values[n] - a);
        }
    }

    // As if the rows were added one by one: |f + a k(x_j,.)|^2 = |f|^2 + 2 a f(x_j) + a^2.
    void compute_norms() {
        for (std::size_t i = 0; i < K_; ++i) {
            fold(i);
            f_[i].norm2 = 0.0;
        }
        for (std::size_t j = 0; j < S_.size() && !Watch::give_up(); ++j) {
            this->template pass<Count>(S_, j, a_, C_, false, S_.query(j, stored_), work_, nullptr);
            for (std::size_t n = 0; n < K_ * C_; ++n) {
                const double a = static_cast<double>(a_.of(n)[j]);
                f_[n / C_].norm2 += a * (2.0 * work_.values[n] + a);
            }
        }
    }

    std::size_t C_;
    double G1_, lambda_ = 0.0;
    double* summed_slopes_ = nullptr;
    Hypothesis* f_ = nullptr;
    Coefficients<T> a_;  // row iC + c
    Buffer<T> S_;
    QueryScratch<T> stored_;
    double* steps_ = nullptr;
};

POCKETKERNEL_END
