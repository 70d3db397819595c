// The registry of losses. A loss is a file in this folder, included here, and a line in POCKETKERNEL_LOSSES; the
// numbers of the losses are part of saved states, so new ones go to the end.
#pragma once

#include "../config.hpp"
#include "hinge.hpp"
#include "logistic.hpp"
#include "smooth_hinge.hpp"

#define POCKETKERNEL_LOSSES(line) line(hinge, Hinge) line(logistic, Logistic) line(smooth_hinge, SmoothHinge)

namespace pocketkernel {

#define POCKETKERNEL_NAME(name, Type) name,
enum class Loss : std::uint32_t { POCKETKERNEL_LOSSES(POCKETKERNEL_NAME) };
#undef POCKETKERNEL_NAME
#define POCKETKERNEL_NAME(name, Type) #name,
inline constexpr const char* loss_names[] = {POCKETKERNEL_LOSSES(POCKETKERNEL_NAME)};
#undef POCKETKERNEL_NAME
static_assert(Config().loss == Loss::logistic, "the default of Config");

}  // namespace pocketkernel

POCKETKERNEL_BEGIN

// Calls f with the loss of this id; with the logistic loss if there is no such id.
template <class F>
inline auto with_loss(Loss id, F&& f) {
    switch (id) {
#define POCKETKERNEL_CASE(name, Type) \
    case Loss::name: return f(Type{});
        POCKETKERNEL_LOSSES(POCKETKERNEL_CASE)
#undef POCKETKERNEL_CASE
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
