// Rows that another thread refills while the core reads them: `refill [seconds]`, under sanitizers.
//
// Every learner checks, learns and scores the same arrays, dense and CSR, in both precisions, while a thread writes
// garbage into them: values that are not finite, columns and row limits out of range. The results are garbage too, but
// no read may leave the memory of the rows. The data race is intended. Arrays are allocated exactly, so
// that a byte beyond them is noticed.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>
#include <thread>

#include "engine.hpp"
#include "pocketkernel/kernels/list.hpp"
#include "pocketkernel/rng.hpp"

namespace pk = pocketkernel;
using pk::binding::Engine;
using pk::binding::Fault;
using pk::binding::Lessons;
using pk::binding::Rows;
using pk::binding::Table;

thread_local pk::binding::Watch* pk::binding::Watch::current = nullptr;  // nobody interrupts

namespace {

constexpr std::size_t count = 40, features = 70, stored = count * 20;

template <class U>
struct Arrays {
    std::unique_ptr<U[]> dense{new U[count * features]()}, values{new U[stored]()};
    std::unique_ptr<std::int32_t[]> columns{new std::int32_t[stored]()};
    std::unique_ptr<std::int64_t[]> starts{new std::int64_t[count + 1]()};

    Rows rows(bool sparse) const {
        Rows rows;
        rows.values = sparse ? values.get() : dense.get();
        rows.doubles = sizeof(U) == sizeof(double);
        rows.count = count;
        rows.features = features;
        if (!sparse) return rows;
        rows.columns = columns.get();
        rows.starts = starts.get();
        rows.stored = stored;
        return rows;
    }

    // Good rows, few or many of their values not 0; or rubbish.
    void refill(pk::Rng& rng) {
        const double share = rng.uniform();
        const bool good = rng.uniform() < 0.5;
        for (std::size_t n = 0; n < count * features; ++n) write(dense.get() + n, value(rng, share, good));
        for (std::size_t n = 0; n < stored; ++n) {
            write(values.get() + n, value(rng, share, good));
            write(columns.get() + n, good ? static_cast<std::int32_t>(n % 20 * 3) : column(rng));
        }
        for (std::size_t r = 0; r <= count; ++r)
            write(starts.get() + r, good ? static_cast<std::int64_t>(r * 20) : start(rng));
    }

  private:
    template <class V>
    static void write(V* to, V value) {
        *static_cast<volatile V*>(to) = value;
    }
    static U value(pk::Rng& rng, double share, bool good) {
        using limits = std::numeric_limits<U>;
        if (rng.uniform() >= share) return U(0);
        if (good || rng.uniform() < 0.7) return static_cast<U>(2.0 * rng.uniform() - 1.0);
        const U odd[] = {limits::quiet_NaN(),
                         limits::infinity(),
                         -limits::infinity(),
                         limits::max(),
                         limits::denorm_min(),
                         U(-0.0),
                         U(1e18)};
        return odd[rng.index(7)];
    }
    static std::int32_t column(pk::Rng& rng) {
        const std::int32_t odd[] = {-1, 0, features - 1, features, 100000000, 2147483647, -2147483647 - 1};
        return odd[rng.index(7)];
    }
    static std::int64_t start(pk::Rng& rng) {
        const std::int64_t odd[] = {-1, 0, 7, stored, stored + 1, std::int64_t(1) << 40, -(std::int64_t(1) << 62)};
        return odd[rng.index(7)];
    }
};

struct Learner {
    const char* name;
    std::size_t classes;
    pk::Storage storage;
};
constexpr Learner learners[] = {
    {"m_omd_s", 2, pk::Storage::full},
    {"m_omd_s", 2, pk::Storage::float16},
    {"m_omd_s", 2, pk::Storage::bfloat16},
    {"m_omd_h", 2, pk::Storage::full},
    {"shared_m_omd_h", 2, pk::Storage::full},
    {"lkm_books", 2, pk::Storage::full},
    {"raker", 2, pk::Storage::full},
    {"multiclass_m_omd_s", 3, pk::Storage::full},
    {"pocket_classifier", 2, pk::Storage::full},
    {"pocket_classifier", 3, pk::Storage::full},
    {"pocket_regressor", 2, pk::Storage::full},
};

constexpr pk::KernelSpec mixed[] = {{pk::Family::gaussian, 1.0},  {pk::Family::gaussian, 2.0},
                                    {pk::Family::laplacian, 2.0}, {pk::Family::polynomial, 3.0},
                                    {pk::Family::matern32, 2.0},  {pk::Family::rational_quadratic, 2.0},
                                    {pk::Family::linear, 0.0}};
constexpr pk::KernelSpec gaussians[] = {{pk::Family::gaussian, 2.0}, {pk::Family::gaussian, 1.0}};
constexpr pk::KernelSpec halving[] = {
    {pk::Family::linear, 0.0}, {pk::Family::gaussian, 2.0}, {pk::Family::gaussian, 1.0}, {pk::Family::gaussian, 0.5}};

pk::Config config_of(const Learner& learner) {
    pk::Config c;
    c.features = features;
    c.classes = learner.classes;
    c.storage = learner.storage;
    c.budget = 24;
    c.reservoir = 4;
    c.horizon = 1e4;
    c.seed = 1;
    const auto use = [&](const auto& kernels) {
        c.kernels = kernels;
        c.kernel_count = sizeof kernels / sizeof kernels[0];
    };
    use(mixed);
    if (learner.name[0] == 'r') use(gaussians);
    if (learner.name[0] == 'p') use(halving);
    return c;
}

// A learner in a block of its own; `rounds` counts the rows that it was given.
template <class U>
void run(const Table& table, const Learner& learner, const Arrays<U>& arrays, double seconds, std::size_t& rounds) {
    const pk::Config config = config_of(learner);
    std::size_t bytes = 0, state_bytes = 0;
    pk::Status status = pk::Status::ok;
    if (!table.size(learner.name, config, false, bytes, state_bytes, status) || status != pk::Status::ok) std::abort();
    void* block = std::aligned_alloc(64, bytes);
    Engine* engine = nullptr;
    if (!table.make(learner.name, config, false, block, bytes, engine, status) || status != pk::Status::ok)
        std::abort();
    const std::unique_ptr<double[]> scores(new double[count * config.kernel_count * learner.classes]);
    std::unique_ptr<std::int32_t[]> labels(new std::int32_t[count]);
    std::unique_ptr<double[]> weights(new double[count]), targets(new double[count * learner.classes]);
    pk::Rng rng(rounds + 7);
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
        for (std::size_t r = 0; r < count; ++r) {
            labels[r] = static_cast<std::int32_t>(rng.index(learner.classes));
            weights[r] = rng.uniform() < 0.1 ? 1e9 * rng.uniform() : 1.0;
            for (std::size_t c = 0; c < learner.classes; ++c) targets[r * learner.classes + c] = rng.uniform();
        }
        for (bool sparse : {false, true}) {
            const Rows rows = arrays.rows(sparse);
            Fault fault;
            (void)engine->check(rows, fault);  // whatever it says, the rows are others by now
            engine->learn(rows, Lessons{labels.get(), targets.get(), weights.get()}, scores.get());
            engine->score(rows, scores.get(), nullptr);
            if (engine->outputs() == 1) engine->kernel_scores(rows, scores.get(), nullptr);
            rounds += 2 * count;
        }
    }
    std::free(block);
}

template <class U>
std::size_t stress(double seconds) {
    Arrays<U> arrays;
    std::atomic<bool> done{false};
    std::atomic<std::size_t> refills{0};
    std::thread refiller([&] {
        pk::Rng rng(3);
        while (!done) {
            arrays.refill(rng);
            ++refills;
        }
    });
    std::size_t total = 0;
    for (const Learner& learner : learners)
        for (const Table* table : {&pk::binding::base_float(), &pk::binding::base_double()}) {
            if (learner.storage != pk::Storage::full && table == &pk::binding::base_double()) continue;
            std::size_t rounds = 0;
            run(*table, learner, arrays, seconds, rounds);
            total += rounds;
        }
    done = true;
    refiller.join();
    std::printf("%zu rows of %s while they were refilled %zu times\n", total,
                sizeof(U) == sizeof(double) ? "float64" : "float32", refills.load());
    return refills.load();
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 8.0;
    const double each = seconds / 36.0;  // eighteen learners, rows of two types
    const bool good = stress<float>(each) > 0 && stress<double>(each) > 0;
    return good ? 0 : 1;
}
