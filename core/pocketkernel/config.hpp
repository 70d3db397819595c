// The configuration of a learner: plain numbers, one struct for all learners; each reads only its own fields.
//
// These types are shared by all levels. A parameter is declared twice in this file and nowhere else: as a field of
// Config, and by name in `for_each_parameter`, from which the digest, the binding and Python take it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parts.hpp"

namespace pocketkernel {

enum class Family : std::uint32_t;  // kernels/list.hpp
enum class Loss : std::uint32_t;    // losses/list.hpp
// What leaves a full buffer before the next example enters: half of it, everything, or only the oldest example.
// `eager`: half of it, as soon as it is full.
enum class Removal : std::uint32_t { half, restart, oldest, eager };
inline constexpr const char* removal_names[] = {"half", "restart", "oldest", "eager"};
enum class Storage : std::uint32_t { full, float16, bfloat16 };
inline constexpr const char* storage_names[] = {"full", "float16", "bfloat16"};

// A kernel: its family and up to two numbers, which are explained in the kernel's own file.
struct KernelSpec {
    KernelSpec() = default;
    constexpr KernelSpec(Family family_, double parameter_, std::uint32_t order_ = 1)
        : family(family_), order(order_), parameter(parameter_) {}

    Family family;
    std::uint32_t order;
    double parameter;
};

inline constexpr std::size_t max_kernels = 32;

struct Config {
    Known<parts::features> features{0};     // d, columns of a row
    Known<parts::classes> classes{2};       // C, number of classes; or m, outputs of a regressor
    Known<parts::budget> budget{0};         // B, stored examples (per kernel for M-OMD-H); or D, random frequencies
    Known<parts::kernels> kernel_count{0};  // K
    const KernelSpec* kernels = nullptr;    // the caller's; a learner keeps its own copy
    Loss loss = Loss(1);                    // logistic
    Removal removal = Removal::half;
    Storage storage = Storage::full;  // how buffers hold their rows
    double step = 1.0;                // c of lambda = c U / sqrt(B); the factor of LKMBooks' step
    double norm_bound = 1.0;          // U
    std::size_t reservoir = 10;       // M
    double horizon = 1e9;             // T
    double nu = 0.5;                  // LKMBooks
    double rate = 0.1;                // eta of Raker
    double regularization = 0.0;      // mu of Raker
    double quantile = 0.0;            // of a regressor: the one to predict; 0 stands for the mean
    std::uint64_t seed = 0;
};

// The family of kernel i, known to the compiler if the program has this configuration only.
constexpr Family family_of(const Config& config, std::size_t i) {
    return parts::kernels > 0 ? Family(parts::family_list[i]) : config.kernels[i].family;
}

// Limits for numbers in a saved state, far beyond what any stream can produce: counts stay exact in double precision,
// and sums of numbers below the limit stay finite.
inline constexpr std::uint64_t most_rounds = std::uint64_t(1) << 53;
inline constexpr double state_limit = 1e200;

// Calls f(name, field) for every parameter that is a number, in the order in which they enter the digest. The seed is
// not one of them: it does not affect the layout, and the state contains the random generator.
template <class C, class F>
constexpr void for_each_size(C& config, F&& f) {
    f("features", config.features);
    f("classes", config.classes);
    f("budget", config.budget);
}
template <class C, class F>
constexpr void for_each_parameter(C& config, F&& f) {
    f("step", config.step);
    f("norm_bound", config.norm_bound);
    f("reservoir", config.reservoir);
    f("horizon", config.horizon);
    f("nu", config.nu);
    f("rate", config.rate);
    f("regularization", config.regularization);
    f("quantile", config.quantile);
}

// What a learner has done so far; the per-kernel part is read through Learner::kernel_report. Rounds, mistakes and loss
// are those of rows that were new; the other counts include rows of later passes over them.
struct Tally {
    std::uint64_t rounds = 0;
    std::uint64_t mistakes = 0;
    double loss = 0.0;             // cumulative loss of the aggregated score
    std::uint64_t additions = 0;   // examples stored (summed over kernels)
    std::uint64_t proxies = 0;     // steps taken at a stored neighbour instead
    std::uint64_t removals = 0;    // times a buffer was halved or restarted
    std::uint64_t archived = 0;    // examples that entered the reservoir
    std::uint64_t overflowed = 0;  // archived examples that had to be dropped
};

// A count in words of the size of the random numbers', with which it shares a piece of the state.
class Count {
  public:
    operator std::uint64_t() const { return std::uint64_t(high_) << 32 | low_; }
    Count& operator=(std::uint64_t n) {
        low_ = static_cast<std::uint32_t>(n);
        high_ = static_cast<std::uint32_t>(n >> 32);
        return *this;
    }

  private:
    std::uint32_t low_ = 0, high_ = 0;
};

// Rounds and mistakes up to the last power of two, and up to the one before: what happened lately is the rest. 0 until
// they are known, as in states that were written before these counts were kept.
class Milestones {
  public:
    std::uint64_t rounds_before() const { return before_.rounds; }
    std::uint64_t mistakes_before() const { return before_.mistakes; }

    void pass(const Tally& tally) {
        if ((tally.rounds & (tally.rounds - 1)) != 0) return;
        before_ = then_;
        then_ = {tally.rounds, tally.mistakes};
    }
    bool valid(const Tally& tally) const {
        return follows(before_, {0, 0}) && follows(then_, before_) && follows({tally.rounds, tally.mistakes}, then_);
    }

  private:
    struct Milestone {
        Count rounds, mistakes;
        Milestone() = default;
        Milestone(std::uint64_t r, std::uint64_t m) {
            rounds = r;
            mistakes = m;
        }
    };
    static bool follows(const Milestone& b, const Milestone& a) {
        return a.rounds <= b.rounds && a.mistakes <= b.mistakes && b.mistakes - a.mistakes <= b.rounds - a.rounds;
    }

    Milestone then_, before_;
};

struct KernelReport {
    double weight;            // p_i
    double norm;              // |f_i| (|f'_i| for M-OMD-H)
    double alignment;         // A_i of M-OMD-H, else 0
    std::uint64_t stored;     // examples in its buffer
    std::uint64_t additions;  // as in Tally, for this kernel
    std::uint64_t proxies;
    std::uint64_t removals;
};

}  // namespace pocketkernel
