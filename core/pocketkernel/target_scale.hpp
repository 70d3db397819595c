// TargetScale: level and scale of a target y and of the errors made on it, from rows seen before.
//
//   mean, variance   of y over the last 2048 rows or so; what is farther from the mean than 32 usual |y - mean| counts
//                    as that far, so that no outlier can drown the scale
//   peak             the largest |y - mean| of late: no score is beyond twice that
//   square, fast     mean squared error over the last 1000 and 20 rows or so, errors limited to 32 usual ones
//   size             mean |error| over the last 64 rows or so, the unit of intervals
//
// Two tests tell when the target has changed. `surprise` is a running likelihood ratio of errors of twice the
// deviation against the usual one: while errors stay as they are, the chance that it passes e^12 within T rows is about
// T e^-12. The rows since it was last 0 then tell whether y itself has another level or scale. Blocks of 8, 16, ...
// 1024 rows measure y anew: a scale that has fallen 16-fold, or that the first rows had spoilt, is mended after one.
// y has the limit 1e70, so that squares, and sums of them, stay finite.
#pragma once

#include <cstdint>

#include "math.hpp"

POCKETKERNEL_BEGIN

struct TargetScale {
    static constexpr double value_limit = 1e70;

    double mean, variance, usual, peak, rows;
    double square, fast, usual_error, size;
    double surprise, run, level, scatter, errors;  // since surprise was 0: rows, mean y; sums of squares
    double block_rows, block_mean, block_scatter, block_length;

    // What an observation has told.
    struct Change {
        bool alarm = false;  // the errors are no longer what they were
        double ratio = 1.0;  // of the new deviation of y to the old one, if it is another one
    };

    void start(double y) {
        mean = y;
        block_length = 8.0;
    }

    // The error as lessons are to take it: within 4 of the usual deviation.
    double clipped(double error) const {
        if (!(square > 0.0)) return error;
        const double limit = 4.0 * std::sqrt(larger(square, fast));
        return larger(-limit, smaller(error, limit));
    }

    // Takes a target, and the error that was made on it, as row `round` of the stream, counted from 2.
    Change observe(double y, double error, std::uint64_t round) {
        const double step = round < 64 ? 0.125 : 0.015625, t = static_cast<double>(round - 1);
        Change change;
        const double tame = limited(absolute(error), usual_error, step), tame2 = tame * tame;
        if (square > 0.0) watch(y, error, tame2);
        approach(square, tame2, smaller(t, 1000.0));
        approach(fast, tame2, smaller(t, 20.0));
        approach(size, tame, smaller(t, 64.0));
        bool rebased = false;
        if (surprise > 12.0) {
            change.alarm = true;
            rebased = settle(change);
        }
        rebased = measure_block(y, rebased, change) || rebased;
        if (rebased) return change;
        const double gap = y - mean, far = limited(absolute(gap), usual, step);
        rows = smaller(larger(rows, 1.0) + 1.0, 2048.0);
        mean += (gap < 0.0 ? -far : far) / rows;
        approach(variance, far * far * (1.0 - 1.0 / rows), rows);
        peak = larger(0.999 * peak, far);
        return change;
    }

    bool valid() const {
        constexpr double far = 4.0 * value_limit, far2 = far * far;
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        return within(mean, -far, far) && within(variance, 0.0, far2) && within(usual, 0.0, far) &&
               within(peak, 0.0, far) && within(rows, 0.0, 2048.0) && within(square, 0.0, far2) &&
               within(fast, 0.0, far2) && within(usual_error, 0.0, far) && within(size, 0.0, far) &&
               within(surprise, 0.0, 12.0) && within(run, 0.0, 1e15) && within(level, -far, far) &&
               within(scatter, 0.0, 1e20 * far2) && within(errors, 0.0, 1e20 * far2) &&
               within(block_rows, 0.0, 1024.0) && within(block_mean, -far, far) &&
               within(block_scatter, 0.0, 1e20 * far2) && within(block_length, 0.0, 1024.0);
    }

  private:
    // A distance, at most 32 usual ones; the usual one, a running median, moves towards it.
    static double limited(double distance, double& usual, double step) {
        const double before = usual;
        if (distance > 0.0) usual = before == 0.0 ? distance : before * (before < distance ? 1.0 + step : 1.0 - step);
        return smaller(distance, 32.0 * larger(usual, before));
    }

    void watch(double y, double error, double tame2) {
        surprise = larger(surprise - 0.6931471805599453 + 0.375 * smaller(tame2 / square, 4.5), 0.0);
        if (surprise == 0.0) return clear_run();
        run += 1.0;
        errors += error * error;
        const double gap = y - level;
        level += gap / run;
        scatter += larger(gap * (y - level), 0.0);
    }
    void clear_run() { surprise = run = level = scatter = errors = 0.0; }

    // After an alarm: whether y has another level or scale, which is then the run's.
    bool settle(Change& change) {
        const double now = scatter / run, mean_error = errors / run, shift = level - mean;
        const bool scaled = now > 16.0 * variance || 16.0 * now < variance;
        const bool rebased = now > 0.0 && (scaled || shift * shift > 16.0 * variance);
        if (rebased) {
            const double deviation = std::sqrt(now), peak_before = peak;
            if (scaled && variance > 0.0) change.ratio = std::sqrt(now / variance);
            rebase(level, now, run);
            peak = larger(4.0 * deviation, smaller(peak_before, 8.0 * deviation));
            square = smaller(larger(square, mean_error), now);
            spread_errors();
            block_rows = 0.0;
        } else {
            square = larger(square, fast);
        }
        clear_run();
        return rebased;
    }

    bool measure_block(double y, bool rebased, Change& change) {
        if (block_rows == 0.0) block_mean = block_scatter = 0.0;
        block_rows += 1.0;
        const double gap = y - block_mean;
        block_mean += gap / block_rows;
        block_scatter += larger(gap * (y - block_mean), 0.0);
        if (block_rows < block_length) return false;
        const double now = block_scatter / block_rows, length = block_rows;
        block_rows = 0.0;
        block_length = smaller(2.0 * block_length, 1024.0);
        if (rebased || !(now > 0.0 && 256.0 * now < variance)) return false;
        change.alarm = true;
        change.ratio = std::sqrt(now / variance);
        rebase(block_mean, now, length);
        square = smaller(square, now);
        spread_errors();
        return true;
    }

    void rebase(double at, double now, double over) {
        mean = at;
        variance = now;
        rows = over;
        usual = 0.67 * std::sqrt(now);
        peak = 4.0 * std::sqrt(now);
    }
    void spread_errors() {
        fast = square;
        usual_error = 0.67 * std::sqrt(square);
        size = 0.8 * std::sqrt(square);
    }
};

POCKETKERNEL_END
