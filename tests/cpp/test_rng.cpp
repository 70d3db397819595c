#include "pocketkernel/rng.hpp"

#include "check.hpp"

using namespace pocketkernel;

// Numbers from the transcription in tests/oracle/parts.py.
TEST(rng_known_numbers) {
    const struct {
        std::uint64_t seed;
        std::uint32_t numbers[5];
    } known[] = {
        {0, {0x4653daa3, 0x73922b58, 0xb82b4add, 0xd9fabd3b, 0x3c8698c3}},
        {1, {0x7ff78de4, 0x9a170265, 0xdac127b8, 0x9859e914, 0x4d4b41b3}},
        {~std::uint64_t(0), {0x9df76fa2, 0x4c367255, 0x96ef9cd0, 0x2313ad4b, 0x511c5746}},
    };
    for (const auto& k : known) {
        Rng rng(k.seed);
        for (std::uint32_t number : k.numbers) CHECK(rng.next() == number);
    }
    Rng rng(42);
    CHECK_EQUAL(rng.uniform(), 0x1.3b28a4p-1);
    CHECK_EQUAL(rng.uniform(), 0x1.a4275p-2);
}

TEST(rng_uniform_and_index) {
    Rng rng(3);
    double total = 0.0;
    int seen[7] = {};
    for (int n = 0; n < 70000; ++n) {
        const double u = rng.uniform();
        CHECK(u >= 0.0 && u < 1.0 && u * 0x1p24 == std::floor(u * 0x1p24));
        total += u;
        const std::size_t i = rng.index(7);
        if (CHECK(i < 7)) ++seen[i];
    }
    CHECK_NEAR(total / 70000.0, 0.5, 0.005);
    for (int times : seen) CHECK(times > 9600 && times < 10400);
    CHECK(rng.index(1) == 0);
}

TEST(rng_copies_go_the_same_way) {
    Rng one(9);
    (void)one.next();
    Rng two = one;
    for (int n = 0; n < 100; ++n) CHECK(one.next() == two.next());
    CHECK(one.valid() && !Rng().valid());  // all zero is the one state that never moves
    CHECK(sizeof(Rng) == 16);
}
