// IntervalTracker: how far errors reach below and above, for any share of them, in 2 x 16 numbers.
//
//   c_i          shares of errors, the nodes: 0, 0.1, ... 0.99
//   below_i, above_i   bounds of the interval that is to hold c_i of the errors, in units of their recent size
//
// After an error above its bound, above_i grows by g_i (1 - l_i), else it falls by g_i l_i, where l_i = (1 - c_i) / 2:
// a quantile tracker (adaptive conformal inference, Gibbs & Candes 2021). Since g_i is constant, the share of errors
// above over any N rows differs from l_i by exactly (change of above_i) / (g_i N), whatever the stream does, if each
// error is held against the bound that all errors before it have led to. The units only keep the numbers still. The
// price: trackers move independently, so that the interval of a larger share may for some rows be the narrower one.
#pragma once

#include "normal.hpp"

POCKETKERNEL_BEGIN

class IntervalTracker {
  public:
    static constexpr std::size_t nodes = 16;

    void reset() {
        for (std::size_t i = 0; i < nodes; ++i) below_[i] = above_[i] = per_size * score[i];
    }

    // An error, and the size that errors have had of late.
    void observe(double error, double size) {
        for (std::size_t i = 0; i < nodes; ++i) {
            const double level = 0.5 * (1.0 - share[i]);
            above_[i] += step[i] * ((error > above_[i] * size ? 1.0 : 0.0) - level);
            below_[i] += step[i] * ((-error > below_[i] * size ? 1.0 : 0.0) - level);
        }
    }

    // The interval that is to hold a share c of the errors, above 0 and below 1; units as in `observe`.
    double below(double c) const { return bound(below_, normal_quantile(0.5 * (1.0 + c))); }
    double above(double c) const { return bound(above_, normal_quantile(0.5 * (1.0 + c))); }

    bool valid() const {
        bool good = true;
        for (std::size_t i = 0; i < nodes; ++i)
            good = good && absolute(below_[i]) <= most && absolute(above_[i]) <= most;
        return good;
    }

  private:
    static constexpr double per_size = 1.2533141373155003;  // sqrt(pi / 2): deviation over mean size of normal errors
    static constexpr double most = 1e12;
    static constexpr double share[nodes] = {0.0,  0.1, 0.2,  0.3, 0.4,   0.5,  0.6,   0.7,
                                            0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99};
    static constexpr double score[nodes] = {0.0,
                                            0.12566134685507413,
                                            0.2533471031357998,
                                            0.3853204664075676,
                                            0.5244005127080407,
                                            0.6744897501960817,
                                            0.8416212335729144,
                                            1.0364333894937894,
                                            1.1503493803760079,
                                            1.2815515655446008,
                                            1.439531470938456,
                                            1.6448536269514715,
                                            1.7804643416920258,
                                            1.9599639845400536,
                                            2.2414027276049464,
                                            2.5758293035489};
    // Rare errors are far apart in size.
    static constexpr double step[nodes] = {0.1, 0.1, 0.1, 0.1, 0.1,  0.1,  0.1, 0.1,
                                           0.1, 0.1, 0.1, 0.1, 0.15, 0.15, 0.2, 0.3};

    // Linear in the normal score between nodes, and beyond the last one never falling.
    static double bound(const double* q, double z) {
        std::size_t i = 1;
        while (i < nodes - 1 && z > score[i]) ++i;
        const double rise = z > score[i] ? larger(q[i] - q[i - 1], 0.0) : q[i] - q[i - 1];
        return q[i] + rise * ((z - score[i]) / (score[i] - score[i - 1]));
    }

    double below_[nodes], above_[nodes];
};

POCKETKERNEL_END
