#include "pocketkernel/arena.hpp"

#include "check.hpp"

using namespace pocketkernel;

TEST(arena_counts_as_it_lays_out) {
    alignas(pack_bytes) unsigned char block[1024];
    std::memset(block, 0xff, sizeof block);
    Arena counter, arena(block);
    const auto lay_out = [](Arena& a, char*& c, double*& d, std::uint64_t*& none, float*& f) {
        c = a.take<char>(3);
        d = a.take<double>(9);
        none = a.take<std::uint64_t>(0);
        f = a.take<float>(16);
    };
    char* c;
    double* d;
    std::uint64_t* none;
    float* f;
    lay_out(counter, c, d, none, f);
    CHECK(!c && !d && !f);
    lay_out(arena, c, d, none, f);
    CHECK(arena.used() == counter.used());
    CHECK(arena.used() == 64 + 128 + 0 + 64);
    const auto place = [&](const void* p) {
        return static_cast<std::size_t>(static_cast<const unsigned char*>(p) - block);
    };
    CHECK(place(c) == 0 && place(d) == 64 && place(none) == 192 && place(f) == 192);
    for (std::size_t i = 0; i < arena.used(); ++i) CHECK(block[i] == 0);
    CHECK(block[arena.used()] == 0xff);
}

// With 32 bits a product of counts as large as a configuration may have would wrap around to a small size.
TEST(arena_sizes_do_not_wrap) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto used = [](auto... counts) {
        Arena arena;
        (void)arena.take<double>(counts...);
        return arena.used();
    };
    CHECK(used(std::size_t(3), std::size_t(5)) == 128);
    CHECK(used(most / 8 + 1) == most);
    CHECK(used(most / 8) == most);  // rounding up to a pack would wrap
    CHECK(used(std::size_t(1) << (sizeof most * 4), std::size_t(1) << (sizeof most * 4)) == most);
    CHECK(used(most, std::size_t(0)) == 0 || used(most, std::size_t(0)) == most);
    Arena arena;
    (void)arena.take<char>(most / 2);
    (void)arena.take<char>(most / 2);
    CHECK(arena.used() == most);
    (void)arena.take<char>(std::size_t(1));
    CHECK(arena.used() == most);  // for good
}
