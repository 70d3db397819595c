// The numbers of the pocket learners that were chosen and not derived. Those that follow from something stand where
// they are used, with their derivation.
//
// A line each: the number, what it is and in what it is measured, and, where it is known, what was tried instead. All
// were judged on the streams and data sets of docs/pocket_classifier.md, several seeds each. The documentation's table
// of parameters is made from this file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level.hpp"

POCKETKERNEL_BEGIN

struct Tuning {
    static constexpr std::size_t wide_from = 64;               // columns from which rows may be sparse
    static constexpr std::uint64_t recent = 1000;              // rows in running means of losses
    static constexpr double score_limit = 8.0;                 // largest score of an expert
    static constexpr double kept_after_change = 0.02;          // share that accumulators keep when the stream changes
    static constexpr std::uint64_t first_review = 100;         // row of the first review of the memory
    static constexpr std::uint64_t longest_pause = 4096;       // most rows between reviews
    static constexpr std::uint64_t rows_between_reviews = 10;  // one part in so many of all rows so far

    // At which share of the way from an expert's own score to the mixture's its slope is taken.
    struct MixtureShare {
        static constexpr double several_classes = 0.75;  // all experts, of more than two classes
        static constexpr double lone_linear = 0.3;       // the linear experts, where there are no widths
        static constexpr double linear = 0.0;            // beside widths: where a plane is right it must find it alone
        static constexpr double waves = 0.6;             // widths
        static constexpr double ring = 0.6;              // ring
        static constexpr double others = 0.3;            // ferns, functions of single columns, last labels
    };

    struct Linear {
        static constexpr double rate = 0.1;            // of AdaGrad
        static constexpr double slow_rate = 0.03;      // of the slow expert; it did not pay below 64 columns
        static constexpr double share_of_bias = 0.25;  // of a step in coordinates from a row of zeros; tried 0.5
        static constexpr double crowded = 0.5;         // share of dense rows from which coordinates are not from there
    };

    // Tried: a seventh width of 1/16; steps longer for all widths; frequencies in groups, or of 2, 4 or 8 columns.
    struct Waves {
        static constexpr double least_rate = 0.5;      // of a width's steps, two classes; grows with its norm
        static constexpr double greatest_rate = 0.75;  // likewise
        static constexpr double rate_several = 2.0;    // of more classes: most slopes are small, rows of a class few
        static constexpr double saturation = 2048.0;   // features from which steps stop growing; tried 512, 1024, none
        static constexpr double own_squares = 0.5;     // share of a function's own squares, of several classes
        static constexpr double tolerance = 0.05;      // of losses of two widths before a tile moves
        static constexpr double least_loss = 1e-3;     // that losses are compared with
    };

    // Tried: squared distances, exponents or Huber's function for all rings; one window.
    struct Ring {
        static constexpr std::size_t nearest = 3;        // rows that each window is asked for; tried 5
        static constexpr std::size_t newest_part = 64;   // first window: one part in so many of the rows kept
        static constexpr std::size_t most_newest = 256;  // rows of the first window
        static constexpr std::size_t middle_part = 8;    // second window: one part in so many
        static constexpr double first_weights = 0.5;     // neighbour m begins with 1 over 1 + so many m
        static constexpr double rate = 0.5;              // of AdaGrad
        static constexpr std::uint64_t lead = 10;     // neighbours of the right label by which the other distance wins
        static constexpr std::uint64_t weighed = 64;  // rows after which columns are weighed anew
    };

    // Tried: accumulators for each leaf; columns picked by relevance; thresholds in scaled units.
    struct Ferns {
        static constexpr std::size_t tests = 4;          // of a fern; tried 6
        static constexpr double rate_two_classes = 1.0;  // over the root of the ferns there is room for
        static constexpr double rate_several = 2.0;      // likewise: each function has fewer rows of its own
    };
    struct Additive {
        static constexpr std::size_t knots = 16;            // of a function; tried 8, 32
        static constexpr double knots_per_deviation = 3.0;  // of a column
        static constexpr double rate = 2.0;                 // of a score, times the root of the columns
    };
    struct Lag {
        static constexpr std::size_t labels = 3;  // last ones, beside their running mean
        static constexpr double mean = 0.05;      // step of the running mean; tried slower ones
    };

    // Tried: ring and last labels that begin with weight 0.
    struct Newton {
        static constexpr double memory = 5000.0;  // rows
        static constexpr double ridge = 5.0;      // at the start; tried 6
    };

    // Tried: shares in proportion to what experts are worth, without bounds.
    struct Block {
        struct First {
            double ring, ferns;  // shares of the block at the start; waves have the rest
        };
        static constexpr First of_two_classes{0.10, 0.20};       // shares of ring and ferns at the start
        static constexpr First of_several{0.25, 0.15};           // likewise
        static constexpr std::uint64_t ring_moves_from = 400;    // row from which the ring may grow
        static constexpr std::uint64_t all_move_from = 1000;     // row from which all shares move
        static constexpr double largest_ring = 0.75;             // share of the block
        static constexpr double gain = 0.9;                      // of mistakes left with 8 times as many rows: it pays
        static constexpr double good_enough = 1.1;               // times the mixture's mistakes
        static constexpr std::size_t stays_from_eighths = 3;     // share from which a large ring stays while it pays
        static constexpr double least_ring = 0.03;               // share of the block
        static constexpr double usual_ring = 0.25;               // most that a ring has by what it is worth
        static constexpr double least_ferns_two_classes = 0.03;  // share of the block
        static constexpr double least_ferns_several = 0.12;      // likewise
        static constexpr double most_ferns = 0.25;               // likewise; tried more
        static constexpr double least_waves = 0.1;               // likewise
        static constexpr double some_worth = 0.002;              // of the loss, that waves and ferns are worth at least
        static constexpr std::size_t steps = 8;                  // one part of the block in so many moves at once
    };

    struct Watch {
        static constexpr double most_margin = 2.0;       // nats that a row adds to the test for exchanged classes
        static constexpr double most_relief = 1.0;       // nats that a row adds to the test for lost confidence
        static constexpr double exchanged = 20.0;        // nats: false alarms within T rows at most T e^-20
        static constexpr double confidence_lost = 12.0;  // nats: likewise at most T e^-12
        static constexpr double suspicious = 2.0;        // nats from which labels are believed; tried any at all
        static constexpr double confidence = 0.5;        // of the score, that the second test compares with
    };
    struct WrongLabels {
        static constexpr double confident = 3.0;  // |score| from which labels are counted
        static constexpr double most = 0.1;       // share of labels that is believed to be wrong
    };

    // Tried: a dead zone around 0, shrinking towards 0, a later start, a linear map of the columns.
    struct Relevance {
        struct OfClasses {
            static constexpr double start = 1.0;             // of the squares; tried near 0
            static constexpr double keep = 0.9999;           // of the squares, a row
            static constexpr double floor = 0.0001;          // that is added to them
            static constexpr double rate_two_classes = 0.1;  // of AdaGrad
            static constexpr double rate_several = 0.2;      // likewise
        };
        struct OfNumbers {
            static constexpr double start = 0.01;  // of the squares
            static constexpr double keep = 0.999;  // of the squares, a row
            static constexpr double floor = 1e-5;  // that is added to them
            static constexpr double rate = 0.1;    // of AdaGrad
        };
    };

    // Of a regressor.
    struct Neighbours {
        static constexpr std::size_t nearest = 5;  // rows that are averaged
        static constexpr double blur = 0.5;        // of the nearest distance, that is added to all
    };
    struct LeastSquares {
        static constexpr double keep = 0.9997;  // of the squares, a row
        static constexpr double ridge = 1.0;    // at the start
        static constexpr double rate = 0.1;     // of AdaGrad, without a matrix
        static constexpr double most_z = 5.0;   // of a column: a farther one would rule all by itself
    };
    struct NumberMixture {
        static constexpr double keep = 0.999;  // of the squares, a row
        static constexpr double ridge = 30.0;  // at the start
    };
    struct Numbers {
        static constexpr double share_of_mixture = 0.3;  // of the mixture's error in a lesson, beside the expert's own
        static constexpr double keep = 0.9995;           // of the squares of lessons, a row
        static constexpr double rate_of_waves = 8.0;     // of a normalised step
        static constexpr double most_of_waves = 0.9;     // share of an error that a step mends
        static constexpr double rate_of_tables = 4.0;    // of a normalised step
        static constexpr double most_of_tables = 0.5;    // share of an error that a step mends
        static constexpr double least_loss = 1e-6;       // that losses of widths are compared with
        static constexpr std::size_t ring_share = 3;     // the ring has one part in so many of the waves' bytes
        static constexpr std::size_t least_ring = 64;    // rows
        static constexpr std::size_t tables_share = 2;   // tables may have one part in so many of them
    };
    struct Target {
        static constexpr double offset = 0.02;  // step of a quantile's offset, in units of the errors' size
    };
};

// The rows that count in a running mean over the recent ones.
inline double recent_rows(std::uint64_t rounds) {
    return static_cast<double>(rounds < Tuning::recent ? rounds : Tuning::recent);
}

POCKETKERNEL_END
