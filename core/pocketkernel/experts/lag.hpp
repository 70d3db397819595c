// Lag: an expert that knows the last labels, whatever the row.
//
//   x_hr   1 if the h-th last label is r, else 0 (h = 1, 2, 3); and their running mean, which takes steps of 1/20.
//          Of two classes there is one function: 1 or -1. All are 0 as long as there is no label.
//   s_r    sum_h a_h x_hr, with the same weights for all classes
//   a_h    a_h - c G_h / sqrt(q_h),  q_h = 1 + sum of c G_h^2,  G_h = sum_r g_r x_hr        (AdaGrad)
//
// g are the slopes in s, and c is how many times the row counts. The labels are those that have arrived, so a row is
// taken for the next one after them. If labels come late the expert learns what it then knows, and nothing false.
#pragma once

#include "../math.hpp"
#include "expert.hpp"

POCKETKERNEL_BEGIN

namespace experts {

template <class T>
class Lag : public Expert<T, Lag<T>> {
  public:
    using Note = typename Expert<T, Lag<T>>::Note;
    static constexpr std::size_t count(const Roster& roster) { return roster.lag; }

    Lag() = default;
    // On so many numbers, which are part of the state.
    Lag(std::size_t functions, double* state) : functions_(functions), state_(state) {}
    static constexpr std::size_t doubles(std::size_t functions) { return 2 * inputs + lags + functions; }

    void reset() {
        for (std::size_t h = 0; h < inputs; ++h) squares()[h] = 1.0;
    }

    template <class F>
    void evaluate(const F&, const Seen<T>&, Note&, double* s) const {
        scores(s);
    }
    template <class F>
    static Manner manner(const F&) {
        return {Tuning::MixtureShare::others, false, true};
    }
    template <class F>
    void step(F&, const Seen<T>&, const Note&, const Lesson& lesson) {
        step(lesson.slopes, lesson.times);
    }
    template <class F>
    void learned(F&, const Seen<T>&, std::size_t y, bool) {
        push(y);
    }
    void interrupted() { forget(); }
    template <class F>
    double norm2(const F&, std::size_t) const {
        return norm2();
    }
    template <class F>
    bool valid(const F&) const {
        return valid();
    }

    // s of all functions.
    void scores(double* s) const {
        for (std::size_t r = 0; r < functions_; ++r) s[r] = 0.0;
        for (std::size_t h = 0; h < lags; ++h)
            if (labels()[h] != 0.0) s[function_of(h)] += weights()[h] * input(h);
        for (std::size_t r = 0; r < functions_; ++r) s[r] += weights()[lags] * means()[r];
    }

    void step(const double* slopes, double times) {
        for (std::size_t h = 0; h < inputs; ++h) {
            double G = 0.0;
            if (h < lags)
                G = labels()[h] != 0.0 ? slopes[function_of(h)] * input(h) : 0.0;
            else
                for (std::size_t r = 0; r < functions_; ++r) G += slopes[r] * means()[r];
            weights()[h] -= times * G / std::sqrt(squares()[h] + times * times * (G * G));
            squares()[h] += times * (G * G);
        }
    }

    // After the step.
    void push(std::size_t label) {
        for (std::size_t h = lags - 1; h > 0; --h) labels()[h] = labels()[h - 1];
        labels()[0] = static_cast<double>(label + 1);
        for (std::size_t r = 0; r < functions_; ++r)
            means()[r] += Tuning::Lag::mean * ((r == function_of(0) ? input(0) : 0.0) - means()[r]);
    }

    // The labels, not what they are worth: the next row does not follow the last ones.
    void forget() {
        for (std::size_t n = 0; n < lags + functions_; ++n) labels()[n] = 0.0;
    }

    double norm2() const {
        double total = 0.0;
        for (std::size_t h = 0; h < inputs; ++h) total += weights()[h] * weights()[h];
        return total;
    }

    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = true;
        for (std::size_t h = 0; h < inputs; ++h)
            good = good && within(weights()[h], -1e9, 1e9) && within(squares()[h], 1.0, 1e18);
        for (std::size_t h = 0; h < lags; ++h)
            good = good &&
                   within(labels()[h], 0.0, static_cast<double>(functions_ == 1 ? std::size_t(2) : functions_)) &&
                   labels()[h] == std::floor(labels()[h]);
        for (std::size_t r = 0; r < functions_; ++r) good = good && within(means()[r], -1.0, 1.0);
        return good;
    }

  private:
    static constexpr std::size_t lags = Tuning::Lag::labels, inputs = lags + 1;

    double* weights() const { return state_; }
    double* squares() const { return state_ + inputs; }
    double* labels() const { return state_ + 2 * inputs; }  // 1 + label, the last one first; 0 if there is none
    double* means() const { return labels() + lags; }

    // The only function that the h-th last label, if there is one, is not 0 in, and what it is there.
    std::size_t function_of(std::size_t h) const {
        return functions_ == 1 ? 0 : static_cast<std::size_t>(labels()[h] - 1.0);
    }
    double input(std::size_t h) const { return functions_ == 1 && labels()[h] == 1.0 ? -1.0 : 1.0; }

    Known<parts::functions> functions_{0};
    double* state_ = nullptr;
};

}  // namespace experts

POCKETKERNEL_END
