// AdditiveTables: a sum of functions of one column each, piecewise linear between 16 knots a third apart.
//
//   f_r(z) = sum_k (1 - p_k) table_rk[i_k] + p_k table_rk[i_k + 1],     3 z_k + 7.5 = i_k + p_k, within the knots
//
// Columns of a scale of their own (ColumnScale) lie mostly within +-2.5; beyond, a function is constant.
#pragma once

#include "../hypothesis.hpp"
#include "expert.hpp"

POCKETKERNEL_BEGIN

template <class T>
class AdditiveTables {
  public:
    static constexpr std::size_t knots = Tuning::Additive::knots;
    static constexpr std::size_t bytes(std::size_t columns, std::size_t functions) {
        return columns * functions * knots * sizeof(T);
    }

    AdditiveTables() = default;
    AdditiveTables(Arena& arena, std::size_t columns, std::size_t functions)
        : AdditiveTables(columns, functions, arena.take<T>(columns, functions, knots)) {}
    // On memory that was taken for such ones before.
    AdditiveTables(std::size_t columns, std::size_t functions, T* values)
        : columns_(columns), functions_(functions), values_(values) {}

    // f_r(z) for all functions r.
    void evaluate(const T* z, double* f) const {
        for (std::size_t r = 0; r < functions_; ++r) f[r] = 0.0;
        for_each_place(z, [&](std::size_t k, std::size_t i, double p) {
            for (std::size_t r = 0; r < functions_; ++r) {
                const T* table = of(k, r);
                f[r] += (1.0 - p) * static_cast<double>(table[i]) + p * static_cast<double>(table[i + 1]);
            }
        });
    }

    // Moves f_r(z) by steps[r], along the gradient.
    void step(const T* z, const double* steps) {
        double square = 0.0;
        for_each_place(z, [&](std::size_t, std::size_t, double p) { square += (1.0 - p) * (1.0 - p) + p * p; });
        for_each_place(z, [&](std::size_t k, std::size_t i, double p) {
            for (std::size_t r = 0; r < functions_; ++r) {
                T* table = of(k, r);
                table[i] += static_cast<T>(steps[r] / square * (1.0 - p));
                table[i + 1] += static_cast<T>(steps[r] / square * p);
            }
        });
    }

    void scale(std::size_t r, double factor) {
        for (std::size_t k = 0; k < columns_; ++k)
            for (std::size_t i = 0; i < knots; ++i)
                of(k, r)[i] = static_cast<T>(static_cast<double>(of(k, r)[i]) * factor);
    }

    // The sum of the squared values at the knots.
    double norm2() const {
        double total = 0.0;
        for (std::size_t n = 0; n < columns_ * functions_ * knots; ++n)
            total += static_cast<double>(values_[n]) * static_cast<double>(values_[n]);
        return total;
    }

    bool valid() const {
        bool good = true;
        for (std::size_t n = 0; n < columns_ * functions_ * knots; ++n)
            good = good && absolute(static_cast<double>(values_[n])) <= coefficient_limit<T>();
        return good;
    }

  private:
    T* of(std::size_t k, std::size_t r) const { return values_ + (k * functions_ + r) * knots; }

    template <class F>
    void for_each_place(const T* z, F&& f) const {
        for (std::size_t k = 0; k < columns_; ++k) {
            double p;
            const std::size_t i = knot_below(static_cast<double>(z[k]), p);
            f(k, i, p);
        }
    }
    // The knot below z, and how far behind it z is.
    static constexpr double middle = 0.5 * (knots - 1), last = knots - 1 - 0.001;  // below the last knot
    static POCKETKERNEL_SHARED(double) std::size_t knot_below(double z, double& p) {
        const double at = larger(0.0, smaller(Tuning::Additive::knots_per_deviation * z + middle, last));
        const auto i = static_cast<std::size_t>(at);
        p = at - static_cast<double>(i);
        return i;
    }

    Known<parts::features> columns_{0};
    Known<parts::functions> functions_{0};
    T* values_ = nullptr;  // column by column, function by function
};

namespace experts {

// In steps of one rate for all columns, since a row has two knots of each.
template <class T>
class Additive : public Expert<T, Additive<T>> {
  public:
    using Note = typename Expert<T, Additive<T>>::Note;
    static constexpr Reads reads = Reads::scaled;
    static constexpr bool keeps_row = true;  // z, which will be weighed
    static constexpr std::size_t count(const Roster& roster) { return roster.additive; }

    Additive() = default;
    Additive(Arena& arena, std::size_t columns, std::size_t functions)
        : knots_(arena.take<T>(columns, functions, AdditiveTables<T>::knots)) {}

    template <class F>
    void evaluate(const F& f, const Seen<T>& seen, Note&, double* s) const {
        std::memcpy(f.template kept<Additive>(seen.work), seen.z.dense, f.features() * sizeof(T));
        tables(f).evaluate(seen.z.dense, s);
    }
    // A score moves by as much times the slope.
    template <class F>
    void step(F& f, const Seen<T>& seen, const Note&, const Lesson& lesson) {
        const double rate = static_cast<double>(T(-Tuning::Additive::rate) * std::sqrt(static_cast<T>(f.features())));
        tables(f).step(f.template kept<Additive>(seen.work), lesson.steps(f.functions(), rate));
    }

    template <class F>
    double norm2(const F& f, std::size_t) const {
        return tables(f).norm2();
    }
    template <class F>
    std::size_t stored(const F& f, std::size_t) const {
        return f.features();
    }
    template <class F>
    bool valid(const F& f) const {
        return tables(f).valid();
    }

  private:
    template <class F>
    AdditiveTables<T> tables(const F& f) const {
        return {f.features(), f.functions(), knots_};
    }

    T* knots_ = nullptr;
};

}  // namespace experts

POCKETKERNEL_END
