// The three metrics of a pair of rows; every kernel is a function of one of them. Each is computed once for all
// kernels.
#pragma once

#include <cstddef>

#include "../level.hpp"

POCKETKERNEL_BEGIN

enum class Metric : std::size_t {
    squared_distance,  // |u - v|^2
    l1_distance,       // |u - v|_1
    cosine,            // u'v / (|u| |v|); a zero row has cosine 1 with a zero row and 0 with any other
};
inline constexpr std::size_t metric_count = 3;

// Which of the metrics are needed.
struct MetricSet {
    bool wanted[metric_count] = {};
    bool operator[](Metric metric) const { return wanted[static_cast<std::size_t>(metric)]; }
    void add(Metric metric) { wanted[static_cast<std::size_t>(metric)] = true; }
};

POCKETKERNEL_END
