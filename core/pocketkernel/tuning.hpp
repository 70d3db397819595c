// The numbers of the pocket learners that were chosen and not derived. Those that follow from something stand where
// they are used, with their derivation.
//
// Each line says what its number is, and in what it is measured. They were chosen on streams of River's generators and
// on public data sets (docs/pocket_classifier.md names them), several seeds each, not on one stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level.hpp"

POCKETKERNEL_BEGIN

struct Tuning {
    static constexpr std::size_t wide_from = 64;               // columns from which rows may be sparse
    static constexpr std::uint64_t recent = 1000;              // rows in running means of losses
    static constexpr double score_limit = 8.0;                 // of an expert
    static constexpr double kept_after_change = 0.02;          // of what accumulators know
    static constexpr std::uint64_t first_review = 100;         // of the shares of memory, in rows
    static constexpr std::uint64_t longest_pause = 4096;       // between reviews, in rows
    static constexpr std::uint64_t rows_between_reviews = 10;  // a tenth of all rows so far

    // At which share of the way from an expert's own score to the mixture's its slope is taken.
    struct MixtureShare {
        static constexpr double several_classes = 0.75;  // a single expert tells few of them well
        static constexpr double lone_linear = 0.3;
        static constexpr double linear = 0.0;  // beside widths: where a plane is right it must find it alone
        static constexpr double waves = 0.6, ring = 0.6, others = 0.3;
    };

    struct Linear {
        static constexpr double rate = 0.1, slow_rate = 0.03;  // of AdaGrad
        static constexpr double share_of_bias = 0.25;  // of a step in coordinates that count from a row of zeros
        static constexpr double crowded = 0.5;         // share of dense rows from which they do not
    };

    struct Waves {
        static constexpr double least_rate = 0.5,
                                greatest_rate = 0.75;  // of two classes; between, as far as it has come
        static constexpr double rate_several = 2.0;    // most slopes are small, rows of a class are few
        static constexpr double saturation = 2048.0;   // features from which more make a function finer, not rasher
        static constexpr double own_squares = 0.5;     // how much a function's own count, of several classes
        static constexpr double tolerance = 0.05, least_loss = 1e-3;  // in the review of the tiles
    };
    struct Ferns {
        static constexpr double rate_two_classes = 1.0,
                                rate_several = 2.0;  // over the root of the ferns there is room for
    };
    struct Additive {
        static constexpr double rate = 2.0;  // times the root of the columns
    };

    struct Block {
        struct First {
            double ring, ferns;  // shares of the block at the start; waves have the rest
        };
        static constexpr First of_two_classes{0.10, 0.20}, of_several{0.25, 0.15};
        static constexpr std::uint64_t ring_moves_from = 400, all_move_from = 1000;  // rows
        static constexpr double largest_ring = 0.75;                                 // share of the block
        static constexpr double gain = 0.9;  // of mistakes that are left with 8 times as many rows: the ring pays
        static constexpr double good_enough = 1.1;            // times the mixture's mistakes
        static constexpr std::size_t stays_from_eighths = 3;  // share from which a large ring stays while it pays
        static constexpr double least_ring = 0.03, usual_ring = 0.25;
        static constexpr double least_ferns_two_classes = 0.03, least_ferns_several = 0.12, most_ferns = 0.25;
        static constexpr double least_waves = 0.1;
        static constexpr double some_worth = 0.002;  // of the loss, that everybody is worth
        static constexpr std::size_t steps = 8;      // most that moves at once is the block over this
    };

    struct Watch {
        static constexpr double most_margin = 2.0, most_relief = 1.0;  // that a row adds to a likelihood ratio, in nats
        static constexpr double exchanged = 20.0,
                                confidence_lost = 12.0;  // nats: false alarms in T rows, T e^-h at most
        static constexpr double suspicious = 2.0;        // nats from which labels are believed
        static constexpr double confidence = 0.5;        // of the score, in the second test
    };
    struct WrongLabels {
        static constexpr double confident = 3.0;  // |score| from which labels are counted
        static constexpr double most = 0.1;       // share of labels that is believed to be wrong
    };

    struct Relevance {
        struct OfClasses {
            static constexpr double start = 1.0, keep = 0.9999, floor = 0.0001;  // of the squares
            static constexpr double rate_two_classes = 0.1, rate_several = 0.2;
        };
        struct OfNumbers {
            static constexpr double start = 0.01, keep = 0.999, floor = 1e-5;
            static constexpr double rate = 0.1;
        };
    };
};

// The rows that count in a running mean over the recent ones.
inline double recent_rows(std::uint64_t rounds) {
    return static_cast<double>(rounds < Tuning::recent ? rounds : Tuning::recent);
}

POCKETKERNEL_END
