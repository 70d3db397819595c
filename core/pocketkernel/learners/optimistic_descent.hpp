// OptimisticDescent: the common part of the two hinge learners. Optimistic mirror descent with a reservoir.
//
//   S_i      a buffer of at most B examples, of each kernel or of all together     B  config.budget
//   V        a reservoir of M examples, S_0 the archive of all that were in V
//   H_i      -hatgrad_i = (1/|V|) sum_{(v,w) in V} w kappa_i(v, .)                 M  config.reservoir
//            w = a label +-1 times the weight of its row, as is the y of a step
//   f'_i     scale_i (sum over S_i + sum over S_0), |f'_i| <= U                    U  config.norm_bound
//   f_i      f'_i + lambda H_i, the optimistic hypothesis that predicts            lambda = step U / sqrt(B)
//   A_i      sum of D = |grad - hatgrad|^2 over the rounds with y f_i < 1
//
// H_i(v) and f'_i(v) for v in V are kept up to date, so <f'_i, H_i> and |H_i|^2 cost O(M) a round. Which rows enter a
// buffer, and which leave it, is the learner's. `shared_`: all kernels have one buffer, S_i = S.
#pragma once

#include "../reservoir.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class OptimisticDescent : public Learner<T> {
  public:
    using Element = T;

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, false);
        if (status != Status::ok) return status;
        if (c.budget < 2) return Status::budget_too_small;
        if (!positive(c.step)) return Status::step_not_positive;
        if (!positive(c.norm_bound)) return Status::norm_bound_not_positive;
        if (c.reservoir < 1 || c.reservoir > 10000) return Status::reservoir_out_of_range;
        if (!(c.horizon >= 1.0 && c.horizon <= 1e18)) return Status::horizon_out_of_range;
        return Status::ok;
    }

    // S_0 grows to M (1 + ln(T/M)) examples in expectation.
    static std::size_t archive_capacity(const Config& c) {
        return c.reservoir * (1 + static_cast<std::size_t>(std::ceil(logarithm(c.horizon))));
    }

    void reset() {
        common_->rng = Rng(config_.seed);
        hedge_.reset();
        for (std::size_t i = 0; i < K_; ++i) own_[i].f.scale = 1.0;
    }

    double score(const Query<T>& x, Workspace<T>& work) const {
        evaluate(x, work, nullptr, nullptr);
        return mix(work);
    }

    // Of the optimistic f_i.
    double kernel_score(const Workspace<T>& work, std::size_t i) const { return optimistic(work, i); }
    // Of f'_i: those over S_i, then those over S_0.
    template <class F>
    void for_each_coefficient(std::size_t i, F&& f) const {
        const double scale = own_[i].f.scale;
        for (std::size_t j = 0; j < S(i).size(); ++j) f(scale * static_cast<double>(a_.of(i)[j]));
        for (std::size_t j = 0; j < S0_.size(); ++j) f(scale * static_cast<double>(a0_.of(i)[j]));
    }

    KernelReport report(std::size_t i) const {
        const Own& own = own_[i];
        return {hedge_.weights()[i], std::sqrt(own.f.norm2), own.A, S(i).size(), own.additions, own.proxies,
                own.removals};
    }

    bool valid() const {
        bool good = this->common_valid() && hedge_.valid() && S0_.valid() && V_.valid(S0_.size(), this->clock()) &&
                    a_.finite() && a0_.finite() && w_.finite(most_weight);
        for (std::size_t i = 0; i < K_; ++i)
            good = good && own_[i].f.valid(config_.norm_bound) && this->is_sum(own_[i].A) && S(i).valid() &&
                   (!shared_ || this->is_sum(spent_[i])) &&
                   absolute(own_[i].H_norm2) <= 1.01 * most_weight * most_weight;
        for (std::size_t n = 0; n < K_ * V_.slots(); ++n)
            good = good && absolute(H_at_V_[n]) <= 1.01 * most_weight && absolute(f_at_V_[n]) <= value_most;
        return good;
    }

  protected:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    POCKETKERNEL_ONCE OptimisticDescent(const Config& c, Arena& arena, bool shared)
        : Learner<T>(c, arena), shared_(shared) {
        const RowNorms norms = norms_for(bank_.metrics(), c.features);
        const std::size_t archive = archive_capacity(c);
        hedge_ = Hedge(arena, K_);
        V_ = Reservoir(arena, c.reservoir);
        own_ = arena.take<Own>(K_);
        H_at_V_ = arena.take<double>(K_, c.reservoir);
        f_at_V_ = arena.take<double>(K_, c.reservoir);
        a_ = Coefficients<T>(arena, K_, c.budget);
        a0_ = Coefficients<T>(arena, K_, archive);
        w_ = Coefficients<T>(arena, 1, archive);
        S0_ = Buffer<T>(arena, archive, c.features, norms, c.storage);
        Buffer<T> buffers[max_kernels];
        const std::size_t count = shared_ ? std::size_t(1) : K_;
        for (std::size_t i = 0; i < count; ++i) buffers[i] = Buffer<T>(arena, c.budget, c.features, norms, c.storage);
        if (shared_) spent_ = arena.take<double>(K_);
        this->end_of_state(arena, 2 * K_);
        S_ = arena.take<Buffer<T>>(count);
        for (std::size_t i = 0; S_ && i < count; ++i) S_[i] = buffers[i];
        stored_ = QueryScratch<T>(arena, c.features, norms, c.storage);
        nearest_ = arena.take<Nearest>(K_);
        optimistic_ = arena.take<double>(padded<double>(K_));
        k0_ = Coefficients<T>(arena, K_, archive);
        lambda_ = c.step * c.norm_bound / std::sqrt(static_cast<double>(c.budget));
    }

    // |H_i| is at most the largest weight of a row, and a kernel's values at most the sum of its coefficients.
    static constexpr double most_weight = 1e9, value_most = 1e8 * coefficient_limit<T>();

    // The state of one kernel.
    struct Own {
        Hypothesis f;    // f'_i
        double A;        // A_i
        double H_norm2;  // |H_i|^2
        std::uint64_t additions, proxies, removals;
    };
    static_assert(part_of_state<Own, 56>);

    Buffer<T>& S(std::size_t i) { return S_[shared_ ? 0 : i]; }
    const Buffer<T>& S(std::size_t i) const { return S_[shared_ ? 0 : i]; }

    // A round: what is common, and in the middle teach(), which moves the kernels with y f_i(x) < 1. will_remove(rng)
    // makes the same decisions, with a copy of the random numbers, and answers whether it will empty a part of a
    // buffer.
    template <class WillRemove, class Teach>
    double round(const Query<T>& x, double y, double weight, WillRemove&& will_remove, Teach&& teach) {
        evaluate(x, work_, &k0_, nearest_);
        const double score = mix(work_);
        if (weight == 0.0) return score;
        for (std::size_t i = 0; i < K_; ++i) optimistic_[i] = optimistic(work_, i);
        if (Watch::present && will_take_long(will_remove)) this->begin_long_row();
        this->record(this->is_mistake(score, y), weight * Hinge::at(score, y).value);
        teach();
        if (!this->repeats_)
            hedge_.update(optimistic_, [&](const Pack<double>& f) {
                return Pack<double>(weight) * larger(Pack<double>(1.0) - Pack<double>(y) * f, Pack<double>(0.0));
            });
        const std::size_t slot = V_.offer(this->clock(), common_->rng);
        if (slot < V_.slots()) enter_reservoir(slot, x, weight * y);
        return score;
    }

    // Whether the round will empty a part of a buffer, or compare a large reservoir with its archive. Copying the state
    // for Watch must cost less than what is to come.
    template <class WillRemove>
    bool will_take_long(WillRemove&& will_remove) const {
        Rng rng = common_->rng;
        if (will_remove(rng)) return true;
        if (V_.offer(this->clock() + 1, rng) >= V_.slots()) return false;
        if (S0_.size() == S0_.capacity()) return true;
        const double work = static_cast<double>(V_.size()) * static_cast<double>(S0_.size()) *
                            static_cast<double>(config_.features + 8 * K_);
        return work > 0x1p26 && work > static_cast<double>(state_bytes(*this));
    }

    // D of kernel i; y carries the row's weight.
    double squared_difference(std::size_t i, double y) const {
        return larger(y * y - 2.0 * y * work_.values[K_ + i] + own_[i].H_norm2, 0.0);
    }
    // Whether a stored row of kernel i is within gamma of x, given A_i with this round included.
    bool near_enough(std::size_t i, double D, double A) const {
        return S(i).size() > 0 && bank_.within(i, nearest(i).dissimilarity, D / std::sqrt(1.0 + A));
    }
    const Nearest& nearest(std::size_t i) const { return nearest_[shared_ ? bank_.group_of(i) : i]; }

    // For a kernel with y f_i(x) < 1: D, which is added to A_i, and the step at the nearest stored example if that is
    // near enough. Returns whether the step was taken. y carries the row's weight.
    bool merge(std::size_t i, const Query<T>& x, double y, double& D) {
        Own& own = own_[i];
        D = squared_difference(i, y);
        own.A += D;
        if (!near_enough(i, D, own.A)) return false;
        const std::size_t s = S(i).find(bank_, i, x, nearest(i).tile, nearest(i).dissimilarity);
        const double at = value_of(i, S(i).query(s, stored_), k0_.of(i));
        step(i, s, lambda_ * y, at, 0.0, 0.0);
        ++own.proxies;
        ++common_->tally.proxies;
        return true;
    }

    // work.values[i] = f'_i(x) and work.values[K + i] = H_i(x). On the way, if wanted: kappa_i(x, .) on the archive,
    // and the row of S_i nearest to x.
    void evaluate(const Query<T>& x, Workspace<T>& work, Coefficients<T>* k0, Nearest* nearest) const {
        double own[max_kernels];
        if (shared_) {
            this->template pass<1>(S(0), S(0).size(), a_, 1, false, x, work, nearest);
            for (std::size_t i = 0; i < K_; ++i) own[i] = work.values[i];
        } else {
            for (std::size_t i = 0; i < K_; ++i) {
                if (nearest) nearest[i].reset();
                own[i] = own_pass(i, S(i).size(), x, nearest ? nearest + i : nullptr);
            }
        }
        archive_pass(x, work, k0);
        for (std::size_t i = 0; i < K_; ++i) work.values[i] = (work.values[i] + own[i]) * own_[i].f.scale;
    }
    double optimistic(const Workspace<T>& work, std::size_t i) const {
        return work.values[i] + lambda_ * work.values[K_ + i];
    }
    double mix(const Workspace<T>& work) const {
        double f = 0.0;
        for (std::size_t i = 0; i < K_; ++i) f += hedge_.weights()[i] * optimistic(work, i);
        return f;
    }

    // The archive serves all kernels at once: their unscaled sums over S_0, and H_i(x).
    void archive_pass(const Query<T>& x, Workspace<T>& work, Coefficients<T>* k0) const {
        for (std::size_t i = 0; i < 2 * K_; ++i) work.partial[i] = Pack<T>(T(0));
        if (k0) k0->clear(S0_.size());
        S0_.for_each_tile(bank_.metrics(), x, S0_.size(), [&](std::size_t tile, const auto& metrics) {
            constexpr std::size_t G = std::decay_t<decltype(metrics)>::tiles;
            bank_.evaluate(metrics, [&](std::size_t i, const auto& kernel) {
                for (std::size_t g = 0; g < G; ++g) {
                    const Pack<T> k = kernel(g);
                    work.partial[i] += a0_.pack(i, tile + g) * k;
                    work.partial[K_ + i] += w_.pack(0, tile + g) * k;
                    if (k0) k.store(k0->of(i) + (tile + g) * lanes_of<T>);
                }
            });
        });
        const double members = static_cast<double>(V_.size() > 0 ? V_.size() : 1);
        for (std::size_t i = 0; i < K_; ++i) {
            work.values[i] = sum(work.partial[i]);
            work.values[K_ + i] = sum(work.partial[K_ + i]) / members;
        }
    }

    // Kernel i's unscaled sum over the oldest `rows` rows of its own buffer, and the nearest of them if wanted.
    double own_pass(std::size_t i, std::size_t rows, const Query<T>& x, Nearest* nearest) const {
        return single_pass(i, S(i), rows, a_.of(i), x, [&](std::size_t tile, const auto& metrics, const auto&) {
            if (nearest) nearest->offer(bank_.least_dissimilarity(i, metrics), tile);
        });
    }
    // The same over the archive; kappa_i(x, .) on it is left in k0 if wanted.
    double archived_pass(std::size_t i, std::size_t rows, const Query<T>& x, T* k0) const {
        return single_pass(i, S0_, rows, a0_.of(i), x, [&](std::size_t tile, const auto& metrics, const auto& k) {
            constexpr std::size_t G = std::decay_t<decltype(metrics)>::tiles;
            for (std::size_t g = 0; k0 && g < G; ++g) k[g].store(k0 + (tile + g) * lanes_of<T>);
        });
    }
    // f'_i(x), from scratch.
    double value_of(std::size_t i, const Query<T>& x, T* k0) const {
        return own_[i].f.scale * (archived_pass(i, S0_.size(), x, k0) + own_pass(i, S(i).size(), x, nullptr));
    }

    template <class Visit>
    double single_pass(std::size_t i, const Buffer<T>& buffer, std::size_t rows, const T* a, const Query<T>& x,
                       Visit&& visit) const {
        Pack<T> partial(T(0));
        buffer.for_each_tile(bank_.metrics_of(i), x, rows, [&](std::size_t tile, const auto& metrics) {
            constexpr std::size_t G = std::decay_t<decltype(metrics)>::tiles;
            Pack<T> k[G];
            bank_.evaluate_one(i, metrics, k);
            for (std::size_t g = 0; g < G; ++g) partial += Pack<T>::load(a + (tile + g) * lanes_of<T>) * k[g];
            visit(tile, metrics, k);
        });
        return sum(partial);
    }

    // f'_i += s kappa_i(z, .) + r H_i, then the projection. z is row j of S_i, f'_i(z) and H_i(z) are given, and k0_
    // holds kappa_i(z, .) on the archive.
    void step(std::size_t i, std::size_t j, double s, double f_at_z, double H_at_z, double r) {
        Own& own = own_[i];
        const std::size_t members = V_.size();
        double* f_at = f_at_V_ + i * V_.slots();
        const double* H_at = H_at_V_ + i * V_.slots();
        double f_dot_H = 0.0;
        for (std::size_t v = 0; v < members; ++v) {
            const std::size_t place = V_.place(v);
            f_dot_H += static_cast<double>(w_.of(0)[place]) * f_at[v];
            f_at[v] += r * H_at[v];
            if (j != nowhere) f_at[v] += s * static_cast<double>(k0_.of(i)[place]);
            if (r != 0.0)
                add(a0_.of(i)[place],
                    r * static_cast<double>(w_.of(0)[place]) / (static_cast<double>(members) * own.f.scale));
        }
        if (members > 0) f_dot_H /= static_cast<double>(members);
        if (j != nowhere) add(a_.of(i)[j], s / own.f.scale);
        own.f.norm2 = larger(
            own.f.norm2 + 2.0 * (s * f_at_z + r * f_dot_H) + s * s + 2.0 * s * r * H_at_z + r * r * own.H_norm2, 0.0);
        project(i);
    }
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

    static void add(T& coefficient, double s) { coefficient = static_cast<T>(static_cast<double>(coefficient) + s); }

    void project(std::size_t i) {
        const double factor = own_[i].f.project(config_.norm_bound);
        if (factor == 1.0) return;
        for (std::size_t v = 0; v < V_.size(); ++v) f_at_V_[i * V_.slots() + v] *= factor;
        if (own_[i].f.wants_folding()) fold(i);
    }

    void fold(std::size_t i) {
        a_.scale(i, own_[i].f.scale);
        a0_.scale(i, own_[i].f.scale);
        own_[i].f.scale = 1.0;
    }

    void recompute(std::size_t i) {
        compute_norm(i);
        evaluate_on_reservoir(i);
    }

    // |f'_i|^2 as if the rows were added one by one: |f + a k(x_j,.)|^2 = |f|^2 + 2 a f(x_j) + a^2.
    void compute_norm(std::size_t i) {
        fold(i);
        double norm2 = 0.0;
        for (std::size_t j = 0; j < S0_.size() && !Watch::give_up(); ++j) {
            const double a = static_cast<double>(a0_.of(i)[j]);
            if (a != 0.0) norm2 += a * (2.0 * archived_pass(i, j, S0_.query(j, stored_), nullptr) + a);
        }
        for (std::size_t j = 0; j < S(i).size() && !Watch::give_up(); ++j) {
            const Query<T> x = S(i).query(j, stored_);
            const double a = static_cast<double>(a_.of(i)[j]);
            norm2 += a * (2.0 * (archived_pass(i, S0_.size(), x, nullptr) + own_pass(i, j, x, nullptr)) + a);
        }
        own_[i].f.norm2 = larger(norm2, 0.0);
    }

    // f'_i on V, then the projection.
    void evaluate_on_reservoir(std::size_t i) {
        for (std::size_t v = 0; v < V_.size() && !Watch::give_up(); ++v)
            f_at_V_[i * V_.slots() + v] = value_of(i, S0_.query(V_.place(v), stored_), nullptr);
        project(i);
    }

    void enter_reservoir(std::size_t slot, const Query<T>& x, double y) {
        if (slot < V_.size()) w_.of(0)[V_.place(slot)] = T(0);
        if (S0_.size() == S0_.capacity()) drop_oldest_archived(slot);
        V_.put(slot, S0_.size());
        w_.of(0)[S0_.size()] = static_cast<T>(y);
        S0_.append(x);
        ++common_->tally.archived;
        for (std::size_t i = 0; i < K_; ++i) f_at_V_[i * V_.slots() + slot] = value_of(i, x, nullptr);
        refresh_H();
    }

    // The oldest archived example outside V; the one that gives up its slot counts as outside.
    void drop_oldest_archived(std::size_t slot) {
        std::size_t place = 0;
        while (V_.holds(place) && place != V_.place(slot)) ++place;
        for (std::size_t i = 0; i < K_; ++i) a0_.erase(i, place, 1, S0_.size());
        w_.erase(0, place, 1, S0_.size());
        S0_.erase(place, 1);
        V_.archive_dropped(place);
        for (std::size_t i = 0; i < K_; ++i) recompute(i);
        ++common_->tally.overflowed;
    }

    void refresh_H() {
        for (std::size_t i = 0; i < K_; ++i) own_[i].H_norm2 = 0.0;
        for (std::size_t v = 0; v < V_.size() && !Watch::give_up(); ++v) {
            archive_pass(S0_.query(V_.place(v), stored_), work_, nullptr);
            const double share = static_cast<double>(w_.of(0)[V_.place(v)]) / static_cast<double>(V_.size());
            for (std::size_t i = 0; i < K_; ++i) {
                H_at_V_[i * V_.slots() + v] = work_.values[K_ + i];
                own_[i].H_norm2 += share * work_.values[K_ + i];
            }
        }
    }

    bool shared_;
    double lambda_ = 0.0;
    Hedge hedge_;
    Reservoir V_;
    Own* own_ = nullptr;
    double* spent_ = nullptr;   // if shared, evidence for a certificate
    double* H_at_V_ = nullptr;  // H_i(v), row i, column v
    double* f_at_V_ = nullptr;  // f'_i(v)
    Coefficients<T> a_, a0_;    // of f'_i over S_i and over S_0
    Coefficients<T> w_;         // weighted label of an archived example while it is in V, else 0
    Coefficients<T> k0_;        // scratch: kappa_i(x, .) on S_0
    Buffer<T> S0_;
    Buffer<T>* S_ = nullptr;  // one for each kernel, or one for all
    QueryScratch<T> stored_;
    Nearest* nearest_ = nullptr;
    double* optimistic_ = nullptr;  // f_i(x)
};

POCKETKERNEL_END
