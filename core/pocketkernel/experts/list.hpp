// The experts of PocketClassifier, in the order of their places in the mixture, which is part of saved states: new ones
// at the end.
//
// A list holds each of them, without virtual calls. What a program for one configuration does not have is left out of
// it by the compiler; else an expert without places is skipped.
#pragma once

#include "additive.hpp"
#include "ferns.hpp"
#include "lag.hpp"
#include "linear.hpp"
#include "ring.hpp"
#include "waves.hpp"

POCKETKERNEL_BEGIN

template <class... E>
class ExpertList : private E... {
    template <class One>
    struct Nothing {};

  public:
    // Whether the program may have an expert.
    template <class One>
    static constexpr bool may_have = parts::kernels == 0 || One::count(roster_of(Config{})) > 0;
    // Places of one expert: the first, and how many.
    struct Places {
        std::size_t first, count;
    };
    // What all of them remember of a row.
    struct Notes : std::conditional_t<may_have<E>, typename E::Note, Nothing<E>>... {};

    ExpertList() = default;
    explicit ExpertList(const Roster& roster) {
        if constexpr (parts::kernels == 0) {
            std::size_t n = 0, total = 0;
            ((total += counts_[n++] = static_cast<std::uint8_t>(E::count(roster))), ...);
            lone_ = total == 1;
        }
    }

    // Whether the only expert is the first.
    bool is_lone() const {
        if constexpr (parts::kernels > 0) return parts::kernels == 1;
        return lone_;
    }
    template <class One>
    std::size_t count() const {
        if constexpr (parts::kernels > 0) return One::count(roster_of(Config{}));
        return counts_[place_of<One>()];
    }
    template <class One>
    bool has() const {
        return count<One>() > 0;
    }
    // Which row of a workspace is the expert's.
    template <class One>
    std::size_t row() const {
        std::size_t total = 0;
        bool before = true;
        ((before = before && !std::is_same<One, E>::value, total += before && E::keeps_row && has<E>()), ...);
        return total;
    }
    static std::size_t rows(const Roster& roster) { return (std::size_t(E::keeps_row && E::count(roster) > 0) + ...); }

    template <class One>
    One& get() {
        return *this;
    }
    template <class One>
    const One& get() const {
        return *this;
    }

    // Calls f(expert, places) for all experts that take part, in order.
    template <class F>
    POCKETKERNEL_FOLD void for_each(F&& f) {
        std::size_t first = 0;
        (visit<E>(*this, first, f) && ...);
    }
    template <class F>
    POCKETKERNEL_FOLD void for_each(F&& f) const {
        std::size_t first = 0;
        (visit<E>(*this, first, f) && ...);
    }

  private:
    template <class One>
    static constexpr std::size_t place_of() {
        std::size_t place = 0, n = 0;
        ((place = std::is_same<One, E>::value ? n : place, ++n), ...);
        return place;
    }

    // Whether there may be more.
    template <class One, class Self, class F>
    static POCKETKERNEL_FOLD bool visit(Self& self, std::size_t& first, F& f) {
        if constexpr (may_have<One>) {
            const std::size_t count = self.template count<One>();
            if (count > 0) f(self.template get<One>(), Places{first, count});
            first += count;
        }
        return !self.is_lone();
    }

    std::uint8_t counts_[parts::kernels == 0 ? sizeof...(E) : 1] = {};
    bool lone_ = false;
};

POCKETKERNEL_END
