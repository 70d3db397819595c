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
//   (`take_constants`)
#pragma once

#include <cstdint>

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
#if !defined(POCKETKERNEL_FAMILIES)
#define POCKETKERNEL_FAMILIES 0xffffffff
#endif

namespace pocketkernel {

enum class Family : std::uint32_t;

}  // namespace pocketkernel

POCKETKERNEL_BEGIN

namespace parts {

inline constexpr bool sparse_rows = POCKETKERNEL_SPARSE_ROWS;
inline constexpr bool halves = POCKETKERNEL_HALVES;
inline constexpr bool validation = POCKETKERNEL_VALIDATION;
inline constexpr bool drawing = POCKETKERNEL_DRAWING;
constexpr bool has(Family family) {
    return (static_cast<std::uint32_t>(POCKETKERNEL_FAMILIES) >> static_cast<std::uint32_t>(family) & 1) != 0;
}

}  // namespace parts

POCKETKERNEL_END
