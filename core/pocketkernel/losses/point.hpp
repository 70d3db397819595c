// A loss at a score u and a label y in {-1, +1}: its value and its derivative in u.
#pragma once

#include "../level.hpp"

POCKETKERNEL_BEGIN

struct LossPoint {
    double value;
    double derivative;
};

POCKETKERNEL_END
