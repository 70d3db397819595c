// The registry of losses. A loss is a file in this folder, a name in config.hpp's Loss and a line in `with_loss`.
#pragma once

#include "../config.hpp"
#include "hinge.hpp"
#include "logistic.hpp"
#include "smooth_hinge.hpp"

POCKETKERNEL_BEGIN

// Calls f with the loss that `id` names.
template <class F>
inline auto with_loss(Loss id, F&& f) {
    switch (id) {
        case Loss::hinge: return f(Hinge{});
        case Loss::smooth_hinge: return f(SmoothHinge{});
        case Loss::logistic: break;
    }
    return f(Logistic{});
}

// y is +1 or -1.
inline LossPoint loss_at(Loss id, double u, double y) {
    return with_loss(id, [=](auto loss) { return loss.at(u, y); });
}
inline bool is_smooth(Loss id) {
    return with_loss(id, [](auto loss) { return loss.smooth; });
}
inline double loss_G1(Loss id) {
    return with_loss(id, [](auto loss) { return loss.G1; });
}

POCKETKERNEL_END
