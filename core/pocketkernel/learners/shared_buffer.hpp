// SharedBuffer: the common part of the two M-OMD-S learners. C functions for each of K kernels over one buffer.
//
//   S        one buffer of at most B examples, shared by all kernels and classes      B  config.budget
//   f_ic     scale_i sum_j a[i][c][j] kappa_i(x_j, .)
//   |f_i|    norm over all c together, at most U                                      U  config.norm_bound
//   p        weights of the kernels (Hedge)                                           lambda = step U / sqrt(B)
//   G        sum of |l'| so far, this round included
//
// Besides, evidence for a certificate, from which nothing is learned: the sum of <g, F>, of |l'| over rounds that were
// not merged and the largest of these, the sum of the rows' weights, and Gamma_i, how far the sum of the slopes times
// kappa_i(x_t, .) may be from what the steps of f_i tell: the way that removals and projections moved f_i, over lambda,
// and the slopes of merged rows times their distances. It is about rows that were new when they came. Later passes over
// them are like one removal: they moved f_i by no more than its norms before and after.
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

    void repeat(bool again) {
        if (again == repeats_) return;
        repeats_ = again;
        for (std::size_t i = 0; i < K_; ++i) Gamma_[i] += std::sqrt(f_[i].norm2) / lambda_;
    }

    // The sum of <g, F>; that of |l'| over rounds that were not merged, and the largest; that of the weights; and every
    // kernel's Gamma.
    template <class F>
    void for_each_evidence(F&& f) const {
        f(sums_[linear]);
        f(sums_[unmerged]);
        f(hedge_.spare()[steepest]);
        f(hedge_.spare()[weights]);
        for (std::size_t i = 0; i < K_; ++i) f(Gamma_[i]);
    }

    bool valid() const {
        bool good = this->common_valid() && this->is_sum(sums_[slopes]) && this->is_sum(sums_[unmerged]) &&
                    absolute(sums_[linear]) <= state_limit && hedge_.valid() && S_.valid() && a_.finite() &&
                    this->is_sum(hedge_.spare()[steepest]) && this->is_sum(hedge_.spare()[weights]);
        for (std::size_t i = 0; i < K_; ++i) good = good && f_[i].valid(config_.norm_bound) && this->is_sum(Gamma_[i]);
        return good;
    }

  protected:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::repeats_;
    using Learner<T>::work_;

    POCKETKERNEL_ONCE SharedBuffer(const Config& c, Arena& arena, std::size_t functions_per_kernel, double G1)
        : Learner<T>(c, arena), C_(functions_per_kernel), G1_(G1) {
        const RowNorms norms = norms_for(bank_.metrics(), c.features);
        sums_ = arena.take<double>(sums + K_);
        if (sums_) Gamma_ = sums_ + sums;  // else the arena only counts
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
        const std::size_t most = config_.budget - (config_.removal == Removal::eager);
        if (S_.size() < most || near_enough(gamma(sums_[slopes] + size))) return false;
        Rng rng = common_->rng;
        return is_stored(size, rng);
    }

    // Takes the slopes g[c] of the loss at the aggregated score F, of size |l'|, and <g, F>, and moves every kernel's
    // functions: at a stored neighbour if there is one near enough, else, by chance, at x itself, which is then stored.
    // All of them carry the row's weight.
    void move(const Query<T>& x, const double* g, double size, double product, double weight) {
        sums_[slopes] += size;
        const bool merged = near_enough(gamma(sums_[slopes]));
        if (!repeats_) note(size, product, weight, merged);
        if (merged) {
            step_at_neighbours(x, g);
            return;
        }
        if (is_stored(size, common_->rng)) add(x, g, size);
    }

    Hedge hedge_;
    Nearest* nearest_ = nullptr;

  private:
    // Sums so far: of |l'|, which is G; of <g, F>; of |l'| over rounds that were not merged.
    enum Sum : std::size_t { slopes, linear, unmerged, sums };
    // Beside the weights of the kernels, since that is where there was room: the largest |l'| of a round that was not
    // merged, and the sum of the rows' weights.
    enum Spare : std::size_t { steepest, weights };

    void note(double size, double product, double weight, bool merged) {
        double* spare = hedge_.spare();
        spare[weights] += weight;
        sums_[linear] += product;
        if (merged) return;
        sums_[unmerged] += size;
        spare[steepest] = larger(spare[steepest], size);
    }
    // Evidence: how far f_i may be from what the slopes of new rows would have made of it, over lambda.
    void drift(std::size_t i, double length) {
        if (!repeats_) Gamma_[i] += length;
    }

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
        double squares = 0.0;
        for (std::size_t c = 0; c < C_; ++c) {
            steps_[c] = -lambda_ * g[c];
            squares += g[c] * g[c];
        }
        for (std::size_t i = 0; i < K_; ++i) {
            const double far = bank_.squared_distance(i, nearest_[bank_.group_of(i)].dissimilarity);
            drift(i, std::sqrt(squares * larger(far, 0.0)));
        }
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
        if (config_.removal == Removal::eager && S_.size() == config_.budget) remove();
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
        if (f.project(config_.norm_bound) < 1.0) drift(i, (std::sqrt(norm2) - config_.norm_bound) / lambda_);
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
        double whole[max_kernels], gone[max_kernels], rest[max_kernels];  // squared norms
        for (std::size_t i = 0; i < K_; ++i) {
            whole[i] = gone[i] = f_[i].norm2;
            if (afresh) fold(i);
        }
        if (!afresh)
            take_away_oldest(gone);
        else if (this->leaving() < S_.size())
            compute_norms(this->leaving(), gone);
        for (std::size_t n = 0; n < K_ * C_; ++n) a_.erase(n, 0, this->leaving(), S_.size());
        S_.erase(0, this->leaving());
        if (afresh) compute_norms(S_.size(), rest);
        for (std::size_t i = 0; i < K_; ++i) {
            Hypothesis& f = f_[i];
            rest[i] = f.norm2 = larger(afresh ? rest[i] : f.norm2, 0.0);
            const double s = f.project(config_.norm_bound);
            // |f - s r|^2 of f = q + r, where q is gone: 2 <f, r> = |f|^2 + |r|^2 - |q|^2.
            const double moved = whole[i] - s * (whole[i] + rest[i] - gone[i]) + s * s * rest[i];
            drift(i, std::sqrt(larger(moved, 0.0)) / lambda_);
        }
        ++tally.removals;
    }

    // |f - a k(x,.)|^2 = |f|^2 - 2 a f(x) + a^2
    void take_away_oldest(double* gone) {
        evaluate(S_.query(0, stored_), work_, nullptr);
        for (std::size_t i = 0; i < K_; ++i) gone[i] = 0.0;
        for (std::size_t n = 0; n < K_ * C_; ++n) {
            Hypothesis& f = f_[n / C_];
            const double a = f.scale * static_cast<double>(a_.of(n)[0]);
            f.norm2 -= a * (2.0 * work_.values[n] - a);
            gone[n / C_] += a * a;
        }
    }

    // Squared norms of every f_i over the oldest `rows` rows, if all scales are 1. As if the rows were added one by
    // one: |f + a k(x_j,.)|^2 = |f|^2 + 2 a f(x_j) + a^2.
    void compute_norms(std::size_t rows, double* norms2) {
        for (std::size_t i = 0; i < K_; ++i) norms2[i] = 0.0;
        for (std::size_t j = 0; j < rows && !Watch::give_up(); ++j) {
            this->template pass<Count>(S_, j, a_, C_, false, S_.query(j, stored_), work_, nullptr);
            for (std::size_t n = 0; n < K_ * C_; ++n) {
                const double a = static_cast<double>(a_.of(n)[j]);
                norms2[n / C_] += a * (2.0 * work_.values[n] + a);
            }
        }
    }

    std::size_t C_;
    double G1_, lambda_ = 0.0;
    double* sums_ = nullptr;
    double* Gamma_ = nullptr;  // evidence of kernel i
    Hypothesis* f_ = nullptr;
    Coefficients<T> a_;  // row iC + c
    Buffer<T> S_;
    QueryScratch<T> stored_;
    double* steps_ = nullptr;
};

POCKETKERNEL_END
