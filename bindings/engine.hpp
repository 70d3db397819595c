// Engine: a learner of any kind and precision behind one interface, so that the level can be chosen at run time.
//
// engine.cpp is compiled once per level and precision; each compilation offers one Table. Nothing here computes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pocketkernel/config.hpp"
#include "pocketkernel/status.hpp"

namespace pocketkernel::binding {

// Rows as Python stores them: dense (columns is null) or CSR. Another thread may change the arrays at any time, so
// every number is read only once.
struct Rows {
    const void* values = nullptr;
    bool doubles = false;  // else floats
    const std::int32_t* columns = nullptr;
    const std::int64_t* starts = nullptr;
    std::size_t stored = 0;  // entries of the CSR arrays
    std::size_t count = 0;
    std::size_t features = 0;
};

// What is learned with the rows: the class index of each label, or `outputs` targets for each row of a regressor; and
// weights if not all are 1. All are copies that no caller can change.
struct Lessons {
    const std::int32_t* labels = nullptr;
    const double* targets = nullptr;
    const double* weights = nullptr;
};

// The models of a fleet: where their states are, and to which one each row belongs. Of these rows a thread takes those
// of its part of the slots. A small fleet reserves little: the first slab has 2^first_bits slots, and each one that
// follows as many as all before it, until there are 2^slab_bits; from there on each has so many.
struct Slots {
    unsigned char* const* slabs = nullptr;
    unsigned first_bits = 0, slab_bits = 0;
    std::size_t bytes = 0;  // of a slot
    const std::size_t* of = nullptr;
    std::size_t part = 0, parts = 1;

    unsigned char* state(std::size_t slot) const {
        const std::size_t large = slot >> slab_bits;
        if (large != 0)
            return slabs[slab_bits - first_bits + large] + (slot & ((std::size_t(1) << slab_bits) - 1)) * bytes;
        unsigned k = 0;
        while ((slot >> first_bits >> k) != 0) ++k;
        return slabs[k] + (k == 0 ? slot : slot - (std::size_t(1) << (first_bits + k - 1))) * bytes;
    }
    // Slots in so many slabs.
    std::size_t in(std::size_t count) const {
        const std::size_t growing = slab_bits - first_bits + 1;
        if (count == 0) return 0;
        return count <= growing ? std::size_t(1) << (first_bits + count - 1) : (count - growing + 1) << slab_bits;
    }
};

struct Fault {
    std::size_t row = 0, column = 0;
};

// What the scores of a row say of the known classes, if there are outputs for more than two: the true one, the
// predicted one, those of the linear part and without the last labels, the probability of the predicted one, and the
// loss.
struct Answer {
    double label, place, linear_place, place_apart, probability, loss;
};

// The host's side of the core's watch.hpp, for the thread that learns: keeps the state from before a row that takes
// long, and puts it back if the row is given up. Scoring is not watched: no row takes long. A host that begins by
// itself watches what it builds.
class Watch {
  public:
    static constexpr bool present = true;
    static void begin(unsigned char* state, std::size_t size) {
        if (current) current->keep(state, size);
    }
    static bool give_up() { return current && current->kept_ && current->is_over(); }

    // Whether the last row was given up: then nothing of it, nor of the rows after it, is learned.
    bool stopped() const { return stopped_; }
    void end_row() {
        if (kept_) put_back();
    }

  protected:
    Watch() { current = this; }
    ~Watch() { current = nullptr; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    virtual bool is_over() = 0;  // whether to give up
    virtual void keep(unsigned char* state, std::size_t size) = 0;
    virtual void put_back() = 0;

    bool kept_ = false, stopped_ = false;

  private:
    static thread_local Watch* current;
};

class Engine {
  public:
    [[nodiscard]] virtual Status check(const Rows& rows, Fault& fault) const = 0;
    // Scores are written row by row, `outputs` of them each.
    virtual std::size_t outputs() const = 0;
    virtual bool is_regressor() const = 0;
    // Also those of the learner's linear part, unless `linear` is null, and those without the last labels, unless
    // `apart` is null; only if the learner tells them. With `answers`, of a classifier whose first `known` outputs have
    // a label, all three have room for one row.
    virtual bool tells_linear() const = 0;
    virtual bool tells_apart() const = 0;
    virtual void learn(const Rows& rows, const Lessons& lessons, double* scores, const Slots* slots = nullptr,
                       Watch* watch = nullptr, double* linear = nullptr, Answer* answers = nullptr,
                       std::size_t known = 0, double* apart = nullptr) = 0;
    // Several threads may score at once, each with its own scratch; null means the learner's own.
    virtual std::size_t scratch_bytes() const = 0;
    // `continues` says whether each row is taken for the one after the last that was learned.
    virtual void score(const Rows& rows, double* scores, void* scratch, const Slots* slots = nullptr,
                       bool continues = true) = 0;
    // K scores for each row; not of a multiclass learner.
    virtual void kernel_scores(const Rows& rows, double* scores, void* scratch) = 0;
    virtual std::size_t coefficients(std::size_t kernel, double* out) const = 0;  // how many; null only counts
    virtual std::size_t evidence(double* out) const = 0;                          // likewise
    virtual const Tally& tally() const = 0;
    virtual std::uint64_t repeats() const = 0;
    virtual const Milestones& milestones() const = 0;
    virtual void report(KernelReport* all) const = 0;  // one for each kernel
    virtual bool frequencies(double* out) const = 0;   // false if the learner has none
    virtual std::size_t frequency_count() const = 0;
    virtual bool relevance(double* out) const = 0;  // of the columns; likewise
    // Of a regressor, for each output: how far below and above an answer targets lie, for a share of them; likewise.
    virtual bool margins(double share, double* out) const = 0;
    // Bytes of the block that the frequencies, the ring and the ferns have; and how many changes of the stream were
    // noticed, with row, kind, column and change of the last ones (room for `EventLog::most` of them); likewise.
    virtual bool shares(double* out) const = 0;
    virtual bool events(std::uint64_t& count, std::uint64_t* out) const = 0;
    virtual std::size_t constants(unsigned char* out) const = 0;  // how many bytes; null only counts
    virtual void forget_lags() = 0;
    virtual void repeat(bool again) = 0;
    virtual bool valid() const = 0;
    virtual std::size_t state_bytes() const = 0;
    virtual void save(unsigned char* to) const = 0;
    [[nodiscard]] virtual Status load(const unsigned char* from, std::size_t size) = 0;
    // Of a fleet only: everything here is then about the model in the slot to which it is attached.
    virtual void attach(unsigned char* slot) = 0;
    virtual const unsigned char* newborn() const = 0;  // the state of a model that has learned nothing

  protected:
    ~Engine() = default;  // an engine is freed with its block
};

// What one compilation of the core offers. Functions return false for unknown names.
struct Table {
    const char* (*learner)(std::size_t place);  // names of the learners, then null
    // A learner with its state in the same block, or a fleet, whose states are elsewhere.
    bool (*size)(const char* learner, const Config& config, bool fleet, std::size_t& bytes, std::size_t& state_bytes,
                 Status& status);
    bool (*make)(const char* learner, const Config& config, bool fleet, void* block, std::size_t size, Engine*& engine,
                 Status& status);
    // For tests and benchmarks: an elementary function, lane by lane; a kernel's values by the ladder; and a bare pass.
    bool (*elementary)(const char* function, const double* in, double* out, std::size_t n);
    void (*kernel_values)(const Config& config, const double* metric, double* out, std::size_t n);
    double (*bare_pass)(const Rows& rows, std::size_t stored, void* block, std::size_t size);
};

const Table& base_float();
const Table& base_double();
#if defined(POCKETKERNEL_WITH_AVX2)
const Table& avx2_float();
const Table& avx2_double();
#endif

}  // namespace pocketkernel::binding
