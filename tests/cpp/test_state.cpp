#include "pocketkernel/state.hpp"

#include "any_learner.hpp"
#include "check.hpp"

using namespace pocketkernel;

namespace {

const KernelSpec kernels[] = {{Family::gaussian, 1.0}, {Family::laplacian, 2.0}};
const Which books{"lkm_books", true};

Config config() {
    Config c;
    c.features = Stream::d;
    c.budget = 30;
    c.kernel_count = 2;
    c.kernels = kernels;
    c.horizon = 200.0;
    c.step = 10.0;
    c.seed = 4;
    return c;
}

alignas(8) unsigned char state[1 << 15], other_state[1 << 15];

}  // namespace

TEST(state_digest) {
    Digest a, b, c;
    a.add(1.5);
    b.add(1.5);
    c.add(1.5000001);
    CHECK(a.value() == b.value() && a.value() != c.value());
    a.add(0);
    CHECK(a.value() != b.value());
    const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    Digest whole, part;
    whole.add_bytes(bytes, 9);
    part.add_bytes(bytes, 8);
    CHECK(whole.value() != part.value());
}

// Whatever decides the course of a run is told apart; the seed only where the state does not have all that came of it.
TEST(state_model_digest) {
    const Config base = config();
    const std::uint64_t same = model_digest("x", 8, base);
    const auto differs = [&](auto&& change) {
        Config c = config();
        change(c);
        return model_digest("x", 8, c) != same;
    };
    CHECK(model_digest("x", 8, base, 1) == same && model_digest("x", 8, base, 2) != same);
    CHECK(model_digest("y", 8, base) != same && model_digest("x", 4, base) != same);
    CHECK(differs([](Config& c) { ++c.features; }));
    CHECK(differs([](Config& c) { ++c.classes; }));
    CHECK(differs([](Config& c) { ++c.budget; }));
    CHECK(differs([](Config& c) { --c.kernel_count; }));
    CHECK(differs([](Config& c) { c.loss = Loss::hinge; }));
    CHECK(differs([](Config& c) { c.removal = Removal::restart; }));
    CHECK(differs([](Config& c) { c.storage = Storage::float16; }));
    CHECK(differs([](Config& c) { c.storage = Storage::bfloat16; }));
    CHECK(differs([](Config& c) { c.step = 2.0; }));
    CHECK(differs([](Config& c) { c.norm_bound = 2.0; }));
    CHECK(differs([](Config& c) { ++c.reservoir; }));
    CHECK(differs([](Config& c) { c.horizon = 7.0; }));
    CHECK(differs([](Config& c) { c.nu = 0.25; }));
    CHECK(differs([](Config& c) { c.rate = 0.2; }));
    CHECK(differs([](Config& c) { c.regularization = 0.2; }));
    static const KernelSpec wider[] = {{Family::gaussian, 1.0}, {Family::laplacian, 3.0}};
    static const KernelSpec others[] = {{Family::gaussian, 1.0}, {Family::gaussian, 2.0}};
    CHECK(differs([](Config& c) { c.kernels = wider; }));
    CHECK(differs([](Config& c) { c.kernels = others; }));
    CHECK(!differs([](Config& c) { c.seed = 5; }));
    Config other = config();
    other.seed = 5;
    CHECK(model_digest("x", 8, base, 1, true) != model_digest("x", 8, other, 1, true));
    // A number that a kernel does not use is no part of the model.
    static const KernelSpec linear[] = {{Family::linear, 1.0},
                                        {Family::linear, 7.0},
                                        {Family::rational_quadratic, 1.0, 1},
                                        {Family::rational_quadratic, 1.0, 2}};
    const auto digest_of = [](const KernelSpec* spec) {
        Config c = config();
        c.kernel_count = 1;
        c.kernels = spec;
        return model_digest("x", 8, c);
    };
    CHECK(digest_of(linear) == digest_of(linear + 1));
    CHECK(digest_of(linear + 2) != digest_of(linear + 3));
}

TEST(state_layout) {
    CHECK(sizeof(StateHeader) == 32);
    Made made(books, config());
    CHECK(made->state_bytes() <= sizeof state);
    made->save(state);
    CHECK(header_of(state).magic == StateHeader::the_magic && header_of(state).version == StateHeader::the_version);
    CHECK(header_of(state).size == made->state_bytes() - sizeof(StateHeader));
}

TEST(state_goes_on_exactly) {
    Made one(books, config()), two(books, config());
    Stream stream(6);
    teach(*one, stream, 120);
    const std::size_t size = one->state_bytes();
    one->save(state);
    CHECK(one->state_bytes() == size);
    CHECK(two->load(state, size) == Status::ok);
    for (int t = 0; t < 120; ++t) {
        const AnyLearner::Row row = stream.next();
        CHECK_EQUAL(one->learn(row, stream.label), two->learn(row, stream.label));
    }
    CHECK(same_state(*one, *two));
}

// Random frequencies are not in the state: it fits only learners of its seed, which have the same ones.
TEST(state_without_frequencies) {
    static const KernelSpec gaussians[] = {{Family::gaussian, 0.5}, {Family::gaussian, 1.0}};
    for (const bool doubles : {false, true}) {
        Config c = config();
        c.kernels = gaussians;
        c.loss = Loss::hinge;
        c.rate = 0.5;
        Made one({"raker", doubles}, c), two({"raker", doubles}, c);
        const std::size_t size = one->state_bytes(), number = doubles ? sizeof(double) : sizeof(float);
        CHECK(size < c.features * c.budget * number + sizeof(StateHeader));
        Stream stream(6);
        teach(*one, stream, 60);
        one->save(state);
        c.seed = 5;
        Made other({"raker", doubles}, c);
        CHECK(other->load(state, size) == Status::state_other_model);
        CHECK(two->load(state, size) == Status::ok);
        const AnyLearner::Row row = stream.next();
        CHECK_EQUAL(one->learn(row, stream.label), two->learn(row, stream.label));
    }
}

TEST(state_refusals) {
    Made made(books, config());
    Stream stream(6);
    teach(*made, stream, 120);
    const std::size_t size = made->state_bytes();
    made->save(state);
    const auto changed = [&](std::size_t place, unsigned char mask) {
        state[place] = static_cast<unsigned char>(state[place] ^ mask);
        const Status status = made->load(state, size);
        state[place] = static_cast<unsigned char>(state[place] ^ mask);
        return status;
    };
    CHECK(made->load(state, 0) == Status::state_wrong_size);
    CHECK(made->load(state, sizeof(StateHeader) - 1) == Status::state_wrong_size);
    CHECK(made->load(state, size - 1) == Status::state_wrong_size);
    CHECK(changed(0, 1) == Status::state_foreign);
    CHECK(changed(4, 2) == Status::state_newer);    // version 1 to 3
    CHECK(changed(4, 1) == Status::state_foreign);  // there is no version 0
    CHECK(changed(8, 1) == Status::state_other_model);
    CHECK(changed(16, 1) == Status::state_wrong_size);
    CHECK(changed(24, 1) == Status::state_damaged);
    for (std::size_t place = sizeof(StateHeader); place < size; place += 97)
        CHECK(changed(place, 16) == Status::state_damaged);
    // After all that it is what it was.
    made->save(other_state);
    CHECK(std::memcmp(state, other_state, size) == 0);
    CHECK(made->load(state, size) == Status::ok);
}

// A checksum can be right over contents that cannot be; the learner is then as new.
TEST(state_impossible_contents) {
    Made made(books, config()), fresh(books, config());
    Stream stream(6);
    teach(*made, stream, 50);
    const std::size_t size = made->state_bytes();
    made->save(state);
    std::memset(state + sizeof(StateHeader), 0xff, size - sizeof(StateHeader));
    seal(state, size);
    CHECK(made->load(state, size) == Status::state_damaged);
    CHECK(same_state(*made, *fresh));
}
