// What every learner owes: no allocation after construction, its block and no byte more, the same course however rows
// come in and whatever was in the block before. That scores are right is the oracle's business (test_oracle.py).
#include <new>

#include "any_learner.hpp"
#include "check.hpp"
#include "pocketkernel/event_log.hpp"
#include "pocketkernel/state.hpp"

using namespace pocketkernel;

// ---- counting allocations -------------------------------------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static volatile long allocations = 0;

static void* counted(std::size_t size, std::size_t alignment) {
    allocations = allocations + 1;
    size = (size + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, size > 0 ? size : alignment);
}
void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t a) { return counted(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return counted(size, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

// Under glibc the C functions are counted too, for every caller in the process; sanitizers need them for themselves.
#if defined(__GLIBC__) && !SANITIZED
#define COUNTS_MALLOC 1
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) noexcept {
    allocations = allocations + 1;
    return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) noexcept {
    allocations = allocations + 1;
    return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) noexcept {
    allocations = allocations + 1;
    return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
    allocations = allocations + 1;
    return __libc_memalign(alignment, n);
}
}
#else
#define COUNTS_MALLOC 0
#endif

namespace {

// ---- learners to try ------------------------------------------------------------------------------------------------

constexpr std::size_t d = Stream::d;
const KernelSpec mixed[] = {{Family::gaussian, 0.25},  {Family::laplacian, 2.0}, {Family::gaussian, 1.0},
                            {Family::polynomial, 3.0}, {Family::gaussian, 0.7},  {Family::linear, 1.0},
                            {Family::matern32, 1.5},   {Family::matern52, 0.8},  {Family::rational_quadratic, 1.0, 2}};
const KernelSpec gaussians[] = {
    {Family::gaussian, 0.25}, {Family::gaussian, 1.0}, {Family::gaussian, 4.0}, {Family::gaussian, 0.7}};
const KernelSpec sharing[] = {{Family::linear, 1.0},   {Family::gaussian, 2.0},  {Family::gaussian, 1.0},
                              {Family::gaussian, 0.5}, {Family::laplacian, 1.0}, {Family::polynomial, 4.0},
                              {Family::matern32, 1.0}, {Family::linear, 1.0}};
const KernelSpec halving[] = {{Family::linear, 1.0},   {Family::gaussian, 4.0}, {Family::gaussian, 2.0},
                              {Family::gaussian, 1.0}, {Family::gaussian, 0.5}, {Family::gaussian, 0.25}};
const char *const S = "m_omd_s", *const H = "m_omd_h", *const LKM = "lkm_books", *const R = "raker",
                  *const MC = "multiclass_m_omd_s", *const SH = "shared_m_omd_h", *const P = "pocket_classifier",
                  *const PR = "pocket_regressor";

bool is(const Which& which, const char* name) { return std::strcmp(which.name, name) == 0; }
bool is_mirror_descent(const Which& which) { return is(which, S) || is(which, H) || is(which, SH) || is(which, MC); }
bool is_pocket(const Which& which) { return is(which, P) || is(which, PR); }
bool can_store_halves(const Which& which) { return !which.doubles && !is(which, R) && !is_pocket(which); }

Config plain() {
    Config c;
    c.features = d;
    c.budget = 12;
    c.kernel_count = 4;
    c.kernels = gaussians;
    c.norm_bound = 3.0;
    c.reservoir = 4;
    c.horizon = 20.0;  // so small that the archive of M-OMD-H overflows
    c.rate = 0.3;
    c.regularization = 0.001;
    c.seed = 77;
    return c;
}
Config config(const Which& which) {
    Config c = plain();
    if (!is(which, R)) {
        c.kernels = mixed;
        c.kernel_count = 6;
    }
    if (is(which, LKM)) c.horizon = 1000.0, c.step = 10.0;
    if (is_pocket(which)) c.kernels = halving, c.budget = is(which, P) ? 100 : 150;
    c.classes = which.classes;
    return c;
}
Config config(const Which& which, Storage storage) {
    Config c = config(which);
    c.storage = storage;
    return c;
}

// Weights of every kind, 0 and 1 among them.
double weight_of(int round) {
    constexpr double weights[] = {1.0, 0.5, 0.0, 2.0, 1e-3, 10.0, 1.0 / 3.0};
    return weights[round * 5 % 11 % 7];
}

unsigned char state[1 << 17];

}  // namespace

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(learners_the_counter_counts) {
    const long before = allocations;
    void* volatile p = ::operator new(100);
    ::operator delete(p);
    CHECK(allocations > before);
#if COUNTS_MALLOC
    const long then = allocations;
    p = std::malloc(100);
    std::free(p);
    p = std::calloc(3, 5);
    std::free(p);
    CHECK(allocations == then + 2);
#endif
}

TEST(learners_allocate_nothing) {
    constexpr int rounds = SANITIZED ? 1000 : 4000;
    for (const Which& which : every_learner) {
        Made made(which, config(which));
        Stream stream(3, which.classes);
        if (!CHECK(made->state_bytes() <= sizeof state)) return;
        double total = 0.0;
        bool loaded = true;
        const long before = allocations;
        for (int t = 0; t < rounds; ++t) {
            const AnyLearner::Row row = stream.next();
            total += made->learn(row, stream.label);
            if (t % 50 != 0) continue;
            total += made->score(row);
            made->save(state);
            loaded = loaded && made->load(state, made->state_bytes()) == Status::ok;
            state[40] ^= 1;
            loaded = loaded && made->load(state, made->state_bytes()) == Status::state_damaged;
            for (std::size_t i = 0; i < made->config().kernel_count; ++i) total += made->report(i).norm;
        }
        const long after = allocations;
        CHECK_EQUAL(after, before);
        CHECK(loaded && std::isfinite(total));
        // The run has been through every branch that the learner has.
        const Tally& tally = made->tally();
        CHECK_EQUAL(tally.rounds, rounds);
        if (is_mirror_descent(which)) CHECK(tally.proxies > 10 && tally.removals > 10);
        if (is(which, H) || is(which, SH)) CHECK(tally.overflowed > 3);
        if (is(which, LKM)) CHECK(tally.additions == 12);
    }
}

TEST(learners_keep_to_their_block) {
    for (const Which& which : every_learner) {
        constexpr std::size_t beyond = 256;
        const std::size_t size = bytes_of(which, config(which));
        CHECK(size % pack_bytes == 0);
        CHECK(state_bytes_of(which, config(which)) < size);
        auto* block = static_cast<unsigned char*>(std::aligned_alloc(pack_bytes, size + beyond));
        std::memset(block, 0x5a, size + beyond);
        Config c = config(which);
        KernelSpec kernels[6];
        std::memcpy(kernels, c.kernels, c.kernel_count * sizeof(KernelSpec));
        c.kernels = kernels;
        AnyLearner learner;
        CHECK(learner.make(which, c, block, 0) == Status::block_too_small);
        CHECK(learner.make(which, c, block, size - 1) == Status::block_too_small);
        for (std::size_t off : {1, 8, 32})
            CHECK(learner.make(which, c, block + off, size + 64) == Status::block_misaligned);
        CHECK(learner.make(which, c, block, size) == Status::ok);
        for (KernelSpec& kernel : kernels) kernel = {Family::polynomial, 7.0};
        Stream stream(3, which.classes), again(3, which.classes);
        teach(learner, stream, 500);
        bool untouched = true;
        for (std::size_t i = 0; i < beyond; ++i) untouched = untouched && block[size + i] == 0x5a;
        CHECK(untouched);
        // What was in the block before does not matter, nor does what becomes of the caller's kernels.
        Made twin(which, config(which));
        teach(*twin, again, 500);
        CHECK(same_state(learner, *twin));
        CHECK_EQUAL(learner.state_bytes(), state_bytes_of(which, config(which)));
        std::free(block);
    }
}

TEST(learners_grow_with_the_budget) {
    for (const Which& which : every_learner) {
        Config c = config(which);
        std::size_t last = 0;
        for (c.budget = 2; c.budget < 200; ++c.budget) {
            const std::size_t size = bytes_of(which, c);
            CHECK(size >= last);
            last = size;
        }
        CHECK(last > bytes_of(which, config(which)));
        if (!can_store_halves(which)) continue;
        c.storage = Storage::float16;
        CHECK(bytes_of(which, c) < last);
        const std::size_t halves = bytes_of(which, c);
        c.storage = Storage::bfloat16;
        CHECK_EQUAL(bytes_of(which, c), halves);
    }
}

// ---- courses --------------------------------------------------------------------------------------------------------

// Dense or sparse: the same numbers take the same course.
TEST(learners_read_any_row) {
    for (const Which& which : every_learner) {
        Made as_dense(which, config(which)), as_sparse(which, config(which));
        Stream stream(5, which.classes);
        for (int t = 0; t < 400; ++t) {
            const AnyLearner::Row row = stream.next();
            double values[d];
            std::int32_t columns[d];
            std::size_t nonzeros = 0;
            for (std::size_t k = 0; k < d; ++k) {
                if (row.values[k] == 0.0) continue;
                values[nonzeros] = row.values[k];
                columns[nonzeros++] = static_cast<std::int32_t>(k);
            }
            CHECK_EQUAL(as_sparse->learn({values, columns, nonzeros}, stream.label),
                        as_dense->learn(row, stream.label));
        }
        CHECK(same_state(*as_dense, *as_sparse));
    }
}

TEST(learners_score_without_learning) {
    for (const Which& which : every_learner) {
        Made asked(which, config(which)), left_alone(which, config(which));
        Stream stream(6, which.classes);
        std::uint64_t mistakes = 0;
        for (int t = 0; t < 400; ++t) {
            const AnyLearner::Row row = stream.next();
            (void)asked->score(stream.row(static_cast<std::size_t>(t) % stream.pool));
            const double score = asked->score(row);
            mistakes += !is(which, PR) && asked->label() != stream.label;
            CHECK_EQUAL(asked->learn(row, stream.label), score);
            (void)left_alone->learn(row, stream.label);
            CHECK_EQUAL(asked->tally().mistakes, mistakes);
        }
        CHECK(same_state(*asked, *left_alone));
        if (!is(which, PR)) CHECK(mistakes > 0 && mistakes < 200);  // it has learned something
    }
}

// Another thread scores with scratch of its own, of exactly the size that is named, while this one scores too.
TEST(learners_score_on_other_scratch) {
    for (const Which& which : every_learner)
        for (Storage storage : {Storage::full, Storage::bfloat16}) {
            if (storage != Storage::full && !can_store_halves(which)) continue;
            Made made(which, config(which, storage));
            Stream stream(11, which.classes);
            teach(*made, stream, 200);
            made->save(state);
            constexpr std::size_t beyond = 256;
            const std::size_t size = made->scratch_bytes();
            CHECK(size > 0 && size < bytes_of(which, config(which, storage)));
            auto* scratch = static_cast<unsigned char*>(std::aligned_alloc(pack_bytes, size + beyond));
            for (std::size_t j = 0; j < stream.pool; ++j) {
                std::memset(scratch, 0x5a, size + beyond);
                const double expected = made->score(stream.row(j));
                CHECK_EQUAL(made->score_on(scratch, stream.row(j)), expected);
            }
            bool untouched = true;
            for (std::size_t i = 0; i < beyond; ++i) untouched = untouched && scratch[size + i] == 0x5a;
            CHECK(untouched);
            std::free(scratch);
            Made twin(which, config(which, storage));
            CHECK(twin->load(state, made->state_bytes()) == Status::ok && same_state(*made, *twin));
        }
}

// ---- weights --------------------------------------------------------------------------------------------------------

TEST(learners_weight_0_leaves_no_trace) {
    for (const Which& which : every_learner) {
        Made made(which, config(which)), twin(which, config(which));
        Stream stream(12, which.classes), other(13, which.classes);
        for (int t = 0; t < 200; ++t) {
            const AnyLearner::Row skipped = other.next();
            const double score = made->score(skipped);
            CHECK_EQUAL(made->learn(skipped, other.label, 0.0), score);
            if (t % 20 == 0) CHECK(same_state(*made, *twin));
            const AnyLearner::Row row = stream.next();
            CHECK_EQUAL(made->learn(row, stream.label), twin->learn(row, stream.label));
        }
        CHECK(same_state(*made, *twin));
        CHECK_EQUAL(made->tally().rounds, 200);
    }
}

TEST(learners_weight_1_is_no_weight) {
    for (const Which& which : every_learner) {
        Made made(which, config(which)), twin(which, config(which)), heavy(which, config(which));
        Stream stream(14, which.classes);
        for (int t = 0; t < 200; ++t) {
            const AnyLearner::Row row = stream.next();
            CHECK_EQUAL(made->learn(row, stream.label, 1.0), twin->learn(row, stream.label));
            (void)heavy->learn(row, stream.label, 2.0);
        }
        CHECK(same_state(*made, *twin));
        CHECK(!same_state(*made, *heavy));
    }
}

// What a weight may be ends at 1e9; numbers stay numbers, and a state with them can be loaded.
TEST(learners_bear_every_weight) {
    for (const Which& which : every_learner) {
        Made made(which, config(which)), twin(which, config(which));
        Stream stream(15, which.classes);
        double total = 0.0;
        for (int t = 0; t < 300; ++t) {
            const AnyLearner::Row row = stream.next();
            const double weight = t % 7 == 0 ? 1e9 : t % 7 == 1 ? 1e-300 : t % 7 == 2 ? 0x1p-1074 : weight_of(t);
            const double score = made->learn(row, stream.label, weight);
            CHECK(std::isfinite(score));
            double weights = 0.0;
            for (std::size_t i = 0; i < made->config().kernel_count; ++i) {
                const KernelReport report = made->report(i);
                CHECK(std::isfinite(report.norm) && report.weight >= 0.0);
                if (is_mirror_descent(which)) CHECK(report.norm <= made->config().norm_bound * (1.0 + 1e-12));
                weights += report.weight;
            }
            CHECK_NEAR(weights, 1.0, 1e-12);
            total += weight;
        }
        CHECK(std::isfinite(made->tally().loss) && made->tally().rounds > 200 && total > 0.0);
        made->save(state);
        CHECK(twin->load(state, made->state_bytes()) == Status::ok && same_state(*made, *twin));
    }
}

// ---- storage --------------------------------------------------------------------------------------------------------

// A learner that stores halves takes the course of one that is given rounded rows.
TEST(learners_with_halves_learn_rounded_rows) {
    for (const Which& which : every_learner)
        for (Storage storage : {Storage::float16, Storage::bfloat16}) {
            if (!can_store_halves(which)) continue;
            const HalfFormat format(storage);
            Made halves(which, config(which, storage)), full(which, config(which));
            CHECK(halves->state_bytes() < full->state_bytes());
            Stream stream(16, which.classes);
            for (int t = 0; t < 300; ++t) {
                const AnyLearner::Row row = stream.next();
                double coarse[d];
                for (std::size_t k = 0; k < d; ++k)
                    coarse[k] = static_cast<double>(format.rounded(static_cast<float>(row.values[k])));
                CHECK_EQUAL(halves->learn(row, stream.label), full->learn({coarse}, stream.label));
            }
            for (std::size_t i = 0; i < full->config().kernel_count; ++i) {
                const KernelReport a = halves->report(i), b = full->report(i);
                CHECK(a.weight == b.weight && a.norm == b.norm && a.stored == b.stored && a.proxies == b.proxies);
            }
            // Its own kind of state, which it goes on from.
            halves->save(state);
            CHECK(full->load(state, halves->state_bytes()) == Status::state_other_model);
            Made again(which, config(which, storage));
            CHECK(again->load(state, halves->state_bytes()) == Status::ok);
            teach(*again, stream, 20);
            Stream replay(16, which.classes);
            for (int t = 0; t < 300; ++t) (void)replay.next();
            teach(*halves, replay, 20);
            CHECK(same_state(*again, *halves));
        }
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

TEST(learners_stay_in_bounds) {
    for (const Which& which : every_learner)
        for (Removal removal : {Removal::half, Removal::restart, Removal::eager})
            for (std::size_t budget : {std::size_t(2), std::size_t(3), std::size_t(17)})
                for (std::size_t K : {std::size_t(1), std::size_t(4)}) {
                    Config c = config(which);
                    c.removal = removal;
                    c.budget = budget;
                    c.kernel_count = K;
                    Made made(which, c);
                    Stream stream(7, which.classes);
                    for (int t = 0; t < 150; ++t) {
                        const AnyLearner::Row row = stream.next();
                        CHECK(std::isfinite(made->learn(row, stream.label)));
                        double total = 0.0;
                        for (std::size_t i = 0; i < K; ++i) {
                            const KernelReport report = made->report(i);
                            CHECK(report.weight >= 0.0);
                            CHECK(report.stored <= (is_pocket(which) ? padded<float>(budget) : budget));
                            if (is_mirror_descent(which)) {
                                CHECK(report.norm <= c.norm_bound * (1.0 + 1e-12));
                                const bool all = removal == Removal::restart && !is(which, SH);
                                const std::size_t dropped = all ? budget : budget / 2;
                                if (removal == Removal::eager || is(which, SH)) CHECK(report.stored < budget);
                                CHECK_EQUAL(report.stored, report.additions - dropped * report.removals);
                            }
                            total += report.weight;
                        }
                        CHECK_NEAR(total, 1.0, 1e-12);
                    }
                }
}

TEST(learners_go_on_from_a_state) {
    for (const Which& which : every_learner) {
        Made one(which, config(which)), two(which, config(which));
        Stream stream(8, which.classes), elsewhere(9, which.classes);
        teach(*one, stream, 400);
        teach(*two, elsewhere, 50);  // what it knew before is forgotten
        one->save(state);
        CHECK(two->load(state, one->state_bytes()) == Status::ok);
        CHECK(same_state(*one, *two));
        for (int t = 0; t < 200; ++t) {
            const AnyLearner::Row row = stream.next();
            CHECK_EQUAL(one->learn(row, stream.label), two->learn(row, stream.label));
        }
        CHECK(same_state(*one, *two));
    }
}

// ---- PocketClassifier -----------------------------------------------------------------------------------------------

namespace {

const Which pockets[] = {{P, false}, {P, true}, {P, false, 3}, {P, true, 3}};
const Which both_pockets[] = {{P, false}, {P, true}, {P, false, 3}, {P, true, 3}, {PR, false}, {PR, true, 3}};

// A linear kernel and count - 1 Gaussians from `widest` on.
struct Halving {
    KernelSpec kernels[max_kernels];
    explicit Halving(double widest) {
        kernels[0] = {Family::linear, 1.0};
        for (std::size_t i = 1; i < max_kernels; ++i, widest /= 2.0) kernels[i] = {Family::gaussian, widest};
    }
};

// Rows wide enough to be handled as sparse: of every six one is dense, one all zeros, one half full.
class WideStream {
  public:
    static constexpr std::size_t d = 131;

    explicit WideStream(std::uint64_t seed, std::size_t classes) : rng_(seed), classes_(classes) {}
    void next() {
        const std::size_t sort = rng_.index(6);
        const double fill = sort == 0 ? 1.0 : sort == 1 ? 0.0 : sort == 2 ? 0.5 : 0.1;
        double total = 0.0;
        nonzeros = 0;
        for (std::size_t k = 0; k < d; ++k) {
            const double value = k == 7 ? 3.0 : 2.0 * rng_.uniform() - 1.0;
            row[k] = rng_.uniform() < fill ? static_cast<float>(value) : 0.0;
            if (k < 8) total += row[k];
            if (row[k] == 0.0) continue;
            values[nonzeros] = row[k];
            columns[nonzeros++] = static_cast<std::int32_t>(k);
        }
        label = classes_ == 3 && total > 1.0 ? 2.0 : total > 0.0 ? 1.0 : -1.0;
    }
    AnyLearner::Row dense() const { return {row}; }
    AnyLearner::Row sparse() const { return {values, columns, nonzeros}; }

    double row[d], values[d], label = 1.0;
    std::int32_t columns[d];
    std::size_t nonzeros = 0;

  private:
    Rng rng_;
    std::size_t classes_;
};

Config wide(const Which& which, std::size_t count, std::size_t budget) {
    Config c = config(which);
    c.features = WideStream::d;
    c.kernel_count = count;
    c.budget = budget;
    return c;
}

// Where the state keeps what follows the rounds and the random numbers.
struct PocketCourse {
    double square, running_square;
    std::uint64_t next_refresh;
    double log_weight, age_of_weights, reversal, surprise;
    std::uint64_t next_review, turned;
    EventLog events;
    double squares;  // of the first expert
};
PocketCourse course_of(const AnyLearner& learner) {
    PocketCourse course;
    learner.save(state);
    unsigned char* begin = state + sizeof(StateHeader) + 2 * pack_bytes;
    if (big_endian) swap_words(begin, sizeof course, 8);
    std::memcpy(&course, begin, sizeof course);
    return course;
}

// How often a learner has seen its stream change: that the classes have changed places, or that it is too sure.
struct Alarms {
    int reversals = 0, surprises = 0;
    void look(const PocketCourse& before, const PocketCourse& after) {
        reversals += before.turned != after.turned;
        surprises += after.squares < before.squares;
    }
};

// Labels as likely as a linear model says; of three classes the third has a score of its own.
class Calibrated {
  public:
    explicit Calibrated(std::uint64_t seed, std::size_t classes) : rng_(seed), classes_(classes) {}
    AnyLearner::Row next() {
        double scores[3] = {}, total = 0.0;
        for (std::size_t k = 0; k < d; ++k) {
            row_[k] = 2.0 * rng_.uniform() - 1.0;
            scores[k % 3] += (k % 2 == 0 ? sharpness : -sharpness) * row_[k];
        }
        for (std::size_t c = 0; c < classes_; ++c) total += std::exp(scores[c]);
        double u = rng_.uniform() * total;
        std::size_t y = 0;
        while (y + 1 < classes_ && u >= std::exp(scores[y])) u -= std::exp(scores[y++]);
        label = y == 0 ? -1.0 : static_cast<double>(y);
        return {row_};
    }
    double label = 1.0, sharpness = 2.0;

  private:
    Rng rng_;
    std::size_t classes_;
    double row_[d];
};

}  // namespace

// However a row comes in, and on whatever scratch it is scored.
TEST(pocket_learners_read_wide_rows) {
    for (const Which& which : both_pockets)
        for (std::size_t count : {1, 3, 6}) {
            const Config c = wide(which, count, count == 1 ? 0 : 60);
            Made as_dense(which, c), as_sparse(which, c);
            WideStream stream(1, which.classes);
            void* scratch = std::aligned_alloc(pack_bytes, as_dense->scratch_bytes());
            std::memset(scratch, 0x5a, as_dense->scratch_bytes());
            for (int t = 0; t < 500; ++t) {
                stream.next();
                CHECK_EQUAL(as_sparse->score(stream.sparse()), as_dense->score(stream.dense()));
                const double score = as_sparse->learn(stream.sparse(), stream.label, weight_of(t));
                CHECK_EQUAL(as_dense->score_on(scratch, stream.sparse()), score);
                CHECK_EQUAL(as_dense->learn(stream.dense(), stream.label, weight_of(t)), score);
            }
            std::free(scratch);
            CHECK(same_state(*as_dense, *as_sparse));
        }
}

// Of wide rows and two classes: likewise however a row comes in, and resumed; it has not come as far as the fast one.
TEST(pocket_classifier_slow_linear_expert) {
    Halving kernels(2.0);
    kernels.kernels[4] = {Family::polynomial, 1.0};
    for (const Which& which : {pockets[0], pockets[1]}) {
        Config c = wide(which, 5, 60);
        c.kernels = kernels.kernels;
        Made as_dense(which, c), as_sparse(which, c), resumed(which, c);
        WideStream stream(1, which.classes);
        for (int t = 0; t < 500; ++t) {
            stream.next();
            const double score = as_sparse->learn(stream.sparse(), stream.label, weight_of(t));
            CHECK_EQUAL(as_dense->learn(stream.dense(), stream.label, weight_of(t)), score);
            if (t == 250) {
                as_dense->save(state);
                CHECK(resumed->load(state, as_dense->state_bytes()) == Status::ok);
            }
            if (t > 250) CHECK_EQUAL(resumed->learn(stream.sparse(), stream.label, weight_of(t)), score);
        }
        CHECK(same_state(*as_dense, *as_sparse) && same_state(*as_dense, *resumed));
        CHECK(as_dense->report(4).norm > 0.0 && as_dense->report(4).norm < as_dense->report(0).norm);
        CHECK_EQUAL(as_dense->report(4).stored, std::size_t(0));
        c.features = 63;
        CHECK(check_config(which, c) == Status::kernels_not_halving);
        c.features = 64;
        CHECK(check_config(which, c) == Status::ok);
        c.classes = 3;
        CHECK(check_config(which, c) == Status::kernels_not_halving);
    }
}

// A budget is rounded up to whole tiles, and may be 0.
TEST(pocket_classifier_budgets) {
    for (const Which& which : pockets)
        for (std::size_t budget : {0, 1, 16, 17, 300}) {
            Made made(which, wide(which, 5, budget)), twin(which, wide(which, 5, budget));
            WideStream stream(2, which.classes);
            for (int t = 0; t < 250; ++t) {
                stream.next();
                CHECK(std::isfinite(made->learn(stream.dense(), stream.label)));
            }
            const std::size_t W = which.doubles ? 8 : 16, all = (budget + W - 1) / W * W;
            CHECK(made->report(0).stored == 0 && made->report(0).norm > 0.0);
            // A tile serves its owner and the next expert: those of every other expert are all there are.
            CHECK_EQUAL(made->report(2).stored + made->report(4).stored, all);
            made->save(state);
            CHECK(twin->load(state, made->state_bytes()) == Status::ok && same_state(*made, *twin));
        }
}

// As many kernels as a learner may have, and a linear one alone; with a budget that nobody uses it has no frequencies.
TEST(pocket_classifier_kernel_counts) {
    const Halving many(0x1p15);
    for (const Which& which : pockets)
        for (std::size_t count : {std::size_t(1), std::size_t(3), max_kernels}) {
            Config c = config(which);
            c.kernels = many.kernels;
            c.kernel_count = count;
            c.budget = 500;
            Made made(which, c);
            Stream stream(3, which.classes);
            teach(*made, stream, 600);
            CHECK(made->tally().mistakes < 250);
            double total = 0.0;
            for (std::size_t i = 0; i < count; ++i) total += made->report(i).weight;
            CHECK_NEAR(total, 1.0, 1e-12);
            double frequencies[500 * d];
            CHECK(made->frequencies(frequencies));
            CHECK((frequencies[499 * d] != 0.0 || frequencies[500 * d - 1] != 0.0) == (count > 1));
        }
    // Sizes stay numbers at the far end of every range.
    Config most = config(pockets[0]);
    most.kernels = many.kernels;
    most.kernel_count = max_kernels;
    most.classes = 10000;
    const std::size_t few = bytes_of(pockets[0], most);
    most.budget = 10000000;
    CHECK(bytes_of(pockets[0], most) > few + most.budget * (most.classes * 16 + most.features));
}

// The largest values that are let in, columns of one value, rows of zeros: numbers stay numbers, and the state is one
// that can be loaded.
TEST(pocket_classifier_bears_every_value) {
    for (const Which& which : pockets) {
        const double most = which.doubles ? 1e70 : static_cast<double>(1e18f);
        Made made(which, config(which)), twin(which, config(which));
        Rng rng(4);
        for (int t = 0; t < 600; ++t) {
            double row[d] = {};
            for (std::size_t k = 0; k < d && t % 10 != 0; ++k) {
                const double value = 2.0 * rng.uniform() - 1.0;
                row[k] = k == 0   ? most
                         : k == 1 ? (value < 0.0 ? -most : most)
                         : k == 2 ? (t % 97 == 0 ? most : value)
                         : k == 3 ? 1e-40 * value
                         : k == 4 ? (t == 300 ? -most : 1.0)
                                  : value;
            }
            const double label = which.classes == 3 && row[5] > 0.5 ? 2.0 : row[6] > 0.0 ? 1.0 : -1.0;
            CHECK(std::isfinite(made->learn({row}, label, t % 11 == 0 ? 1e9 : 1.0)));
        }
        made->save(state);
        CHECK(twin->load(state, made->state_bytes()) == Status::ok && same_state(*made, *twin));
    }
}

// No contents of a state with a good checksum lead outside of the block; most that are damaged are refused.
TEST(pocket_classifier_survives_any_state) {
    constexpr std::size_t stride = SANITIZED ? 61 : 7;
    for (std::size_t n = 0; n < 8; ++n) {
        const Which& which = pockets[n / 2];
        Config c = config(which);
        c.kernel_count = 4;
        c.budget = 40;
        if (n % 2 == 1) c.kernels = sharing, c.kernel_count = 8, c.budget = 120;  // with all experts
        Made made(which, c), victim(which, c), fresh(which, c);
        Stream stream(5, which.classes);
        teach(*made, stream, 300);
        const std::size_t size = made->state_bytes();
        for (std::size_t place = sizeof(StateHeader); place <= size; place += stride) {
            made->save(state);
            const bool all = place + stride > size;
            std::memset(state + (all ? sizeof(StateHeader) : place), 0xff, all ? size - sizeof(StateHeader) : 1);
            seal(state, size);
            const Status status = victim->load(state, size);
            CHECK(status == Status::ok || (status == Status::state_damaged && same_state(*victim, *fresh)));
            CHECK(!all || status == Status::state_damaged);
            teach(*victim, stream, 2);
        }
    }
}

// Ring and ferns share the memory of the frequencies: all bytes are in use, in any number of them, and memory moves.
TEST(pocket_classifier_shares_memory) {
    for (const Which& which : pockets)
        for (std::size_t budget : {0, 1, 20, 500}) {
            Config c = config(which);
            c.kernels = sharing;
            c.kernel_count = 8;
            c.budget = budget;
            Made made(which, c), twin(which, c);
            Stream stream(4, which.classes);
            teach(*made, stream, 700);
            const std::uint64_t rows = made->report(4).stored, ferns = made->report(5).stored;
            CHECK((rows > 0 && ferns > 0) == (budget == 500));
            teach(*made, stream, SANITIZED ? 0 : 1500);
            CHECK(SANITIZED || budget < 500 || made->report(4).stored != rows || made->report(5).stored != ferns);
            made->save(state);
            CHECK(twin->load(state, made->state_bytes()) == Status::ok && same_state(*made, *twin));
        }
}

// The stream is what the learner takes it for, so there is nothing to notice.
TEST(pocket_classifier_trusts_a_calibrated_stream) {
    for (const Which& which : pockets) {
        if (which.doubles && SANITIZED) continue;
        Made made(which, config(which));
        Calibrated stream(6, which.classes);
        Alarms alarms;
        PocketCourse before = course_of(*made);
        for (int t = 0; t < (SANITIZED ? 1000 : 10000); ++t) {
            const AnyLearner::Row row = stream.next();
            (void)made->learn(row, stream.label);
            const PocketCourse after = course_of(*made);
            alarms.look(before, after);
            before = after;
        }
        CHECK(alarms.reversals == 0 && alarms.surprises == 0);
    }
}

// The classes change places: of two that is noticed as such, within some thirty rows, and nothing has to be learned
// again; of more as a surprise.
TEST(pocket_classifier_notices_a_reversal) {
    for (const Which& which : pockets) {
        Made made(which, config(which));
        Calibrated stream(7, which.classes);
        stream.sharpness = 6.0;
        Alarms alarms;
        std::uint64_t before_it = 0, after_it = 0;
        for (int t = 0; t < 2400; ++t) {
            const AnyLearner::Row row = stream.next();
            const double label = t < 2000 || stream.label > 1.0 ? stream.label : -stream.label;
            const PocketCourse before = course_of(*made);
            (void)made->learn(row, label);
            const bool mistake = made->label() != label;
            if (t >= 1800 && t < 2000) before_it += mistake;
            if (t >= 2200) after_it += mistake;
            if (t < 2000) continue;
            if (t == 2000) CHECK(before.turned == 0);
            alarms.look(before, course_of(*made));
            if (t == 2040) CHECK(alarms.reversals + alarms.surprises > 0);
        }
        if (which.classes == 2)
            CHECK(alarms.reversals == 1 && alarms.surprises == 0);
        else
            CHECK(alarms.reversals == 0 && alarms.surprises > 0);
        CHECK(before_it < 30 && after_it <= before_it + 40);
    }
}

// A third of the labels are wrong from now on: it was too sure, and learns fast again; but the classes are where they
// were.
TEST(pocket_classifier_notices_a_surprise) {
    for (const Which& which : pockets) {
        Made made(which, config(which));
        Calibrated stream(8, which.classes);
        stream.sharpness = 6.0;
        Alarms alarms;
        for (int t = 0; t < 2300; ++t) {
            const AnyLearner::Row row = stream.next();
            const double wrong = stream.label > 0.0 ? -1.0 : 1.0;
            const PocketCourse before = course_of(*made);
            (void)made->learn(row, t >= 2000 && t % 3 == 0 ? wrong : stream.label);
            if (t >= 2000) alarms.look(before, course_of(*made));
        }
        CHECK(alarms.reversals == 0 && alarms.surprises > 0);
    }
}

// ---- bits -----------------------------------------------------------------------------------------------------------

// The digest that main prints: the Makefile compares it between levels.
TEST(learners_bits) {
    Digest digest;
    for (const Which& which : every_learner) {
        Made made(which, config(which));
        Stream stream(10, which.classes);
        for (int t = 0; t < 1000; ++t) {
            const AnyLearner::Row row = stream.next();
            digest.add(made->learn(row, stream.label));
        }
        made->save(state);
        digest.add_bytes(state, made->state_bytes());
        for (Storage storage : {Storage::full, Storage::float16, Storage::bfloat16}) {
            if (storage != Storage::full && !can_store_halves(which)) continue;
            Made weighted(which, config(which, storage));
            Stream again(17, which.classes);
            for (int t = 0; t < 300; ++t) {
                const AnyLearner::Row row = again.next();
                digest.add(weighted->learn(row, again.label, weight_of(t)));
            }
            weighted->save(state);
            digest.add_bytes(state, weighted->state_bytes());
        }
    }
    for (const Which& which : pockets) {
        Config c = config(which);
        c.kernels = sharing;
        c.kernel_count = 8;
        c.budget = 500;
        Made made(which, c);
        Stream stream(11, which.classes);
        for (int t = 0; t < 1500; ++t) {
            const AnyLearner::Row row = stream.next();
            digest.add(made->learn(row, stream.label));
        }
        made->save(state);
        digest.add_bytes(state, made->state_bytes());
    }
    for (const Which& which : both_pockets) {
        Made made(which, wide(which, 6, 60));
        WideStream stream(1, which.classes);
        for (int t = 0; t < 300; ++t) {
            stream.next();
            digest.add(made->learn(stream.dense(), stream.label));
        }
        made->save(state);
        digest.add_bytes(state, made->state_bytes());
    }
    check::bits = digest.value();
}

// ---- refusals -------------------------------------------------------------------------------------------------------

namespace {

// What the learner of that name answers to a changed configuration.
template <class Change>
Status checked(const char* name, Change&& change) {
    Config c = plain();
    change(c);
    const Status status = check_config({name, true}, c);
    CHECK(check_config({name, false}, c) == status);
    return status;
}

// The same of one precision only.
template <class Change>
Status checked_in(const Which& which, Change&& change) {
    Config c = plain();
    change(c);
    return check_config(which, c);
}

}  // namespace

TEST(learners_check_their_parameters) {
    const double nan = std::nan(""), inf = HUGE_VAL;
    for (const char* name : {S, H, SH, LKM, R, MC}) {
        CHECK(checked(name, [](Config&) {}) == Status::ok);
        CHECK(checked(name, [](Config& c) { c.features = 0; }) == Status::features_out_of_range);
        CHECK(checked(name, [](Config& c) { c.features = 1000001; }) == Status::features_out_of_range);
        CHECK(checked(name, [](Config& c) { c.budget = 0; }) == Status::budget_out_of_range);
        CHECK(checked(name, [](Config& c) { c.budget = 10000001; }) == Status::budget_out_of_range);
        CHECK(checked(name, [](Config& c) { c.kernel_count = 0; }) == Status::kernels_empty);
        CHECK(checked(name, [](Config& c) { c.classes = 1; }) == Status::classes_out_of_range);
        CHECK(checked(name, [](Config& c) { c.classes = 10001; }) == Status::classes_out_of_range);
        const bool multiclass = name == MC;
        CHECK(checked(name, [](Config& c) { c.classes = 3; }) ==
              (multiclass ? Status::ok : Status::classes_out_of_range));
        for (Storage storage : {Storage::float16, Storage::bfloat16}) {
            const auto change = [=](Config& c) { c.storage = storage; };
            CHECK(checked_in({name, true}, change) == Status::storage_unsuited);
            CHECK(checked_in({name, false}, change) == (name == R ? Status::storage_unsuited : Status::ok));
        }
    }
    CHECK(checked(MC, [](Config& c) { c.classes = 10000; }) == Status::ok);
    CHECK(checked(MC, [](Config& c) { c.loss = Loss::hinge; }) == Status::loss_not_smooth);
    CHECK(checked(MC, [](Config& c) { c.loss = Loss::smooth_hinge; }) == Status::loss_not_logistic);
    for (const char* name : {S, H, SH, MC}) {
        CHECK(checked(name, [](Config& c) { c.budget = 1; }) == Status::budget_too_small);
        for (double bad : {0.0, -1.0, nan, inf}) {
            CHECK(checked(name, [=](Config& c) { c.step = bad; }) == Status::step_not_positive);
            CHECK(checked(name, [=](Config& c) { c.norm_bound = bad; }) == Status::norm_bound_not_positive);
        }
    }
    CHECK(checked(LKM, [](Config& c) { c.budget = 1; }) == Status::ok);
    CHECK(checked(S, [](Config& c) { c.loss = Loss::hinge; }) == Status::loss_not_smooth);
    CHECK(checked(S, [](Config& c) { c.loss = Loss::smooth_hinge; }) == Status::ok);
    CHECK(checked(H, [](Config& c) { c.reservoir = 0; }) == Status::reservoir_out_of_range);
    CHECK(checked(H, [](Config& c) { c.reservoir = 10001; }) == Status::reservoir_out_of_range);
    for (double bad : {0.5, 2e18, nan, -1.0}) {
        CHECK(checked(H, [=](Config& c) { c.horizon = bad; }) == Status::horizon_out_of_range);
        CHECK(checked(LKM, [=](Config& c) { c.horizon = bad; }) == Status::horizon_out_of_range);
    }
    for (double bad : {0.0, 1.0, nan, -1.0})
        CHECK(checked(LKM, [=](Config& c) { c.nu = bad; }) == Status::nu_out_of_range);
    for (double bad : {0.0, nan, inf}) CHECK(checked(R, [=](Config& c) { c.rate = bad; }) == Status::rate_not_positive);
    for (double bad : {-0.1, nan, 1.0 / 0.3})
        CHECK(checked(R, [=](Config& c) { c.regularization = bad; }) == Status::regularization_out_of_range);
    CHECK(checked(R, [](Config& c) { c.kernels = mixed; }) == Status::kernels_not_gaussian);
    const auto suits = [](Config& c) { c.kernels = halving; };
    CHECK(checked(P, suits) == Status::ok);
    CHECK(checked(P, [&](Config& c) { suits(c), c.budget = 0; }) == Status::ok);
    CHECK(checked(P, [&](Config& c) { suits(c), c.budget = 10000001; }) == Status::budget_out_of_range);
    CHECK(checked(P, [&](Config& c) { suits(c), c.classes = 10000; }) == Status::ok);
    CHECK(checked(P, [&](Config& c) { suits(c), c.classes = 10001; }) == Status::classes_out_of_range);
    CHECK(checked(P, [&](Config& c) { suits(c), c.loss = Loss::hinge; }) == Status::loss_not_smooth);
    CHECK(checked(P, [&](Config& c) { suits(c), c.loss = Loss::smooth_hinge; }) == Status::loss_not_logistic);
    CHECK(checked_in({P, false}, [&](Config& c) { suits(c), c.storage = Storage::bfloat16; }) ==
          Status::storage_unsuited);
    for (std::size_t count : {1, 3, 6})
        CHECK(checked(P, [&](Config& c) { suits(c), c.kernel_count = count; }) == Status::ok);
    for (const KernelSpec* kernels : {gaussians, mixed, halving + 1})
        CHECK(checked(P, [&](Config& c) { c.kernels = kernels; }) == Status::kernels_not_halving);
    // The second width serves the last one: there is no expert for one width alone.
    CHECK(checked(P, [&](Config& c) { suits(c), c.kernel_count = 2; }) == Status::kernels_not_halving);
    const KernelSpec uneven[] = {halving[0], halving[1], {Family::gaussian, 2.0000001}};
    CHECK(checked(P, [&](Config& c) { c.kernels = uneven, c.kernel_count = 3; }) == Status::kernels_not_halving);
    CHECK(checked(PR, suits) == Status::ok);
    for (std::size_t outputs : {1, 1000})
        CHECK(checked(PR, [&](Config& c) { suits(c), c.classes = outputs; }) == Status::ok);
    for (std::size_t outputs : {0, 1001})
        CHECK(checked(PR, [&](Config& c) { suits(c), c.classes = outputs; }) == Status::outputs_out_of_range);
    CHECK(checked(PR, [&](Config& c) { suits(c), c.features = 0; }) == Status::features_out_of_range);
    for (double good : {0.0, 0.001, 0.5, 0.999})
        CHECK(checked(PR, [&](Config& c) { suits(c), c.quantile = good; }) == Status::ok);
    for (double bad : {-0.1, 1e-4, 1.0, nan})
        CHECK(checked(PR, [&](Config& c) { suits(c), c.quantile = bad; }) == Status::quantile_out_of_range);
    CHECK(checked(PR, [&](Config& c) { c.kernels = gaussians; }) == Status::kernels_not_halving);
    CHECK(checked_in({PR, false}, [&](Config& c) { suits(c), c.storage = Storage::float16; }) ==
          Status::storage_unsuited);
    for (const Which& which : every_learner) CHECK(known(which.name));
    CHECK(!known("perceptron") && !known("") && !known("m_omd"));
}

TEST(learners_statuses_have_a_sentence) {
    for (int code = 0; code <= static_cast<int>(Status::not_ready); ++code) {
        const StatusText text = describe(static_cast<Status>(code));
        CHECK(text.sentence && std::strlen(text.sentence) > 5 && std::strcmp(text.sentence, "is unknown") != 0);
        CHECK((std::strlen(text.subject) == 0) == (code == 0));
    }
}

// The largest configurations that the checks allow: with 32 bits their sizes do not fit, and must not come out small.
TEST(learners_have_no_small_size_for_large_configurations) {
    for (const Which& which : every_learner) {
        Config c = config(which);
        c.features = 16384;
        c.budget = 65536;
        const double least = 16384.0 * 65536.0;  // a byte for every number
        if (check_config(which, c) == Status::ok) CHECK(static_cast<double>(bytes_of(which, c)) >= smaller(least, 4e9));
        c.features = 1000000;
        c.budget = 10000000;
        if (check_config(which, c) == Status::ok) CHECK(static_cast<double>(bytes_of(which, c)) > 4e9);
    }
}
