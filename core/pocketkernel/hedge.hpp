// Hedge: expert advice over K kernels (eq:JCST2022:updating_sampling_probability).
//
//   V += sum_i p_i c_i^2,   C_i += c_i,   eta = sqrt(2 ln K) / sqrt(1 + V),   p_i ~ exp(-eta (C_i - min_j C_j))
#pragma once

#include "arena.hpp"
#include "math.hpp"

POCKETKERNEL_BEGIN

class Hedge {
  public:
    Hedge() = default;
    Hedge(Arena& arena, std::size_t experts)
        : experts_(experts), costs_(arena.take<double>(padded<double>(experts))),
          weights_(arena.take<double>(padded<double>(experts))), squares_(arena.take<double>(1)) {}

    // The state is zero as it comes from the arena, but for the uniform weights.
    void reset() {
        for (std::size_t i = 0; i < experts_; ++i) weights_[i] = 1.0 / static_cast<double>(experts_);
        root_2_ln_K_ = std::sqrt(2.0 * logarithm(static_cast<double>(experts_)));
    }

    const double* weights() const { return weights_; }
    double root_2_ln_K() const { return root_2_ln_K_; }

    double mix(const double* scores) const {
        double f = 0.0;
        for (std::size_t i = 0; i < experts_; ++i) f += weights_[i] * scores[i];
        return f;
    }

    // cost(i) >= 0 is what expert i pays for this round.
    template <class Cost>
    void update(Cost&& cost) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < experts_; ++i) {
            const double c = cost(i);
            *squares_ += weights_[i] * c * c;
            costs_[i] += c;
            least = smaller(least, costs_[i]);
        }
        const double eta = root_2_ln_K_ / std::sqrt(1.0 + *squares_);
        for (std::size_t i = 0; i < experts_; i += lanes_of<double>)
            exponential(Pack<double>(-eta) * (Pack<double>::load(costs_ + i) - Pack<double>(least))).store(weights_ + i);
        double total = 0.0;
        for (std::size_t i = 0; i < experts_; ++i) total += weights_[i];
        const double share = 1.0 / total;
        for (std::size_t i = 0; i < experts_; ++i) weights_[i] *= share;
    }

    // M-OMD-S and LKMBooks charge the linearised loss, moved so that the best kernel pays nothing (SPEC 3.5).
    static double linearised_cost(double g, double score, double least, double most) {
        return g > 0.0 ? g * (score - least) : g * (score - most);
    }

    bool valid() const {
        double total = 0.0;
        for (std::size_t i = 0; i < experts_; ++i) {
            if (!(costs_[i] >= 0.0 && weights_[i] >= 0.0)) return false;
            total += weights_[i];
        }
        return *squares_ >= 0.0 && absolute(total - 1.0) < 1e-9;
    }

  private:
    std::size_t experts_ = 0;
    double* costs_ = nullptr;
    double* weights_ = nullptr;
    double* squares_ = nullptr;
    double root_2_ln_K_ = 0.0;
};

POCKETKERNEL_END
