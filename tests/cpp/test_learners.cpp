// What every learner owes: no allocation after construction, its block and no byte more, the same course however rows
// come in and whatever was in the block before. That scores are right is the oracle's business (test_oracle.py).
#include <new>

#include "any_learner.hpp"
#include "check.hpp"
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
                            {Family::polynomial, 3.0}, {Family::gaussian, 0.7},  {Family::linear, 1.0}};
const KernelSpec gaussians[] = {
    {Family::gaussian, 0.25}, {Family::gaussian, 1.0}, {Family::gaussian, 4.0}, {Family::gaussian, 0.7}};
const char *const S = "m_omd_s", *const H = "m_omd_h", *const LKM = "lkm_books", *const R = "raker",
                  *const MC = "multiclass_m_omd_s";

bool is(const Which& which, const char* name) { return std::strcmp(which.name, name) == 0; }
bool is_mirror_descent(const Which& which) { return is(which, S) || is(which, H) || is(which, MC); }
bool can_store_halves(const Which& which) { return !which.doubles && !is(which, R); }

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
        if (is(which, H)) CHECK(tally.overflowed > 3);
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
        Front front;
        AnyLearner* learner = nullptr;
        CHECK(make_any(which, config(which), block, 0, front, learner) == Status::block_too_small);
        CHECK(make_any(which, config(which), block, size - 1, front, learner) == Status::block_too_small && !learner);
        CHECK(make_any(which, config(which), block, size, front, learner) == Status::ok);
        Stream stream(3, which.classes), again(3, which.classes);
        teach(*learner, stream, 500);
        bool untouched = true;
        for (std::size_t i = 0; i < beyond; ++i) untouched = untouched && block[size + i] == 0x5a;
        CHECK(untouched);
        // What was in the block before does not matter, nor does what becomes of the caller's kernels.
        Made twin(which, config(which));
        teach(*twin, again, 500);
        CHECK(same_state(*learner, *twin));
        CHECK_EQUAL(learner->state_bytes(), state_bytes_of(which, config(which)));
        CHECK(learner->config().kernels != config(which).kernels);
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
            mistakes += asked->label() != stream.label;
            CHECK_EQUAL(asked->learn(row, stream.label), score);
            (void)left_alone->learn(row, stream.label);
            CHECK_EQUAL(asked->tally().mistakes, mistakes);
        }
        CHECK(same_state(*asked, *left_alone));
        CHECK(mistakes > 0 && mistakes < 200);  // it has learned something
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
        for (Removal removal : {Removal::half, Removal::restart})
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
                            CHECK(report.weight >= 0.0 && report.stored <= budget);
                            if (is_mirror_descent(which)) {
                                CHECK(report.norm <= c.norm_bound * (1.0 + 1e-12));
                                const std::size_t dropped = removal == Removal::half ? budget / 2 : budget;
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
    for (const char* name : {S, H, LKM, R, MC}) {
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
    for (const char* name : {S, H, MC}) {
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
    for (const Which& which : every_learner) CHECK(known(which.name));
    CHECK(!known("perceptron") && !known("") && !known("m_omd"));
}

TEST(learners_statuses_have_a_sentence) {
    for (int code = 0; code <= static_cast<int>(Status::state_damaged); ++code) {
        const StatusText text = describe(static_cast<Status>(code));
        CHECK(text.sentence && std::strlen(text.sentence) > 5 && std::strcmp(text.sentence, "is unknown") != 0);
        CHECK((std::strlen(text.subject) == 0) == (code == 0));
    }
}
