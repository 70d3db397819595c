// Watch: how a host can interrupt a row that takes long, such as one that fills a large buffer and so empties half of
// it; or the building of a large learner, of which nothing is kept then.
//
// Before it changes anything, a learner calls `begin` with its state if the row may take long, and it asks `give_up` in
// the loops that do. If the answer is true it returns soon, and its state has no meaning: the host puts back the bytes
// that it copied in `begin`, as if the row had never come. The answer must then stay true until the row has ended.
//
// A host names its class in POCKETKERNEL_WATCH. Without it, as on a device, nobody interrupts and nothing is compiled.
#pragma once

#include <cstddef>

#include "level.hpp"

POCKETKERNEL_BEGIN

#if defined(POCKETKERNEL_WATCH)
using Watch = POCKETKERNEL_WATCH;
#else
struct Watch {
    static constexpr bool present = false;
    static void begin(unsigned char*, std::size_t) {}
    static constexpr bool give_up() { return false; }
};
#endif

POCKETKERNEL_END
