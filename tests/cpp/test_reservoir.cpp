#include "pocketkernel/reservoir.hpp"

#include "check.hpp"

using namespace pocketkernel;

TEST(reservoir_fills_then_replaces) {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena(block);
    Reservoir V(arena, 4);
    Rng rng(1), untouched = rng;
    CHECK(V.slots() == 4 && V.size() == 0);
    for (std::uint64_t t = 1; t <= 4; ++t) {
        const std::size_t slot = V.offer(t, rng);
        CHECK(slot == t - 1);
        V.put(slot, slot);
    }
    CHECK(V.size() == 4);
    CHECK(rng.next() == untouched.next());  // filling draws nothing

    V.put(2, 9);
    CHECK(V.size() == 4 && V.place(2) == 9);
    CHECK(V.holds(9) && V.holds(0) && !V.holds(2));
    V.archive_dropped(2);  // places behind it move up
    CHECK(V.place(0) == 0 && V.place(1) == 1 && V.place(2) == 8 && V.place(3) == 2);
    CHECK(V.valid(9, 4) && V.valid(9, 100) && !V.valid(8, 4) && !V.valid(9, 3));
}

// Every round is in the sample with probability M/T, whatever its place: Vitter's theorem, on 20,000 streams of 12.
TEST(reservoir_is_uniform) {
    constexpr std::size_t M = 3, T = 12;
    constexpr int streams = 20000;
    int kept[T] = {};
    Rng rng(5);
    for (int n = 0; n < streams; ++n) {
        alignas(pack_bytes) unsigned char block[256];
        Arena arena(block);
        Reservoir V(arena, M);
        for (std::size_t t = 0; t < T; ++t) {
            const std::size_t slot = V.offer(t + 1, rng);
            if (slot < M) V.put(slot, t);
        }
        for (std::size_t v = 0; v < M; ++v) ++kept[V.place(v)];
    }
    for (int times : kept) CHECK_NEAR(times, streams * 3.0 / 12.0, 300.0);  // five standard deviations
}

// With M/t chances of entering, then the slot: two draws, in this order.
TEST(reservoir_draws_in_order) {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena(block);
    Reservoir V(arena, 2);
    V.put(0, 0);
    V.put(1, 1);
    Rng rng(8), same(8);
    for (std::uint64_t t = 3; t < 300; ++t) {
        std::size_t expected = 2;
        if (same.uniform() < 2.0 / static_cast<double>(t)) expected = same.index(2);
        CHECK(V.offer(t, rng) == expected);
    }
}
