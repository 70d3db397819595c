// ClassMixture: the scores of the experts of classes, mixed, and what a label says about them.
//
//   s_i   R scores of place i: one of two classes, where the score of the second is half of it and that of the first
//   the
//         other way round, else one for each class
//   F     sum_i w_i s_i, mixed by NewtonMixture
//   l     logistic loss, of more classes the multinomial one
//   g_i   the slope of l between s_i and F, from which expert i learns: so experts also mend what the mixture gets
//   wrong
//
// The ledger keeps what a certificate needs. Rows that were learned before teach experts but judge nobody: `judges` is
// false for them.
#pragma once

#include "../experts/expert.hpp"
#include "../losses/logistic.hpp"
#include "../state.hpp"
#include "ledger.hpp"
#include "newton_mixture.hpp"

POCKETKERNEL_BEGIN

class ClassMixture {
  public:
    // What is known of a place.
    struct Place {
        double squares;        // 1 + sum of |g_i|^2; of the linear one, for its bias
        double loss;           // mean of its own loss over the recent rows
        double inverse_width;  // of waves, in the units of z
        std::uint64_t tiles;   // that waves own
    };
    static_assert(part_of_state<Place, 32>);
    // A row while it is learned: its class, as it is inside; its weight, how many times that counts; the loss of F.
    struct Round {
        std::size_t y;
        double weight, times, loss;
        bool mistake;
        std::uint64_t rounds;
    };

    ClassMixture() = default;
    // On numbers of the state: K places, those of NewtonMixture, and of the ledger, which a lone expert does without.
    ClassMixture(std::size_t functions, std::size_t K, Place* places, double* newton, double* sums)
        : R_(functions), places_(places), newton_(K, newton), ledger_(K, sums) {}
    // Scratch: slopes of all experts; scores of the mixture, its slopes, and two more such rows; one number for each
    // expert and, behind it, room for the Newton step, or for the squares of slopes.
    static std::size_t numbers_in_scratch(std::size_t functions, std::size_t K) {
        return (K + 4) * functions + K + NewtonMixture::doubles(K);
    }
    void plan(double* scratch) { scratch_ = scratch; }

    void reset() {
        newton_.reset();
        for (std::size_t i = 0; i < K(); ++i) places_[i].squares = 1.0;
    }

    const Known<parts::functions>& functions() const { return R_; }
    Place& place(std::size_t i) const { return places_[i]; }
    double weight(std::size_t i) const { return newton_.weight(i); }
    const MixtureLedger& ledger() const { return ledger_; }
    double* slopes_of(std::size_t i) const { return scratch_ + i * R_; }
    double* f() const { return scratch_ + K() * R_; }
    double* slope() const { return f() + R_; }
    const double* wholes() const { return u(); }
    const double* squares() const { return u() + K(); }
    double* room() const { return u(); }

    // F of the first so many places.
    void mix(const double* s, std::size_t places, double* F) const {
        for (std::size_t r = 0; r < R_; ++r) F[r] = 0.0;
        for (std::size_t i = 0; i < places; ++i)
            for (std::size_t r = 0; r < R_; ++r) F[r] += weight(i) * s[i * R_ + r];
    }

    // The loss of R scores, and its slopes, unless one of them is not wanted; then there is something in its place.
    double lesson(const double* scores, std::size_t y, double* slopes, bool wanted = true, bool loss = true) const {
        if (R_ == 1) {
            const LossPoint point = Logistic::at(scores[0], y == 1 ? 1.0 : -1.0, loss);
            slopes[0] = point.derivative;
            return point.value;
        }
        const double most_score = greatest(scores, R_);
        exponentials(scores, most_score, slopes, R_);
        double total = 0.0;
        for (std::size_t r = 0; r < R_; ++r) total += slopes[r];
        for (std::size_t r = 0; wanted && r < R_; ++r) slopes[r] /= total;
        slopes[y] -= 1.0;
        return loss ? logarithm(total) + (most_score - scores[y]) : 0.0;
    }
    // The loss of F without some places.
    double loss_without(const double* s, std::size_t from, std::size_t to, std::size_t y) const {
        for (std::size_t r = 0; r < R_; ++r) {
            blend()[r] = f()[r];
            for (std::size_t i = from; i < to; ++i) blend()[r] -= weight(i) * s[i * R_ + r];
        }
        return lesson(blend(), y, spare(), false);
    }
    // By how much the loss of F would be less with less confidence. The slopes of F are lost.
    POCKETKERNEL_FOLD double relief(const Round& row) const {
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = Tuning::Watch::confidence * f()[r];
        return row.loss - lesson(blend(), row.y, slope(), false);
    }

    // Takes F, and leaves its slopes; the loss.
    POCKETKERNEL_FOLD double judge(const double* s, std::size_t y, double weight, bool judges) {
        const double loss = lesson(f(), y, slope());
        if (judges)
            ledger_.observe(weight, y, slope(), R_, [&](std::size_t n) { return n == 0 ? f() : s + (n - 1) * R_; });
        return loss;
    }

    // The slopes of place i, with scores s, as they count; `chance(p)` is how likely a label is right to which a score
    // gives chance p. What stays in the squares is as if the row had come as many times as it counts; a step allows for
    // its whole slope, so that none is longer than a row's of weight 1 could be.
    template <class Chance>
    POCKETKERNEL_FOLD void take_slopes(std::size_t i, const double* s, const Manner& manner, const Round& row,
                                       bool judges, Chance&& chance) {
        double* g = slopes_of(i);
        const double own = lesson(s, row.y, g, false), times = row.times;
        if (judges) {
            ledger_.charge(i, row.weight * own);
            approach(places_[i].loss, own, recent_rows(row.rounds));
        }
        const double share = R_ > 1 ? Tuning::MixtureShare::several_classes : manner.share_of_mixture;
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = s[r] + share * (f()[r] - s[r]);
        lesson(blend(), row.y, g, true, false);
        if (R_ == 1 && manner.doubts_labels) g[0] *= chance(1.0 - absolute(g[0]));
        double square = 0.0;
        for (std::size_t r = 0; r < R_; ++r) square += g[r] * g[r];
        u()[K() + i] = square;
        u()[i] = places_[i].squares + times * times * square;
        places_[i].squares += times * square;
        for (std::size_t r = 0; r < R_ && !manner.counts; ++r) g[r] *= times;
    }

    // The weights learn from the slopes of F.
    POCKETKERNEL_FOLD void learn(const double* s, double times) {
        for (std::size_t i = 0; i < K(); ++i) {
            u()[i] = 0.0;
            for (std::size_t r = 0; r < R_; ++r) u()[i] += slope()[r] * s[i * R_ + r];
        }
        newton_.update(u(), times, u() + K());
    }

    // Keeps a part of how much was learned, but all of what.
    void hurry(double keep) {
        newton_.forget(keep);
        for (std::size_t i = 0; i < K(); ++i) places_[i].squares = larger(keep * places_[i].squares, 1.0);
    }

    bool valid(double most) const {
        bool good = newton_.valid() && ledger_.valid();
        for (std::size_t i = 0; i < K(); ++i)
            good = good && places_[i].squares >= 1.0 && places_[i].squares <= most * most && places_[i].loss >= 0.0 &&
                   places_[i].loss <= most;
        return good;
    }

  private:
    std::size_t K() const { return newton_.experts(); }
    double* blend() const { return slope() + R_; }
    double* spare() const { return blend() + R_; }
    double* u() const { return spare() + R_; }

    Known<parts::functions> R_{0};
    Place* places_ = nullptr;
    NewtonMixture newton_;
    MixtureLedger ledger_;
    double* scratch_ = nullptr;
};

POCKETKERNEL_END
