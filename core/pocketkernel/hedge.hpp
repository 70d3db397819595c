// Hedge: expert advice over K kernels (eq:JCST2022:updating_sampling_probability).
//
//   V += sum_i p_i c_i^2,   C_i += c_i,   eta = sqrt(2 ln K) / sqrt(1 + V),   p_i ~ exp(-eta (C_i - min_j C_j))
#pragma once

#include "arena.hpp"
#include "config.hpp"
#include "math.hpp"

POCKETKERNEL_BEGIN

class Hedge {
  public:
    Hedge() = default;
    Hedge(Arena& arena, std::size_t experts)
        : experts_(experts),
          costs_(arena.take<double>(padded<double>(experts))),
          weights_(arena.take<double>(padded<double>(experts))),
          squares_(arena.take<double>(lanes_of<double>)),
          root_2_ln_K_(std::sqrt(2.0 * logarithm(static_cast<double>(experts)))) {}

    // Lanes beyond the experts have infinite cost and weight 0.
    void reset() {
        for (std::size_t i = 0; i < padded<double>(experts_); ++i) {
            costs_[i] = i < experts_ ? 0.0 : std::numeric_limits<double>::infinity();
            weights_[i] = i < experts_ ? 1.0 / static_cast<double>(experts_) : 0.0;
        }
    }

    const double* weights() const { return weights_; }
    // Numbers of the state that a learner may have, 0 in the beginning: what V leaves of its pack.
    double* spare() const { return squares_ + 1; }
    double root_2_ln_K() const { return root_2_ln_K_; }

    double mix(const double* scores) const {
        double f = 0.0;
        for (std::size_t i = 0; i < experts_; ++i) f += weights_[i] * scores[i];
        return f;
    }

    // Charges expert i with cost_of(scores)[i] >= 0, computed on packs of scores; the last pack of scores must be
    // whole.
    template <class CostOf>
    void update(const double* scores, CostOf&& cost_of) {
        if (experts_ == 1) return;
        Pack<double> squares(0.0), least(std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < experts_; i += lanes_of<double>) {
            const Pack<double> cost = cost_of(Pack<double>::load(scores + i));
            const Pack<double> total = Pack<double>::load(costs_ + i) + cost;
            squares += Pack<double>::load(weights_ + i) * cost * cost;
            least = smaller(total, least);
            total.store(costs_ + i);
        }
        *squares_ += sum(squares);
        const Pack<double> eta(root_2_ln_K_ / std::sqrt(1.0 + *squares_)), best(smallest_lane(least));
        Pack<double> total(0.0);
        for (std::size_t i = 0; i < experts_; i += lanes_of<double>) {
            const Pack<double> weight = exponential(eta * (best - Pack<double>::load(costs_ + i)));
            total += weight;
            weight.store(weights_ + i);
        }
        const Pack<double> share(1.0 / sum(total));
        for (std::size_t i = 0; i < experts_; i += lanes_of<double>)
            (Pack<double>::load(weights_ + i) * share).store(weights_ + i);
    }

    // M-OMD-S and LKMBooks charge the linearised loss, shifted so that the cost of the best kernel is 0.
    template <class V>
    static POCKETKERNEL_INLINE V linearised_cost(double g, const V& score, double least, double most) {
        return V(g) * (score - V(g > 0.0 ? least : most));
    }

    bool valid() const {
        double total = 0.0;
        bool good = *squares_ >= 0.0 && *squares_ <= state_limit;
        for (std::size_t i = 0; i < experts_; ++i) {
            good = good && costs_[i] >= 0.0 && costs_[i] <= state_limit && weights_[i] >= 0.0;
            total += weights_[i];
        }
        for (std::size_t i = experts_; i < padded<double>(experts_); ++i)
            good = good && costs_[i] == std::numeric_limits<double>::infinity() && weights_[i] == 0.0;
        return good && absolute(total - 1.0) < 1e-9;
    }

  private:
    std::size_t experts_ = 0;
    double* costs_ = nullptr;
    double* weights_ = nullptr;
    double* squares_ = nullptr;
    double root_2_ln_K_ = 0.0;
};

POCKETKERNEL_END
