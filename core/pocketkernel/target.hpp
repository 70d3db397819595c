// Target: one number to predict: its level and scale, its intervals, and what an answer's error teaches.
//
// For a quantile tau the error of a lesson is tau's: as far as one Newton step would go if errors were normal, and an
// offset follows the share of answers that were too low.
#pragma once

#include "interval_tracker.hpp"
#include "target_scale.hpp"
#include "tuning.hpp"

POCKETKERNEL_BEGIN

struct Target {
    TargetScale scale;
    IntervalTracker intervals;
    double offset;  // of a quantile's answers, in units of scale.size
    double unit;    // of coefficients: a power of 2 near the deviation of y, so that single precision can hold them

    void reset() {
        unit = 1.0;
        intervals.reset();
    }

    double deviation() const { return std::sqrt(scale.variance); }
    // What is added to a score.
    double level() const { return scale.mean + offset * scale.size; }
    double within_reach(double score) const {
        const double most = 2.0 * scale.peak;
        return larger(-most, smaller(score, most));
    }

    // The error of an answer, for what follows the errors.
    void judge(double error, double quantile) {
        intervals.observe(error, scale.size);
        if (quantile > 0.0) offset += Tuning::Target::offset * ((error > 0.0 ? 1.0 : 0.0) - (1.0 - quantile));
    }
    static double loss(double error, double quantile) {
        if (quantile == 0.0) return error * error;
        return error > 0.0 ? quantile * error : (quantile - 1.0) * error;
    }
    // The error as a lesson: of a quantile, the Newton step towards it, which is the same for all large errors;
    // `newton` is 1 over the normal density there.
    double lesson(double error, double quantile, double newton) const {
        const double deviation = 1.2533141373155003 * scale.size;  // root of pi / 2
        if (quantile == 0.0 || !(deviation > 0.0)) return scale.clipped(error);
        const double above = 0.5 + 0.5 * larger(-1.0, smaller(error / (0.5 * deviation), 1.0));
        return newton * deviation * (above - (1.0 - quantile));
    }
    static double newton(double quantile) {
        const double score = normal_quantile(quantile);
        return 2.5066282746310002 * exponential(0.5 * score * score);  // root of 2 pi
    }

    // Whether coefficients are to have another unit; then by how much they are to be multiplied.
    double rebase() {
        const double now = deviation();
        if (!(now > 0x1p+20 * unit || (now > 1e-80 && now < 0x1p-20 * unit))) return 1.0;
        const double before = unit;
        unit = power_of_two_below(now);
        return before / unit;
    }

    bool valid() const {
        return scale.valid() && intervals.valid() && unit >= 1e-90 && unit <= 1e90 && offset >= -1e12 && offset <= 1e12;
    }

  private:
    static double power_of_two_below(double x) {
        return bit_cast<double>(bit_cast<std::uint64_t>(x) & (std::uint64_t(0x7ff) << 52));
    }
};

POCKETKERNEL_END
