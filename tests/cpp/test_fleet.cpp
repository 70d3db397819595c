#include "any_learner.hpp"
#define POCKETKERNEL_WATCH binding::Watch  // as in engine.cpp, which has the same learner
#include "pocketkernel/fleet.hpp"
#include "pocketkernel/learners/m_omd_h.hpp"
#include "pocketkernel/learners/raker.hpp"

using namespace pocketkernel;

namespace {

const KernelSpec kernels[] = {{Family::gaussian, 0.5}, {Family::gaussian, 1.0}, {Family::gaussian, 2.0}};

Config small() {
    Config config;
    config.features = Stream::d;
    config.budget = 16;
    config.kernel_count = 3;
    config.kernels = kernels;
    config.loss = Loss::hinge;
    config.seed = 7;
    return config;
}

template <class L>
void has_the_bits_of_separate_learners() {
    constexpr std::size_t models = 5;
    const Config config = small();
    const auto size = Fleet<L>::size_of(config);
    void* block = std::aligned_alloc(pack_bytes, size.bytes);
    auto* slots = static_cast<unsigned char*>(std::aligned_alloc(pack_bytes, models * size.slot_bytes));
    Fleet<L>* fleet = nullptr;
    CHECK(Fleet<L>::make(config, block, size.bytes - 1, fleet) == Status::block_too_small);
    CHECK(Fleet<L>::make(config, static_cast<unsigned char*>(block) + 8, size.bytes, fleet) ==
          Status::block_misaligned);
    CHECK(Fleet<L>::make(config, block, size.bytes, fleet) == Status::ok);
    for (std::size_t m = 0; m < models; ++m) fleet->begin(slots + m * size.slot_bytes);

    const std::size_t bytes = size_of<L>(config).bytes;
    void* blocks[models];
    L* separate[models];
    for (std::size_t m = 0; m < models; ++m) {
        blocks[m] = std::aligned_alloc(pack_bytes, bytes);
        CHECK(make(config, blocks[m], bytes, separate[m]) == Status::ok);
    }
    Stream stream(3);
    Rng rng(11);
    for (int round = 0; round < 150; ++round) {
        constexpr std::size_t rows = 8;
        AnyLearner::Row row[rows];
        double label[rows], score[rows] = {};
        std::size_t slot[rows];
        for (std::size_t r = 0; r < rows; ++r) {
            row[r] = stream.next();
            label[r] = stream.label;
            slot[r] = rng.index(models);
        }
        const std::size_t parts = 1 + static_cast<std::size_t>(round) % 3;
        for (std::size_t part = 0; part < parts; ++part)
            fleet->for_each_row(
                rows, part, parts, [&](std::size_t r) { return slot[r]; },
                [&](std::size_t s) { return slots + s * size.slot_bytes; },
                [&](L& learner, std::size_t r) { score[r] = learner.learn(row[r], label[r]); });
        for (std::size_t r = 0; r < rows; ++r) CHECK_EQUAL(score[r], separate[slot[r]]->learn(row[r], label[r]));
    }
    const std::size_t saved = state_bytes(*separate[0]);
    auto* one = static_cast<unsigned char*>(std::malloc(2 * saved));
    for (std::size_t m = 0; m < models; ++m) {
        save(*separate[m], one);
        save(fleet->at(slots + m * size.slot_bytes), one + saved);
        CHECK(std::memcmp(one, one + saved, saved) == 0);
        std::free(blocks[m]);
    }
    std::free(one);
    std::free(slots);
    std::free(block);
}

}  // namespace

// It has pointers into its state outside of itself as well.
TEST(fleet_of_descents) { has_the_bits_of_separate_learners<MOMDH<double>>(); }

// Its models share their frequencies, which are not in the slots.
TEST(fleet_of_random_features) {
    has_the_bits_of_separate_learners<Raker<double>>();
    const Config config = small();
    const std::size_t shared = Stream::d * padded<double>(config.budget) * sizeof(double);
    CHECK(Fleet<Raker<double>>::size_of(config).slot_bytes < shared);
}
