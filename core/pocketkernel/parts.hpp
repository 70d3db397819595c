// Which parts of the core a program has. All of them, unless it says otherwise: a program for one model, such as those
// that `pocketkernel device` writes, defines these macros before it includes a learner, and its code becomes smaller.
// What is left out must not be asked for by a configuration.
//
//   POCKETKERNEL_SPARSE_ROWS   rows with few nonzeros: 0 if the model has fewer columns than it takes for that
//   POCKETKERNEL_HALVES        rows stored in 16 bits
//   POCKETKERNEL_FAMILIES      the kernels: bit n stands for the family with number n
//   POCKETKERNEL_VALIDATION    whether `load` looks for impossible numbers in a state whose checksum is right, which
//                              only a forger can make
//   POCKETKERNEL_DRAWING       whether `load` draws the learner's constants; else the program gives them
//                              (`take_constants`)
//   POCKETKERNEL_PASSES        whether rows may be learned again, as in the later passes of a fit (`repeat`)
//   POCKETKERNEL_FEATURES, POCKETKERNEL_CLASSES, POCKETKERNEL_BUDGET
//                              the sizes of the only configuration, which are then constants of the code; 0 for any
//   POCKETKERNEL_FUNCTIONS     likewise how many functions are learned: one for two classes, else one for each
//   POCKETKERNEL_FAMILY_LIST   the numbers of the families of its kernels, in order and with commas between them
//   POCKETKERNEL_DIGEST        the digest of the only model, as it is in its states; 0 to compute it
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "level.hpp"

#if !defined(POCKETKERNEL_SPARSE_ROWS)
#define POCKETKERNEL_SPARSE_ROWS 1
#endif
#if !defined(POCKETKERNEL_HALVES)
#define POCKETKERNEL_HALVES 1
#endif
#if !defined(POCKETKERNEL_VALIDATION)
#define POCKETKERNEL_VALIDATION 1
#endif
#if !defined(POCKETKERNEL_DRAWING)
#define POCKETKERNEL_DRAWING 1
#endif
#if !defined(POCKETKERNEL_PASSES)
#define POCKETKERNEL_PASSES 1
#endif
#if !defined(POCKETKERNEL_FEATURES)
#define POCKETKERNEL_FEATURES 0
#endif
#if !defined(POCKETKERNEL_CLASSES)
#define POCKETKERNEL_CLASSES 0
#endif
#if !defined(POCKETKERNEL_FUNCTIONS)
#define POCKETKERNEL_FUNCTIONS 0
#endif
#if !defined(POCKETKERNEL_BUDGET)
#define POCKETKERNEL_BUDGET 0
#endif
#if !defined(POCKETKERNEL_DIGEST)
#define POCKETKERNEL_DIGEST 0
#endif
#if !defined(POCKETKERNEL_FAMILIES)
#define POCKETKERNEL_FAMILIES 0xffffffff
#endif

namespace pocketkernel {

enum class Family : std::uint32_t;

// A size that is always N: it takes part in computations as a number, which the compiler knows.
template <std::size_t N>
struct FixedSize {
    constexpr explicit FixedSize(std::size_t = N) {}
    constexpr FixedSize& operator=(std::size_t) { return *this; }
    constexpr operator std::size_t() const { return N; }
};
// The type of a size that is N, or any if N is 0.
template <std::size_t N, class Any = std::size_t>
using Known = std::conditional_t<N == 0, Any, FixedSize<N>>;

}  // namespace pocketkernel

POCKETKERNEL_BEGIN

namespace parts {

inline constexpr bool sparse_rows = POCKETKERNEL_SPARSE_ROWS;
inline constexpr bool halves = POCKETKERNEL_HALVES;
inline constexpr bool validation = POCKETKERNEL_VALIDATION;
inline constexpr bool drawing = POCKETKERNEL_DRAWING;
inline constexpr bool passes = POCKETKERNEL_PASSES;
inline constexpr std::size_t features = POCKETKERNEL_FEATURES, classes = POCKETKERNEL_CLASSES;
inline constexpr std::size_t functions = POCKETKERNEL_FUNCTIONS, budget = POCKETKERNEL_BUDGET;
inline constexpr std::uint64_t digest = POCKETKERNEL_DIGEST;
#if defined(POCKETKERNEL_FAMILY_LIST)
inline constexpr std::uint32_t family_list[] = {POCKETKERNEL_FAMILY_LIST};
inline constexpr std::size_t kernels = sizeof family_list / sizeof family_list[0];
#else
inline constexpr std::uint32_t family_list[1] = {};
inline constexpr std::size_t kernels = 0;
#endif
constexpr bool has(Family family) {
    return (static_cast<std::uint32_t>(POCKETKERNEL_FAMILIES) >> static_cast<std::uint32_t>(family) & 1) != 0;
}

}  // namespace parts

POCKETKERNEL_END
