// Waves: kernel machines of several widths, by random features whose frequencies the widths share (FeaturePool).
//
// Each width is an expert with a place of its own; one pass over the features serves all. Its steps have one rate for
// all its features, whose squares sum to about the same in every row: AdaGrad. That best rate is the distance from the
// start to the best coefficients. Of two classes the distance that they have come tells it, within bounds (as in Ivgi,
// Hinder & Carmon 2023: distance over gradients), at each review. Of more, each function has squares of its own, which
// count half: those of rare classes are smaller, so their steps are longer.
#pragma once

#include "../columns/columns.hpp"
#include "../feature_pool.hpp"
#include "expert.hpp"

POCKETKERNEL_BEGIN

namespace experts {

template <class T>
class Waves : public Expert<T, Waves<T>> {
  public:
    using Note = typename Expert<T, Waves<T>>::Note;
    static constexpr Reads reads = Reads::weighed;
    static constexpr std::size_t count(const Roster& roster) { return roster.widths; }

    Waves() = default;
    // On such a pool, and so many numbers, which are part of the state: of two classes steps, else sums of squares.
    Waves(const FeaturePool<T>& pool, double* numbers) : pool_(pool), numbers_(numbers) {}
    static std::size_t doubles(std::size_t widths, std::size_t functions) { return widths * functions; }
    // Sums of a workspace: of two classes all widths are gone through in one pass; else their sums would take much
    // room, so it is one owner of tiles after the other.
    static std::size_t partials(std::size_t widths, std::size_t functions) {
        return widths == 0 ? 0 : functions == 1 ? 1 + widths : 2 * functions;
    }

    FeaturePool<T>& pool() { return pool_; }
    const FeaturePool<T>& pool() const { return pool_; }
    double* numbers() const { return numbers_; }

    // Width n has place 1 + n in the mixture and number 1 + n in the pool. One that owns tiles serves the next one too,
    // so the last one needs none of its own.
    template <class F>
    static std::size_t owners(const F& f) {
        return f.widths() > 0 ? f.widths() - 1 : 0;
    }
    template <class F>
    static std::size_t frequencies(const F& f, std::size_t n) {
        return static_cast<std::size_t>(f.place(1 + n).tiles + f.place(n).tiles) * lanes_of<T>;
    }

    template <class F>
    void reset(F& f) {
        if (!pool_.is_constant()) pool_.draw(f.rng());
        if (f.widths() > 0) pool_.reset(owners(f));
    }

    template <class F>
    POCKETKERNEL_FOLD void evaluate(const F& f, const Seen<T>& seen, Note&, double* s) const {
        const auto R = f.functions();
        const auto widths = f.widths();
        Pack<T>* partial = seen.work.partial;
        if (R == 1) {
            for (std::size_t i = 1; i <= widths; ++i) partial[i] = Pack<T>(T(0));
            pool_.evaluate(seen.z, [&](std::size_t i) { return f.place(i).inverse_width; }, partial, seen.to_learn);
            for (std::size_t i = 1; i <= widths; ++i) s[i - 1] = sum(partial[i]);
        } else {
            for (std::size_t n = 0; n < widths * R; ++n) s[n] = 0.0;
            for (std::size_t i = 1; i <= owners(f); ++i) {
                for (std::size_t n = 0; n < 2 * R; ++n) partial[n] = Pack<T>(T(0));
                pool_.evaluate(i, seen.z, f.place(i).inverse_width, partial, seen.to_learn);
                for (std::size_t n = 0; n < 2 * R; ++n) s[(i - 1) * R + n] += sum(partial[n]);
            }
        }
    }

    template <class F>
    static Manner manner(const F&) {
        return {Tuning::MixtureShare::waves, true};
    }

    // Keeps the slopes in the projections, if columns are to be weighed by them: `mixed(i, r)` is the slope of the loss
    // in f_ir through the mixture.
    template <class F>
    void step(F& f, const Seen<T>& seen, const Note&, const Lesson& lesson) {
        const auto R = f.functions();
        double* g = lesson.slopes;
        for (std::size_t n = 0; n < f.widths(); ++n, g += R) {
            const double whole = lesson.wholes[n];
            if (R == 1)
                g[0] *= numbers_[n] / std::sqrt(whole);
            else {
                const double step = step_at_rate(f, n, T(Tuning::Waves::rate_several));
                for (std::size_t r = 0; r < R; ++r)
                    g[r] *= step / std::sqrt(Tuning::Waves::own_squares *
                                             (whole + own_squares(numbers_[n * R + r], g[r], lesson.times, R)));
            }
        }
        // The pool counts widths from 1 on.
        const double* steps = lesson.slopes - R;
        if (seen.to_weigh)
            pool_.step(
                steps, [&](std::size_t i) { return f.place(i).inverse_width; },
                [&](std::size_t i, std::size_t r) { return f.mixed_slope(i, r); });
        else
            pool_.step(steps);
    }

    // At a review: the rates of two classes.
    template <class F>
    POCKETKERNEL_FOLD void measure_steps(const F& f) {
        using Rates = Tuning::Waves;
        for (std::size_t n = 0; f.functions() == 1 && n < f.widths(); ++n) {
            const T come = std::sqrt(pool_.template norm2<T>(1 + n));
            numbers_[n] = step_at_rate(f, n, larger(T(Rates::least_rate), smaller(come, T(Rates::greatest_rate))));
        }
    }

    template <class F>
    void hurry(F& f, double keep) {
        for (std::size_t n = 0; f.functions() > 1 && n < f.widths() * f.functions(); ++n) numbers_[n] *= keep;
    }

    template <class F>
    double norm2(const F&, std::size_t n) const {
        return pool_.norm2(1 + n);
    }
    template <class F>
    std::size_t stored(const F& f, std::size_t n) const {
        return frequencies(f, n);
    }
    template <class F>
    bool valid(const F& f) const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        using Rates = Tuning::Waves;
        const double most = f.beyond_all * f.beyond_all;
        bool good = pool_.valid(owners(f), Columns<T>::farthest);
        for (std::size_t n = 0; n < f.widths(); ++n) {
            if (f.functions() == 1)
                good = good && within(numbers_[n], step_at_rate(f, n, T(Rates::least_rate)),
                                      step_at_rate(f, n, T(Rates::greatest_rate)));
            for (std::size_t r = 0; f.functions() > 1 && r < f.functions(); ++r)
                good = good && within(numbers_[n * f.functions() + r], 0.0, most);
        }
        return good;
    }

  private:
    // A step changes a score in proportion to the root of the number of features, up to so many of them.
    template <class F>
    static double step_at_rate(const F& f, std::size_t n, T rate) {
        const T features = larger(static_cast<T>(frequencies(f, n)), T(1));
        return static_cast<double>(rate * std::sqrt(smaller(features, T(Tuning::Waves::saturation))) / features);
    }

    // As the sum of all slopes, if all classes were alike; g is the slope as it counts.
    static double own_squares(double& kept, double g, double times, std::size_t R) {
        const double all = kept + g * g;
        kept += g * g / times;
        return 1.0 + static_cast<double>(R) * all;
    }

    FeaturePool<T> pool_;
    double* numbers_ = nullptr;
};

}  // namespace experts

POCKETKERNEL_END
