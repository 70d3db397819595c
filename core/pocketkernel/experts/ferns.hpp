// Ferns: tables whose leaf is chosen by four tests of one column each, an expert on boundaries along the axes.
//
//   x_k    the row's value in column k less an anchor, in T: the same value is always the same number, and a column
//          keeps its digits however far from 0 it lies
//   test   x_k > threshold, or "x_k is missing" if the threshold is NaN
//   f_r    sum over ferns of leaf[l][r], where bit b of l is the answer of test b
//
// A fern is born with empty leaves and random columns. Each threshold is a random number between this row's value and
// the last row's, so frequent values are told apart most finely, and those of a category are never split by rounding.
// If this row's value is missing the test is for that. One fern is born per row while there is room.
//
// A step moves the leaves that a row falls into, all by the same number: the same number of them is active in every
// row, so they need no accumulators of their own.
//
// Ferns lie one behind the other in a block that others use too; the caller says where they begin.
#pragma once

#include "../hypothesis.hpp"
#include "../rng.hpp"
#include "../state.hpp"
#include "expert.hpp"

POCKETKERNEL_BEGIN

namespace experts {

template <class T>
class Ferns : public Expert<T, Ferns<T>> {
  public:
    using Note = typename Expert<T, Ferns<T>>::Note;
    static constexpr bool keeps_row = true;  // x
    static constexpr std::size_t count(const Roster& roster) { return roster.block; }
    static constexpr std::size_t tests = Tuning::Ferns::tests, leaves = std::size_t(1) << tests;
    static constexpr std::size_t bytes(std::size_t functions) {
        return (leaves * functions + tests) * sizeof(T) + tests * sizeof(std::uint16_t);
    }

    Ferns() = default;
    Ferns(Arena& arena, std::size_t columns, std::size_t functions)
        : columns_(columns),
          functions_(functions),
          counts_(arena.take<Counts>(1)),
          anchors_(arena.take<double>(columns)),
          last_(arena.take<T>(columns)) {}

    template <class F>
    void evaluate(const F& f, const Seen<T>& seen, Note&, double* s) const {
        evaluate(f.ferns_at(), f.template kept<Ferns>(seen.work), s, seen.to_learn ? f.leaves() : nullptr);
    }
    template <class F>
    void step(F& f, const Seen<T>&, const Note&, const Lesson& lesson) {
        using Rate = Tuning::Ferns;
        const T rate = T(functions_ == 1 ? Rate::rate_two_classes : Rate::rate_several);
        step(f.ferns_at(), f.leaves(),
             lesson.steps(functions_, static_cast<double>(rate / std::sqrt(larger(static_cast<T>(room()), T(1))))));
    }
    template <class F>
    void learned(F& f, const Seen<T>& seen, std::size_t, bool first) {
        grow(f.ferns_at(), f.template kept<Ferns>(seen.work), f.rng(), first);
    }
    template <class F>
    void started(F& f, std::size_t k, double mean) {
        restart(f.ferns_at(), k, mean);
    }
    template <class F>
    double norm2(const F& f, std::size_t) const {
        return norm2(f.ferns_at());
    }
    template <class F>
    std::size_t stored(const F&, std::size_t) const {
        return size();
    }
    template <class F>
    bool valid(const F& f) const {
        return valid(f.ferns_at(), f.largest_value());
    }

    std::size_t room() const { return static_cast<std::size_t>(counts_->room); }
    std::size_t size() const { return static_cast<std::size_t>(counts_->born); }

    // Room for so many; if they are fewer than before, the youngest are lost.
    void resize(std::size_t room) {
        counts_->room = room;
        counts_->born = smaller(counts_->born, counts_->room);
    }

    // The x of a row.
    template <class U>
    void read(const Row<U>& row, T* x) const {
        if (!parts::sparse_rows || !row.columns) {
            for (std::size_t k = 0; k < columns_; ++k) x[k] = less_anchor(k, row.values[k]);
            return;
        }
        for (std::size_t k = 0; k < columns_; ++k) x[k] = less_anchor(k, 0.0);
        for (std::size_t n = 0; n < row.nonzeros; ++n) {
            const auto k = static_cast<std::size_t>(read_once(row.columns + n));
            if (k < columns_) x[k] = less_anchor(k, row.values[n]);  // whatever the caller has made of it by now
        }
    }

    // f_r(x) for all functions r. The leaf of each fern is kept if there is room for it.
    void evaluate(const unsigned char* ferns, const T* x, double* f, std::uint8_t* active) const {
        for (std::size_t r = 0; r < functions_; ++r) f[r] = 0.0;
        for (std::size_t n = 0; n < size(); ++n, ferns += bytes(functions_)) {
            const std::size_t leaf = leaf_of(ferns, x);
            if (active) active[n] = static_cast<std::uint8_t>(leaf);
            const T* values = leaf_at(ferns, leaf);
            for (std::size_t r = 0; r < functions_; ++r) f[r] += static_cast<double>(values[r]);
        }
    }

    // Subtracts steps[r] from the leaves that `evaluate` kept.
    void step(unsigned char* ferns, const std::uint8_t* active, const double* steps) {
        for (std::size_t n = 0; n < size(); ++n, ferns += bytes(functions_)) {
            T* values = leaf_at(ferns, active[n]);
            for (std::size_t r = 0; r < functions_; ++r)
                values[r] = static_cast<T>(static_cast<double>(values[r]) - steps[r]);
        }
    }

    // After the step: a fern may be born, and x is the last row for the next one.
    void grow(unsigned char* ferns, const T* x, Rng& rng, bool first) {
        if (!first && size() < room()) {
            unsigned char* fern = ferns + size() * bytes(functions_);
            std::memset(fern, 0, bytes(functions_));
            for (std::size_t b = 0; b < tests; ++b) {
                const std::size_t k = rng.index(smaller(std::size_t(columns_), most_columns));
                const T between = static_cast<T>(rng.uniform());
                const T now = x[k], before = last_[k] == last_[k] ? last_[k] : now;
                columns_of(fern)[b] = static_cast<std::uint16_t>(k);
                thresholds_of(fern)[b] = before + between * (now - before);
            }
            ++counts_->born;
        }
        std::memcpy(last_, x, columns_ * sizeof(T));
    }

    // Column k has changed its units or its level: ferns that test it have lost their meaning.
    void restart(unsigned char* ferns, std::size_t k, double anchor) {
        anchors_[k] = anchor + 0.0;  // -0 is 0
        last_[k] = T(0);
        for (std::size_t n = size(); n-- > 0;) {
            unsigned char* fern = ferns + n * bytes(functions_);
            bool tested = false;
            for (std::size_t b = 0; b < tests; ++b) tested = tested || columns_of(fern)[b] == k;
            if (!tested) continue;
            --counts_->born;
            unsigned char* last = ferns + size() * bytes(functions_);
            std::memmove(fern, last, bytes(functions_));
            std::memset(last, 0, bytes(functions_));
        }
    }

    double norm2(const unsigned char* ferns) const {
        double total = 0.0;
        for_each_leaf(ferns, [&](double value) { total += value * value; });
        return total;
    }

    // Whether the counts are; then what is in the ferns.
    bool counts_valid() const { return counts_->born <= counts_->room; }
    bool valid(const unsigned char* ferns, double farthest) const {
        bool good = counts_valid();
        for_each_leaf(ferns, [&](double value) { good = good && absolute(value) <= coefficient_limit<T>(); });
        for (std::size_t n = 0; good && n < size(); ++n)
            for (std::size_t b = 0; b < tests; ++b)
                good = good && columns_of(ferns + n * bytes(functions_))[b] < columns_;
        for (std::size_t k = 0; k < columns_; ++k)
            good = good && absolute(anchors_[k]) <= farthest &&
                   !(absolute(static_cast<double>(last_[k])) > 4.0 * farthest);
        return good;
    }

  private:
    struct Counts {
        std::uint64_t room, born;
    };
    static_assert(part_of_state<Counts, 16>);
    static constexpr std::size_t most_columns = 65536;  // that can be tested

    T less_anchor(std::size_t k, double x) const { return static_cast<T>(x + 0.0 - anchors_[k]); }  // -0 is 0

    // A fern: its leaves, its thresholds, the columns that it tests.
    const T* leaf_at(const unsigned char* fern, std::size_t leaf) const {
        return reinterpret_cast<const T*>(fern) + leaf * functions_;
    }
    T* leaf_at(unsigned char* fern, std::size_t leaf) const { return reinterpret_cast<T*>(fern) + leaf * functions_; }
    T* thresholds_of(unsigned char* fern) const { return leaf_at(fern, leaves); }
    std::uint16_t* columns_of(unsigned char* fern) const {
        return reinterpret_cast<std::uint16_t*>(thresholds_of(fern) + tests);
    }
    const std::uint16_t* columns_of(const unsigned char* fern) const {
        return reinterpret_cast<const std::uint16_t*>(leaf_at(fern, leaves) + tests);
    }

    std::size_t leaf_of(const unsigned char* fern, const T* x) const {
        const T* thresholds = leaf_at(fern, leaves);
        const std::uint16_t* columns = columns_of(fern);
        std::size_t leaf = 0;
        for (std::size_t b = 0; b < tests; ++b) {
            const T value = x[columns[b]], limit = thresholds[b];
            const bool answer = (value > limit) | ((limit != limit) & (value != value));
            leaf |= static_cast<std::size_t>(answer) << b;
        }
        return leaf;
    }

    template <class F>
    void for_each_leaf(const unsigned char* ferns, F&& f) const {
        for (std::size_t n = 0; n < size(); ++n)
            for (std::size_t l = 0; l < leaves * functions_; ++l)
                f(static_cast<double>(leaf_at(ferns + n * bytes(functions_), 0)[l]));
    }

    Known<parts::features> columns_{0};
    Known<parts::functions> functions_{0};
    Counts* counts_ = nullptr;
    double* anchors_ = nullptr;
    T* last_ = nullptr;  // the last row
};

}  // namespace experts

POCKETKERNEL_END
