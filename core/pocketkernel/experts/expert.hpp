// What an expert of PocketClassifier is: a class that answers for some places of the mixture, R scores each (R = 1 for
// two classes, else one for each class), and learns by steps along given slopes.
//
// Everything below has a default here; an expert defines what differs. F, the frame, is the learner, as far as experts
// know it: `functions()` (R), `columns()`, `lines()`, `place(i)` of a place, `kept<E>(work)` (a row of a workspace that
// is the expert's own), and, of who shares memory, `ferns_at()` and `leaves()`.
//
//   count(roster)                 how many places it has: none if it takes no part
//   reads                         what its scores are made of, which says when they are computed
//   keeps_row                     whether a workspace has a row for what it needs again in its step
//   Note                          what else it remembers of a row between its scores and its step
//   read(row, kept)               takes the row itself, if it reads that
//   evaluate(f, seen, note, s)    leaves its scores in s
//   manner(f)                     how its slopes are taken
//   step(f, seen, note, lesson)   moves all its places down the slopes
//   learned(f, seen, y, first)    after all steps: stores the row, of class y, which is the first one or not
//   hurry(f, keep)                the stream has changed: keeps a part of how much it knows, but all of what
//   started(f, k, mean)           column k has started, for the first time or again
//   repeats(), interrupted()      the next rows were learned before; the next row does not follow the last one
//   norm2(f, n), stored(f, n)     of place n of its own: squared norm, and how many rows, tables, ... it keeps
//   valid(f)                      whether its state is possible
#pragma once

#include "../level.hpp"
#include "../tuning.hpp"
#include "../workspace.hpp"
#include "roster.hpp"

POCKETKERNEL_BEGIN

enum class Reads { raw, scaled, weighed };  // x or nothing of a row; z; z' (see Columns)

// A row as experts see it.
template <class T>
struct Seen {
    const Query<T>& z;
    Workspace<T>& work;
    bool to_learn, to_weigh;  // whether steps follow, and whether columns are weighed by them
};

// How the slopes of an expert are taken.
struct Manner {
    double share_of_mixture =
        Tuning::MixtureShare::others;  // of two classes: of the way from its score to the mixture's
    bool doubts_labels = false;        // less where a label is likely to be wrong
    bool counts = false;               // apart from how many times the row counts, which its step takes in by itself
};

// What an expert is to learn of a row: R slopes for each of its places, how many times the row counts, by which the
// slopes are multiplied already unless it counts by itself, and for each place the squared length of its slopes,
// and the sum of all such that a step is divided by the root of.
struct Lesson {
    double* slopes;
    double times;
    const double *squares, *wholes;

    // The slopes of so many functions of one place, as steps at a rate.
    POCKETKERNEL_FOLD double* steps(std::size_t functions, double rate) const {
        multiply(slopes, functions, rate / std::sqrt(wholes[0]));
        return slopes;
    }

  private:
    static void multiply(double* numbers, std::size_t count, double factor) {
        for (std::size_t n = 0; n < count; ++n) numbers[n] *= factor;
    }
};

// `Own` is the expert, so that each has a base of its own: two bases of one type need two addresses.
template <class T, class Own>
struct Expert {
    struct Note {};
    static constexpr Reads reads = Reads::raw;
    static constexpr bool keeps_row = false;

    template <class F>
    Manner manner(const F&) const {
        return {};
    }
    template <class F>
    void learned(F&, const Seen<T>&, std::size_t, bool) {}
    template <class F>
    void hurry(F&, double) {}
    template <class F>
    void started(F&, std::size_t, double) {}
    void repeats() {}
    void interrupted() {}
    template <class F>
    std::size_t stored(const F&, std::size_t) const {
        return 0;
    }
};

POCKETKERNEL_END
