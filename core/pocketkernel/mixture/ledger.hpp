// MixtureLedger: sums from which a bound on a mixture's regret follows, however its weights are learned.
//
//   s_0      F, the mixture's score; s_1 ... s_E the experts': R numbers each, of one function for two classes, else of
//            one for each class
//   g        slopes of the loss in F,  p  the probabilities of the classes
//   L_i      sum of the loss of expert i
//   q_i      sum of <g, s_i>
//   H_ij     sum of c Cov_p(s_i, s_j),   c = 2 (e^-a + a - 1) / a^2,   a = range(F) + radius sqrt(sum_i range(s_i)^2)
//
// The regret against expert i is the own loss less L_i. The loss along a line has |l'''| <= range l'', so against
// sum_i v_i s_i with |v| <= radius it is at most -q'z - z'Hz / 2, z = (-1, v). Nothing is learned from these sums.
#pragma once

#include "../config.hpp"
#include "../math.hpp"

POCKETKERNEL_BEGIN

class MixtureLedger {
  public:
    static constexpr double radius = 2.0;

    MixtureLedger() = default;
    // On so many numbers, which are part of the state and 0 in the beginning; on none it keeps nothing.
    MixtureLedger(std::size_t experts, double* state) : experts_(experts), sums_(state) {}
    static constexpr std::size_t doubles(std::size_t experts) { return 2 * experts + 1 + triangle(experts + 1); }

    void charge(std::size_t i, double loss) {
        if (keeps()) sums_[i] += loss;
    }

    // A row of class y that counts `weight` times; scores_of(n) has the R scores of s_n.
    template <class ScoresOf>
    POCKETKERNEL_APART void observe(double weight, std::size_t y, const double* g, Known<parts::functions> R,
                                    ScoresOf&& scores_of) {
        if (!keeps()) return;
        double square = 0.0, *q = sums_ + experts_, *H = q + experts_ + 1;
        for (std::size_t n = 1; n <= experts_; ++n) {
            const double range = range_of(scores_of(n), R);
            square += range * range;
        }
        const double c = weight * curvature(range_of(scores_of(0), R) + radius * std::sqrt(square));
        double mean[max_kernels + 1] = {}, d[max_kernels + 1];
        for (std::size_t r = 0; r < R; ++r) {
            const double slope = weight * g[r], p = probability(g, y, r);
            for (std::size_t i = 0; i <= experts_; ++i) {
                const double s = scores_of(i)[r];
                q[i] += slope * s;
                if (R > 1) mean[i] += p * s;
            }
        }
        for (std::size_t r = 0; r < R; ++r) {
            const double p = R == 1 ? absolute(g[0]) * (1.0 - absolute(g[0])) : probability(g, y, r), cp = c * p;
            for (std::size_t i = 0; i <= experts_; ++i) d[i] = scores_of(i)[r] - mean[i];
            for (std::size_t i = 0; i <= experts_; ++i) {
                const double factor = cp * d[i];
                for (std::size_t j = 0; j <= i; ++j) H[triangle(i) + j] += factor * d[j];
            }
        }
    }

    // Calls f(number) for all sums.
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t n = 0; keeps() && n < doubles(experts_); ++n) f(sums_[n]);
    }

    bool valid() const {
        bool good = true;
        for_each([&](double number) { good = good && absolute(number) <= state_limit; });
        for (std::size_t i = 0; keeps() && i < experts_; ++i) good = good && sums_[i] >= 0.0;
        return good;
    }

  private:
    bool keeps() const { return parts::kernels == 0 ? sums_ != nullptr : parts::kernels > 1; }
    static constexpr std::size_t triangle(std::size_t n) { return n * (n + 1) / 2; }

    // Of two classes the other one's score is 0.
    static double range_of(const double* s, Known<parts::functions> R) {
        return R == 1 ? absolute(s[0]) : greatest(s, R) - least(s, R);
    }

    static double curvature(double a) {
        return a < 1e-4 ? 1.0 - a / 3.0 : 2.0 * (a - exponential_complement(a)) / (a * a);
    }

    static double probability(const double* g, std::size_t y, std::size_t r) { return g[r] + (r == y ? 1.0 : 0.0); }

    Known<parts::kernels> experts_{0};
    double* sums_ = nullptr;  // L, q and the lower triangle of H, row by row
};

POCKETKERNEL_END
