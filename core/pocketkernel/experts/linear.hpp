// The linear experts: linear functions of z (Lines), one for each of the R functions; and, for wide rows of two
// classes, a second one that learns slowly, with the sums of squares of the first.
#pragma once

#include "expert.hpp"
#include "lines.hpp"

POCKETKERNEL_BEGIN

namespace experts {

template <class T>
class Linear : public Expert<T, Linear<T>> {
  public:
    using Note = typename Expert<T, Linear<T>>::Note;
    static constexpr Reads reads = Reads::scaled;
    static constexpr std::size_t count(const Roster&) { return 1; }

    template <class F>
    void evaluate(const F& f, const Seen<T>& seen, Note&, double* s) const {
        for (std::size_t r = 0; r < f.functions(); ++r) s[r] = f.lines().score(f.columns(), seen.z, r);
    }
    template <class F>
    static Manner manner(const F& f) {
        return {f.columns().weighs() ? Tuning::MixtureShare::linear : Tuning::MixtureShare::lone_linear};
    }
    // A step allows for the row's whole slope, so that none is longer than a row's of weight 1 could be; what stays in
    // the accumulators is as if the row had come that many times.
    template <class F>
    void step(F& f, const Seen<T>& seen, const Note&, const Lesson& lesson) {
        const double times = lesson.times, square = lesson.squares[0];
        f.lines().step(f.columns(), seen.z, seen.work.query.row(),
                       {0, f.functions(), lesson.slopes, T(Tuning::Linear::rate),
                        static_cast<T>(times * times * square), static_cast<T>(times * square)},
                       lesson.wholes[0]);
    }
    template <class F>
    void hurry(F& f, double keep) {
        f.lines().hurry(keep);
    }
    template <class F>
    double norm2(const F& f, std::size_t) const {
        return f.lines().norm2(0, f.functions());
    }
    template <class F>
    bool valid(const F& f) const {
        return f.lines().valid(f.beyond_all);
    }
};

template <class T>
class SlowLinear : public Expert<T, SlowLinear<T>> {
  public:
    using Note = typename Expert<T, SlowLinear<T>>::Note;
    static constexpr Reads reads = Reads::scaled;
    static constexpr std::size_t count(const Roster& roster) { return roster.slow; }

    template <class F>
    void evaluate(const F& f, const Seen<T>& seen, Note&, double* s) const {
        s[0] = f.lines().score(f.columns(), seen.z, f.functions());
    }
    template <class F>
    static Manner manner(const F& f) {
        return Linear<T>::manner(f);
    }
    template <class F>
    void step(F& f, const Seen<T>& seen, const Note&, const Lesson& lesson) {
        const std::size_t first = f.functions();
        f.lines().step(f.columns(), seen.z, seen.work.query.row(),
                       {first, first + 1, lesson.slopes, T(Tuning::Linear::slow_rate),
                        static_cast<T>(lesson.times * lesson.times * lesson.squares[0]), T(0)},
                       lesson.wholes[0]);
    }
    template <class F>
    double norm2(const F& f, std::size_t) const {
        return f.lines().norm2(f.functions(), f.lines().count());
    }
    template <class F>
    bool valid(const F&) const {
        return true;
    }
};

}  // namespace experts

POCKETKERNEL_END
