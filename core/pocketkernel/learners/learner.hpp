// What all learners have in common: configuration, kernels, counters, random numbers, scratch, and the state's bytes.
//
// A learner is a class template over T (float or double) that
//   - checks a Config (`check`), and lays itself out on an Arena (its constructor);
//   - scores a row (`score`) and learns a row (`learn`, which returns the score from before learning): one score for
//     two classes, else one for each class (`multiclass`), or one for each number to predict (`task`). A row's loss and
//     its slope are multiplied by its weight; a row of weight 0 changes nothing;
//   - reports on its kernels (`report`) and recognises an impossible state (`valid`).
// Everything that `learn` may change is on the arena before `end_of_state`; scratch memory follows it.
// Use `make` and `size_of` below to build one, in a block of the caller that is aligned to 64 bytes.
#pragma once

#include <new>
#include <utility>

#include "../buffer.hpp"
#include "../hedge.hpp"
#include "../hypothesis.hpp"
#include "../losses/list.hpp"
#include "../rng.hpp"
#include "../state.hpp"
#include "../watch.hpp"
#include "../workspace.hpp"

POCKETKERNEL_BEGIN

// Whether a learner has random frequencies, given by `frequency(j, k)`.
template <class L, class = void>
inline constexpr bool has_frequencies = false;
template <class L>
inline constexpr bool has_frequencies<L, std::void_t<decltype(std::declval<const L&>().frequency(0, 0))>> = true;

// Whether a learner has memory in which words of several sizes move, which it converts itself.
template <class L, class = void>
inline constexpr bool has_block_of_words = false;
template <class L>
inline constexpr bool
    has_block_of_words<L, std::void_t<decltype(std::declval<const L&>().convert_block(nullptr, nullptr))>> = true;

// Whether a learner weighs the columns, with weights given by `relevance(k)`.
template <class L, class = void>
inline constexpr bool has_relevance = false;
template <class L>
inline constexpr bool has_relevance<L, std::void_t<decltype(std::declval<const L&>().relevance(0))>> = true;

// Whether a learner notices changes of the stream (`events`) and shares memory among experts.
template <class L, class = void>
inline constexpr bool has_events = false;
template <class L>
inline constexpr bool has_events<L, std::void_t<decltype(std::declval<const L&>().events())>> = true;

// The bytes of a learner's object in its block. A learner may reserve more than it has (`object_bytes`), so that what a
// budget buys does not depend on its members.
template <class L, class = void>
inline constexpr std::size_t object_bytes_of = sizeof(L);
template <class L>
inline constexpr std::size_t object_bytes_of<L, std::void_t<decltype(L::object_bytes)>> =
    sizeof(L) > L::object_bytes ? sizeof(L) : L::object_bytes;

// The class with the largest score; the first if several are equal, but of two classes the second, because a score of 0
// means the second class in the learners for two classes.
inline std::size_t largest(const double* scores, std::size_t classes) {
    return classes == 2 ? scores[0] <= scores[1] : place_of_greatest(scores, classes);
}

// What the y of a row is: a label, or as many real numbers as the config has `classes`.
enum class Task { classification, regression };

// Weights of rows, of which one unit is like another: how many times a row counts is its weight over the geometric mean
// of the last ones', at most 16 and at most as all rows so far. No single row, however heavy, moves the mean or what
// has been learned for long. 32 rows one after the other that are all 1000 times lighter, or all heavier, than the mean
// have another unit: the mean starts again, as such rows would count for nothing while it follows them.
struct RelativeWeights {
    double mean_log;
    std::uint64_t age;  // rows in the mean; in the upper half, rows that were far heavier (or, negative, lighter)

    double times(double weight, std::uint64_t rounds) {
        const double log = weight == 1.0 ? 0.0 : logarithm(weight), apart = log - mean_log;
        auto rows = static_cast<std::int32_t>(age & 0xffff), unlike = static_cast<std::int32_t>(age >> 32);
        if (apart > most_apart)
            unlike = unlike > 0 ? unlike + 1 : 1;
        else
            unlike = !(apart < -most_apart) ? 0 : unlike < 0 ? unlike - 1 : -1;
        if (unlike == most_unlike || unlike == -most_unlike) rows = unlike = 0;
        if (rows < memory) ++rows;
        age = std::uint64_t(static_cast<std::uint32_t>(unlike)) << 32 | static_cast<std::uint32_t>(rows);
        approach(mean_log, log, static_cast<double>(rows));
        return smaller(exponential(smaller(log - mean_log, 5.0)), smaller(16.0, static_cast<double>(rounds)));
    }
    bool valid() const {
        const auto unlike = static_cast<std::int32_t>(age >> 32);
        return mean_log >= -800.0 && mean_log <= 30.0 && (age & 0xffffffff) <= std::uint64_t(memory) &&
               unlike < most_unlike && unlike > -most_unlike;
    }

  private:
    static constexpr std::int32_t memory = 4096, most_unlike = 32;
    static constexpr double most_apart = 6.907755278982137;  // ln 1000
};

template <class T>
[[nodiscard]] Status check_common(const Config& c, bool needs_smooth_loss, bool multiclass = false,
                                  std::size_t least_budget = 1, Task task = Task::classification) {
    if (c.features < 1 || c.features > 1000000) return Status::features_out_of_range;
    if (task == Task::regression) {
        if (c.classes < 1 || c.classes > 1000) return Status::outputs_out_of_range;
    } else if (c.classes < 2 || c.classes > (multiclass ? 10000 : 2)) {
        return Status::classes_out_of_range;
    }
    if (c.storage != Storage::full && sizeof(T) != sizeof(float)) return Status::storage_unsuited;
    if (c.budget < least_budget || c.budget > 10000000) return Status::budget_out_of_range;
    if (needs_smooth_loss && !is_smooth(c.loss)) return Status::loss_not_smooth;
    return check_kernels(c);
}
// Larger steps and norms would exceed the range of single precision on long streams.
inline bool positive(double x, double most = 1e12) { return x > 0.0 && x <= most; }

template <class T>
class Learner {
  public:
    // What the pocket learners reserve for their objects, on computers of 64 bits; on others bytes are as they are.
    static constexpr std::size_t pocket_bytes = sizeof(void*) == 8 ? 768 : 1;

    const Config& config() const { return config_; }
    const KernelBank<T>& bank() const { return bank_; }
    const Tally& tally() const { return common_->tally; }
    const Milestones& milestones() const { return common_->milestones; }
    std::uint64_t repeats() const { return common_->repeats; }
    Workspace<T>& workspace() { return work_; }
    // Another one, for another thread.
    Workspace<T> workspace_on(Arena& arena) const {
        return Workspace<T>(arena, config_, bank_, functions_, sparse_from_, more_rows_, own_values_);
    }

    static constexpr Task task = Task::classification;
    static constexpr bool multiclass = false;
    static constexpr std::uint32_t revision = 1;      // of the state's meaning
    static constexpr bool reads_rows = false;         // whether `score` takes a Row, else a Query of the workspace
    static constexpr bool tells_linear = false;       // whether `learn` tells the scores of its linear part
    static constexpr bool knows_last_labels = false;  // whether `score` is told if the row continues the stream
    static constexpr bool takes_missing = false;      // whether a value may be NaN, and what that means
    // The largest value of a row.
    static double largest_value(Storage storage) { return value_limit<T>(storage); }

    // The score of kernel i alone, after `score` with this workspace.
    double kernel_score(const Workspace<T>& work, std::size_t i) const { return work.values[i]; }
    // Calls f(a) for the coefficients of kernel i's function, in the order of its stored rows. Learners without such
    // coefficients never call f.
    template <class F>
    void for_each_coefficient(std::size_t, F&&) const {}
    // Calls f(number) for what a certificate needs besides the counters; the order is the learner's own.
    template <class F>
    void for_each_evidence(F&&) const {}

    // Constants: what the seed alone decides, such as random frequencies. They are not part of the state: `reset` and
    // `load` draw them, and models of one seed can share them. `draw_constants` returns the generator after the draws.
    Constants constants() const { return {}; }
    Rng draw_constants() { return Rng(config_.seed); }

    // How many random frequencies a learner has that has any.
    std::size_t frequency_count() const { return config_.budget; }

    // Tells the learner that the next row does not follow the last one, so that the last labels say nothing about it.
    void forget_lags() {}

    // Says whether the next rows were learned before, as in the later passes of a fit. Not part of the state. Functions
    // learn from such rows; what judges does not: counters of rounds, mistakes and loss, intervals, evidence for
    // certificates, and (but for the baselines) weights of kernels and experts. On rows that were seen before, what
    // memorises would seem infallible.
    void repeat(bool again) { repeats_ = again; }

  protected:
    // `repeats` are rounds on rows that were learned before; in states that were written before these were counted, 0.
    struct Draws {
        Rng rng;
        Milestones milestones;
        Count repeats;
    };
    struct Common {
        Tally tally;
        Rng rng;
        Milestones milestones;
        Count repeats;
    };
    static_assert(part_of_state<Common, 120> && part_of_state<Tally, pack_bytes> && part_of_state<Hypothesis, 16> &&
                  part_of_state<Draws, 56>);

    // What most learners need, and some can do without.
    struct Needs {
        bool bank = true;                               // kernels are compared with stored rows
        std::uint32_t sparse_from = sparse_from_width;  // columns from which a row may be handled as sparse
        std::uint32_t rows = 0;                         // of a workspace, besides the query
        std::uint32_t values = 0;                       // likewise, if more than one for each function
    };

    POCKETKERNEL_ONCE Learner(const Config& config, Arena& arena, Needs needs = Needs())
        : config_(config),
          bank_(needs.bank ? KernelBank<T>(arena, config) : KernelBank<T>()),
          K_(config.kernel_count),
          sparse_from_(needs.sparse_from),
          more_rows_(needs.rows),
          own_values_(needs.values) {
        KernelSpec* kernels = arena.take<KernelSpec>(K_);
        if (kernels) {
            std::memcpy(kernels, config.kernels, K_ * sizeof(KernelSpec));
            config_.kernels = kernels;
        }
        arena.begin_state();
        // Tally and the rest are pieces of their own because their words differ in size; together they are a Common.
        common_ = reinterpret_cast<Common*>(arena.take<Tally>(1));
        (void)arena.take<Draws>(1);
    }

    // Ends the state, and lays out the learner's own workspace for this number of functions.
    void end_of_state(Arena& arena, std::size_t functions) {
        state_bytes_ = arena.end_state();
        functions_ = functions;
        work_ = workspace_on(arena);
    }

    // The row may take long; nothing of the state has been changed yet.
    void begin_long_row() { Watch::begin(state(), state_bytes_); }

    // All rounds so far, of new rows and of others: what the pace of learning follows.
    std::uint64_t clock() const { return common_->tally.rounds + common_->repeats; }

    // Counts the round.
    void record(bool mistake, double loss) {
        if (repeats_) {
            common_->repeats = common_->repeats + 1;
            return;
        }
        Tally& tally = common_->tally;
        ++tally.rounds;
        tally.mistakes += mistake;
        tally.loss += loss;
        common_->milestones.pass(tally);
    }
    static bool is_mistake(double score, double y) { return (score >= 0.0) != (y > 0.0); }

    // How many examples are removed from a full buffer.
    std::size_t leaving() const {
        if (config_.removal == Removal::oldest) return 1;
        return config_.removal == Removal::restart ? config_.budget : config_.budget / 2;
    }

    bool common_valid() const {
        const Tally& t = common_->tally;
        bool good = common_->rng.valid() && t.rounds <= most_rounds && t.mistakes <= t.rounds && is_sum(t.loss);
        good = good && common_->milestones.valid(t) && common_->repeats <= most_rounds;
        for (std::uint64_t count : {t.additions, t.proxies, t.removals, t.archived, t.overflowed})
            good = good && count <= max_kernels * most_rounds;
        return good;
    }
    // Whether a number can be a sum of nonnegative numbers.
    static bool is_sum(double x) { return x >= 0.0 && x <= state_limit; }

    // work.values[iC + c] = sum_j a_icj kappa_i(x_j, q) over the oldest `rows` rows, for all kernels i and their C
    // functions, in one pass; each group's nearest row on the way if `nearest` is given. A function's coefficients are
    // row iC + c of `a`, or row c if all kernels share them. Count is how many C is, if the compiler may know, else 0.
    template <std::size_t Count>
    void pass(const Buffer<T>& buffer, std::size_t rows, const Coefficients<T>& a, std::size_t functions, bool shared,
              const Query<T>& q, Workspace<T>& work, Nearest* nearest) const {
        const std::size_t C = Count > 0 ? Count : functions;
        for (std::size_t n = 0; n < K_ * C; ++n) work.partial[n] = Pack<T>(T(0));
        if (nearest)
            for (std::size_t g = 0; g < bank_.groups(); ++g) nearest[g].reset();
        buffer.for_each_tile(bank_.metrics(), q, rows, [&](std::size_t tile, const auto& metrics) {
            constexpr std::size_t G = std::decay_t<decltype(metrics)>::tiles;
            for (std::size_t g = 0; nearest && g < bank_.groups(); ++g)
                nearest[g].offer(bank_.least_dissimilarity(bank_.leader_of(g), metrics), tile);
            bank_.evaluate(metrics, [&](std::size_t i, const auto& k) {
                for (std::size_t c = 0; c < C; ++c) {
                    Pack<T> partial = work.partial[i * C + c];
                    for (std::size_t g = 0; g < G; ++g)
                        add_product(partial, a.pack(shared ? c : i * C + c, tile + g), k(g));
                    work.partial[i * C + c] = partial;
                }
            });
        });
        for (std::size_t n = 0; n < K_ * C; ++n) work.values[n] = sum(work.partial[n]);
    }

    Config config_;
    KernelBank<T> bank_;
    Known<parts::kernels> K_;
    Common* common_ = nullptr;
    Workspace<T> work_;
    std::conditional_t<parts::passes, bool, FixedSize<0>> repeats_{};  // see `repeat`

  private:
    template <class L>
    friend std::size_t state_bytes(const L&);
    template <class L>
    friend void convert(const L&, unsigned char*);
    template <class L>
    friend void save(const L&, unsigned char*);
    template <class L, bool Drawn>
    friend Status load(L&, const unsigned char*, std::size_t);

    // The state begins with Common, the first piece taken.
    unsigned char* state() const { return reinterpret_cast<unsigned char*>(common_); }
    std::uint32_t sparse_from_, more_rows_, own_values_;  // see Needs
    std::size_t state_bytes_ = 0, functions_ = 0;
};

template <class L>
std::size_t state_bytes(const L& learner) {
    return sizeof(StateHeader) + learner.state_bytes_;
}

// The bytes of a learner: in total, and of its saved state.
struct Size {
    std::size_t bytes, state_bytes;
};

template <class L>
Size size_of(const Config& config) {
    Arena arena;
    arena.place<L>(object_bytes_of<L>);
    L counted(config, arena);
    return {arena.used(), state_bytes(counted)};
}

// Builds L at the front of the block. The learner uses the block as long as it exists, and never more. Without Reset it
// has to be loaded before anything else.
template <class L, bool Reset = true>
[[nodiscard]] Status make(const Config& config, void* block, std::size_t size, L*& learner) {
    if constexpr (parts::validation) {
        const Status status = L::check(config);
        if (status != Status::ok) return status;
    }
    if (reinterpret_cast<std::uintptr_t>(block) % pack_bytes != 0) return Status::block_misaligned;
    if (size < size_of<L>(config).bytes) return Status::block_too_small;
    Arena arena(block);
    learner = new (arena.place<L>(object_bytes_of<L>)) L(config, arena);
    if constexpr (Reset) learner->reset();
    return Status::ok;
}

// Identifies the model in saved states.
template <class L>
std::uint64_t digest_of(const L& learner) {
    if constexpr (parts::digest != 0) return parts::digest;
    return model_digest(L::name, sizeof(typename L::Element), learner.config(), L::revision,
                        learner.constants().bytes > 0);
}

// From the order of the machine to that of a saved state, or back: the state of such a learner, at `state`. The learner
// is laid out once more, without memory, to tell the arrays apart.
template <class L>
void convert(const L& learner, unsigned char* state) {
    if constexpr (big_endian) {
        Arena arena = Arena::converting(state);
        L counted(learner.config(), arena);
        if constexpr (has_block_of_words<L>) learner.convert_block(learner.state(), state);
    }
}

// The constants, little-endian as a state: constants().bytes of them.
template <class L>
void give_constants(const L& learner, unsigned char* to) {
    const Constants from = learner.constants();
    if (from.bytes > 0) std::memcpy(to, from.at, from.bytes);
    if constexpr (big_endian) swap_words(to, from.bytes, from.word);
}
template <class L>
void take_constants(L& learner, const unsigned char* from) {
    const Constants to = learner.constants();
    if (to.bytes > 0) std::memcpy(to.at, from, to.bytes);
    if constexpr (big_endian) swap_words(to.at, to.bytes, to.word);
}

// Writes exactly state_bytes(learner) bytes.
template <class L>
void save(const L& learner, unsigned char* to) {
    unsigned char* payload = to + sizeof(StateHeader);
    std::memcpy(payload, learner.state(), learner.state_bytes_);
    convert(learner, payload);
    Digest digest;
    digest.add_bytes(payload, learner.state_bytes_);
    StateHeader header{StateHeader::the_magic, StateHeader::the_version, digest_of(learner), learner.state_bytes_,
                       digest.value()};
    header.convert();
    std::memcpy(to, &header, sizeof header);
}

// Restores a saved state exactly. If it is refused, the learner is unchanged; if its checksum is correct but its
// contents are impossible, the learner is reset. A learner that was reset before has drawn its constants already.
template <class L, bool Drawn = false>
[[nodiscard]] Status load(L& learner, const unsigned char* from, std::size_t size) {
    StateHeader header{};
    if (size < sizeof header) return Status::state_wrong_size;
    std::memcpy(&header, from, sizeof header);
    header.convert();
    if (header.magic != StateHeader::the_magic) return Status::state_foreign;
    if (header.version > StateHeader::the_version) return Status::state_newer;
    if (header.version != StateHeader::the_version) return Status::state_foreign;
    for (std::uint32_t revision = 1; parts::digest == 0 && revision < L::revision; ++revision)
        if (header.model == model_digest(L::name, sizeof(typename L::Element), learner.config(), revision))
            return Status::state_older;
    if (header.model != digest_of(learner)) return Status::state_other_model;
    if (header.size != learner.state_bytes_ || size != state_bytes(learner)) return Status::state_wrong_size;
    Digest digest;
    digest.add_bytes(from + sizeof header, learner.state_bytes_);
    if (digest.value() != header.checksum) return Status::state_damaged;
    std::memcpy(learner.state(), from + sizeof header, learner.state_bytes_);
    convert(learner, learner.state());
    if constexpr (parts::drawing && !Drawn) (void)learner.draw_constants();
    if constexpr (parts::validation)
        if (!learner.valid()) {
            std::memset(learner.state(), 0, learner.state_bytes_);
            learner.reset();
            return Status::state_damaged;
        }
    return Status::ok;
}

POCKETKERNEL_END
