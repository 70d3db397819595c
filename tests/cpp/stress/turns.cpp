// Threads at one learner: `turns`, under ThreadSanitizer.
//
// Eight threads read, each with scratch of its own, while one learns, row by row and in blocks that let readers in
// between two rows; another wants to learn, and gives up if it has to wait. Every score must be, to the last bit, that
// of the moment at which it was made: the moments were computed before, by one thread.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pocketkernel/learners/m_omd_s.hpp"
#include "pocketkernel/learners/pocket_classifier.hpp"
#include "pocketkernel/rng.hpp"
#include "turns.hpp"

namespace pk = pocketkernel;
using pk::binding::Turns;

namespace {

constexpr std::size_t features = 4, rounds = 1500, block = 50, readers = 8;

constexpr pk::KernelSpec widths[] = {{pk::Family::gaussian, 2.0}, {pk::Family::gaussian, 1.0}};
constexpr pk::KernelSpec halving[] = {
    {pk::Family::linear, 0.0}, {pk::Family::gaussian, 2.0}, {pk::Family::gaussian, 1.0}, {pk::Family::gaussian, 0.5}};

template <class L>
struct Made {
    void* memory = nullptr;
    L* learner = nullptr;

    explicit Made(const pk::Config& config) {
        const std::size_t bytes = pk::size_of<L>(config).bytes;
        memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
        if (pk::make<L>(config, memory, bytes, learner) != pk::Status::ok) std::abort();
    }
    ~Made() { std::free(memory); }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
};

using Row = pk::Row<double>;

template <class L>
double score(const L& learner, const Row& row, pk::Workspace<float>& work) {
    if constexpr (L::reads_rows) {
        double both[2];
        learner.score(row, work, both);
        return both[1];
    } else {
        return learner.score(work.query.read(row), work);
    }
}
template <class L>
void learn(L& learner, const Row& row, bool positive) {
    if constexpr (L::reads_rows) {
        double both[2], loss;
        learner.learn(row, std::size_t(positive), 1.0, both, nullptr, &loss);
    } else {
        (void)learner.learn(row, positive ? 1.0 : -1.0, 1.0);
    }
}

struct GivenUp {};

template <class L>
bool stress(const char* name, const pk::Config& config) {
    std::vector<double> rows(rounds * features);
    pk::Rng rng(5);
    for (double& value : rows) value = 2.0 * rng.uniform() - 1.0;
    const auto row = [&](std::size_t r) { return Row{rows.data() + r * features, nullptr, 0}; };
    const auto label = [&](std::size_t r) { return rows[r * features] * rows[r * features + 1] > 0.0; };

    std::vector<double> moments;
    {
        const Made<L> alone(config);
        moments.push_back(score(*alone.learner, row(0), alone.learner->workspace()));
        for (std::size_t r = 0; r < rounds; ++r) {
            learn(*alone.learner, row(r), label(r));
            moments.push_back(score(*alone.learner, row(0), alone.learner->workspace()));
        }
    }

    const Made<L> made(config);
    L& learner = *made.learner;
    Turns turns;
    std::atomic<bool> done{false};
    std::atomic<std::size_t> answers{0}, wrong{0}, seen{0}, own{0}, gave_up{0};
    const auto idle = [] {};
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < readers; ++n)
        threads.emplace_back([&] {
            pk::Arena counter;
            (void)learner.workspace_on(counter);
            void* scratch = std::aligned_alloc(64, (counter.used() + 63) / 64 * 64);
            std::size_t last = 0;
            while (!done) {
                Turns::Hold hold(turns, Turns::reading);
                if (!hold.has_begun()) hold.wait(idle);
                const Turns::Hold again(turns, Turns::reading);  // a thread may read while it reads
                pk::Arena arena(scratch);
                pk::Workspace<float> mine = learner.workspace_on(arena);
                const double answer = score(learner, row(0), hold.is_first() ? learner.workspace() : mine);
                const std::size_t now = learner.tally().rounds;
                ++answers;
                own += hold.is_first();
                wrong += answer != moments[now] || now < last || !again.has_begun();
                seen += now != last;
                last = now;
            }
            std::free(scratch);
        });
    threads.emplace_back([&] {
        while (!done) {
            try {
                Turns::Hold hold(turns, Turns::changing);
                if (!hold.has_begun()) hold.wait([] { throw GivenUp(); });
            } catch (const GivenUp&) {
                ++gave_up;
            }
            std::this_thread::yield();
        }
    });
    for (std::size_t r = 0; r < rounds;) {
        Turns::Hold hold(turns, Turns::changing);
        if (!hold.has_begun()) hold.wait(idle);
        const std::size_t end = r % (2 * block) < block ? r + 1 : std::min(rounds, r + block);
        for (; r < end; ++r) {
            learn(learner, row(r), label(r));
            hold.let_in(idle);
        }
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
    bool refused = false;
    {
        const Turns::Hold hold(turns, Turns::changing);
        try {
            const Turns::Hold again(turns, Turns::reading);
        } catch (const std::runtime_error&) {
            refused = true;
        }
    }
    const bool good = wrong == 0 && seen > readers && learner.tally().rounds == rounds && refused;
    std::printf("%s: %zu scores of %zu moments, %zu wrong, %zu with the learner's scratch; %zu gave up\n", name,
                answers.load(), seen.load(), wrong.load(), own.load(), gave_up.load());
    return good;
}

}  // namespace

int main() {
    pk::Config config;
    config.features = features;
    config.seed = 1;
    config.budget = 16;
    config.kernels = widths;
    config.kernel_count = 2;
    bool good = stress<pk::MOMDS<float>>("m_omd_s", config);
    config.budget = 32;
    config.kernels = halving;
    config.kernel_count = 4;
    good = stress<pk::PocketClassifier<float>>("pocket_classifier", config) && good;
    return good ? 0 : 1;
}
