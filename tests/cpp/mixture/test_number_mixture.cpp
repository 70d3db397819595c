#include "pocketkernel/mixture/number_mixture.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t E = 4, m = 2;

struct Mixed {
    alignas(pack_bytes) unsigned char block[2048]{};
    Arena arena{block};
    NumberMixture of{arena, E, m};
    double s[E * m], x[E], room[E];
    Rng rng{6};

    Mixed() {
        CHECK(arena.used() <= sizeof block);
        of.reset();
    }
};

}  // namespace

// The linear expert counts in full, the constant not at all, the others are averaged.
TEST(number_mixture_begins_with_the_linear_expert) {
    Mixed mixed;
    for (std::size_t n = 0; n < E * m; ++n) mixed.s[n] = static_cast<double>(n);
    CHECK_NEAR(mixed.of.mix(mixed.s, 0), 0.0 + (2.0 + 4.0) / 2.0, 1e-12);
    CHECK_NEAR(mixed.of.mix(mixed.s, 1), 1.0 + (3.0 + 5.0) / 2.0, 1e-12);
    CHECK(mixed.of.valid());
}

// Each target finds its own weights, whatever its unit.
TEST(number_mixture_learns) {
    Mixed mixed;
    const double scale[m] = {1.0, 1e20};
    for (std::uint64_t t = 1; t <= 500; ++t) {
        for (std::size_t r = 0; r < m; ++r)
            for (std::size_t i = 0; i < E; ++i)
                mixed.s[i * m + r] = i + 1 < E ? scale[r] * (2.0 * mixed.rng.uniform() - 1.0) : scale[r];
        for (std::size_t r = 0; r < m; ++r) {
            const double y = r == 0 ? mixed.s[2 * m] - 0.5 * mixed.s[m] : 2.0 * mixed.s[1] + 0.3 * scale[1];
            const double error = y - mixed.of.mix(mixed.s, r);
            mixed.of.learn(r, mixed.s, error, scale[r], 1.0, t, mixed.x, mixed.room);
        }
    }
    const double expected[m][E] = {{0.0, -0.5, 1.0, 0.0}, {2.0, 0.0, 0.0, 0.3}};
    for (std::size_t r = 0; r < m; ++r)
        for (std::size_t i = 0; i < E; ++i)
            CHECK_NEAR(mixed.of.of(i, r).weight, expected[r][i], 0.2);  // ridge: 30 of about 160
    const double before = mixed.of.of(0, 0).weight;
    mixed.of.learn(0, mixed.s, 1.0, 0.0, 1.0, 501, mixed.x, mixed.room);  // a constant target teaches nothing
    CHECK_EQUAL(mixed.of.of(0, 0).weight, before);
}

TEST(number_mixture_recognises_damage) {
    for (double bad : {2e6, std::nan("")}) {
        Mixed mixed;
        mixed.of.of(1, 1).weight = bad;
        CHECK(!mixed.of.valid());
    }
    Mixed mixed;
    mixed.of.of(2, 0).squares = 8.0;
    mixed.of.hurry(0, 0.25, mixed.room);
    CHECK(mixed.of.of(2, 0).squares == 2.0 && mixed.of.valid());
    mixed.of.scale(0, 10.0);
    CHECK(mixed.of.of(2, 0).squares == 200.0);
    mixed.of.of(2, 0).squares = -1.0;
    CHECK(!mixed.of.valid());
}
