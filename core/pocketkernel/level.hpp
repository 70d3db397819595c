// The instruction-set level that this translation unit is compiled for.
//
// All code of the core is in an inline namespace named after its level, so that a program can link the same headers
// compiled several times with different flags and choose one at run time: the linker cannot mistake a function of one
// level for that of another. Define POCKETKERNEL_SCALAR to get the plain scalar path.
// Every level gives the same bits; this needs -ffp-contract=off and forbids -ffast-math.
#pragma once

#include <cfloat>

// Checks of the compiler flags. GCC has no macro for -ffp-contract, so the build must pass -ffp-contract=off where the
// machine has fused multiply-add; for clang and MSVC a pragma below does it.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "pocketkernel gives the same bits on every machine: compile it without -ffast-math and -ffinite-math-only"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
static_assert(FLT_EVAL_METHOD == 0, "pocketkernel needs float and double arithmetic without excess precision");

#if defined(POCKETKERNEL_SCALAR) || !defined(__GNUC__)
#define POCKETKERNEL_LEVEL scalar
#define POCKETKERNEL_REGISTER_BYTES 0
#elif defined(__AVX2__)
#define POCKETKERNEL_LEVEL avx2
#define POCKETKERNEL_REGISTER_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)
#define POCKETKERNEL_LEVEL base
#define POCKETKERNEL_REGISTER_BYTES 16
#else
#define POCKETKERNEL_LEVEL scalar
#define POCKETKERNEL_REGISTER_BYTES 0
#endif

// For functions that are too small to be worth a call; compilers overestimate the size of functions on packs. Not at
// the scalar level, which is that of small devices: there the compiler's own choice is half as large. Nor where a build
// defines POCKETKERNEL_QUICK_BUILD, which halves the time to compile.
#if defined(__GNUC__) && POCKETKERNEL_REGISTER_BYTES > 0 && !defined(POCKETKERNEL_QUICK_BUILD)
#define POCKETKERNEL_FLAT __attribute__((always_inline))  // of a lambda
#else
#define POCKETKERNEL_FLAT
#endif
#define POCKETKERNEL_INLINE inline POCKETKERNEL_FLAT

// For functions, and lambdas, that are called once, such as those that go through a list of types: they must vanish at
// every level.
#if defined(__GNUC__)
#define POCKETKERNEL_FOLD __attribute__((always_inline))
#else
#define POCKETKERNEL_FOLD
#endif

// For small functions that are used in many places, on numbers of the given type. If the FPU does not have that type
// each operation is a call, which compilers do not count when they inline: there, they are functions.
#define POCKETKERNEL_SHARED(type) POCKETKERNEL_SHARED_##type
#define POCKETKERNEL_CALLED inline __attribute__((noinline, pcs("aapcs")))
#if defined(__arm__) && !(defined(__ARM_FP) && __ARM_FP & 8)
#define POCKETKERNEL_SOFT_DOUBLES 1
#define POCKETKERNEL_SHARED_double POCKETKERNEL_CALLED
#else
#define POCKETKERNEL_SOFT_DOUBLES 0
#define POCKETKERNEL_SHARED_double POCKETKERNEL_INLINE
#endif
#if defined(__arm__) && !defined(__ARM_FP)
#define POCKETKERNEL_SHARED_float POCKETKERNEL_CALLED
#else
#define POCKETKERNEL_SHARED_float POCKETKERNEL_INLINE
#endif

// For functions with much on the stack, so that it is there only while they run.
#if defined(__GNUC__) && POCKETKERNEL_REGISTER_BYTES == 0
#define POCKETKERNEL_APART __attribute__((noinline))
#else
#define POCKETKERNEL_APART
#endif

// For what runs once in the life of a learner: compiled for size, which takes less time. Small devices are compiled so
// anyway.
#if defined(__GNUC__) && POCKETKERNEL_REGISTER_BYTES > 0
#define POCKETKERNEL_ONCE __attribute__((cold))
#else
#define POCKETKERNEL_ONCE
#endif

#define POCKETKERNEL_BEGIN \
    namespace pocketkernel { \
    inline namespace POCKETKERNEL_LEVEL {
#define POCKETKERNEL_END \
    } \
    }
