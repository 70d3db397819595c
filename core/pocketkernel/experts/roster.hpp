// Roster: which experts a configuration of PocketClassifier names.
//
// Its kernels are the linear one, then Gaussians, each half as wide as the one before; then a Laplacian and a
// polynomial one if there are to be a ring and ferns; then a Matern 3/2 if there are to be functions of columns, or a
// polynomial one alone if there is to be a slow linear expert; then a linear one again if there is to be an expert on
// the last labels.
#pragma once

#include "../config.hpp"
#include "../kernels/list.hpp"

POCKETKERNEL_BEGIN

struct Roster {
    std::uint8_t widths = 0;  // experts that have one
    bool block = false;       // ring and ferns, which share the memory of the widths
    bool additive = false, slow = false, lag = false;
};

POCKETKERNEL_FOLD constexpr Roster roster_of(const Config& c) {
    Roster found;
    std::size_t count = c.kernel_count;
    const auto ends_in = [&](Family family, std::size_t least) {
        return parts::has(family) && count >= least && family_of(c, count - 1) == family;
    };
    found.lag = count > 1 && family_of(c, count - 1) == Family::linear;
    count -= found.lag;
    found.additive = ends_in(Family::matern32, 2);
    count -= found.additive;
    found.block = parts::has(Family::laplacian) && count > 2 && family_of(c, count - 2) == Family::laplacian &&
                  family_of(c, count - 1) == Family::polynomial;
    found.slow = !found.additive && ends_in(Family::polynomial, 3) && family_of(c, count - 2) == Family::gaussian;
    count -= found.block ? 2 : found.slow ? 1 : 0;
    found.widths = static_cast<std::uint8_t>(count - 1);
    return found;
}

POCKETKERNEL_END
