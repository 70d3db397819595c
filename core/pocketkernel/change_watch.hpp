// ChangeWatch: whether the stream has changed, by two running likelihood ratios against the mixture.
//
//   reversal   of the classes having changed places: the margin of a row is the logarithm of that ratio
//   surprise   of half as much confidence: by how much the loss of half the score is less
//
// While the mixture is right about its probabilities, the chance that one of them passes e^h within T rows is at most
// T e^-h. A row counts by its weight but adds at most 2 and 1, so that no single one decides.
//
// WrongLabels: which share of the labels is wrong whatever the row.
#pragma once

#include "math.hpp"
#include "state.hpp"
#include "tuning.hpp"

POCKETKERNEL_BEGIN

struct ChangeWatch {
    double reversal, surprise;

    // Takes the margin of a row of two classes; whether they have changed places.
    bool exchanged(double margin) {
        using W = Tuning::Watch;
        reversal = larger(reversal - larger(-W::most_margin, smaller(W::most_margin, margin)), 0.0);
        if (!(reversal > W::exchanged)) return false;
        reversal = 0.0;
        return true;
    }
    // Takes by how much the loss of half the score is less; whether confidence has been lost.
    bool lost_confidence(double relief) {
        surprise = larger(surprise + smaller(relief, Tuning::Watch::most_relief), 0.0);
        return surprise > Tuning::Watch::confidence_lost;
    }
    // Whether the stream may be changing, so that labels are not to be doubted.
    bool is_suspicious() const { return surprise > Tuning::Watch::suspicious; }

    bool valid() const {
        const auto within = [](double value) { return value >= 0.0 && value <= 100.0; };
        return within(reversal) && within(surprise);
    }
};
static_assert(part_of_state<ChangeWatch, 16>);

struct WrongLabels {
    double share;

    // Where scores are confident, labels that are wrong more often than those say are wrong whatever the row. The slope
    // of the loss is the chance of the other label, with the sign of the score if that one is right.
    void count(double score, double slope, double recent) {
        if (absolute(score) < Tuning::WrongLabels::confident) return;
        approach(share, score > 0.0 ? slope : -slope, recent);
    }
    // How likely a label is right to which a score gives chance p. Without this, the steps of such rows are the longest
    // of all.
    double chance_of_right(double p) const {
        const double wrong = smaller(share, Tuning::WrongLabels::most);
        return wrong > 0.0 ? (1.0 - wrong) * p / ((1.0 - wrong) * p + wrong * (1.0 - p)) : 1.0;
    }

    bool valid() const { return share >= -1.0 && share <= 1.0; }
};
static_assert(part_of_state<WrongLabels, 8>);

POCKETKERNEL_END
