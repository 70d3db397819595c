// Arithmetic: the processor's modes in which results are the same everywhere.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace pocketkernel::binding {
namespace {

// While it lives, this thread, and those that it starts, round to the nearest number, keep subnormal ones and have no
// traps, whatever another library has set: with `fesetround`, or as it was loaded, if it was compiled with -ffast-math.
// Then the modes are again what they were.
class Arithmetic {
  public:
    Arithmetic() : before_(modes()) {
        if (before_ != usual(before_)) set(usual(before_));
    }
    ~Arithmetic() {
        if (before_ != usual(before_)) set(before_);
    }
    Arithmetic(const Arithmetic&) = delete;
    Arithmetic& operator=(const Arithmetic&) = delete;

  private:
#if defined(__SSE2__) || defined(_M_X64)
    // MXCSR: all but the flags of what has happened.
    using Modes = unsigned;
    static Modes modes() { return _mm_getcsr(); }
    static Modes usual(Modes modes) { return (modes & ~0xffc0u) | 0x1f80u; }
    static void set(Modes modes) { _mm_setcsr(modes); }
#elif defined(__aarch64__) && defined(__GNUC__)
    // FPCR, which has no flags.
    using Modes = std::uint64_t;
    static Modes modes() {
        Modes modes;
        __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
        return modes;
    }
    static Modes usual(Modes) { return 0; }
    static void set(Modes modes) { __asm__ volatile("msr fpcr, %0" : : "r"(modes)); }
#else
    // Of others the standard knows how they round.
    using Modes = int;
    static Modes modes() { return std::fegetround(); }
    static Modes usual(Modes) { return FE_TONEAREST; }
    static void set(Modes modes) { (void)std::fesetround(modes); }
#endif

    const Modes before_;
};

}  // namespace
}  // namespace pocketkernel::binding
