#include "pocketkernel/wire.hpp"

#include <cstring>

#include "check.hpp"
#include "pocketkernel/config.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

TEST(wire_numbers) {
    unsigned char bytes[8];
    write_word(bytes, 0x0102030405060708ULL);
    CHECK(bytes[0] == 8 && bytes[7] == 1);
    CHECK(read_word(bytes) == 0x0102030405060708ULL);
    CHECK(read_word(bytes, 3) == 0x060708);
}

TEST(wire_words) {
    unsigned char bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    swap_words(bytes, 9, 4);  // what is less than a word stays
    const unsigned char expected[9] = {4, 3, 2, 1, 8, 7, 6, 5, 9};
    CHECK(std::memcmp(bytes, expected, 9) == 0);
    swap_words(bytes, 8, 1);
    CHECK(std::memcmp(bytes, expected, 9) == 0);
    CHECK(wire_word<double> == 8 && wire_word<float> == 4 && wire_word<std::int8_t> == 1);
    CHECK(wire_word<Tally> == 8 && wire_word<Rng> == 4);
}

// The machine's own order, as the digest of a state sees it.
TEST(wire_order) {
    const std::uint32_t number = 0x01020304;
    unsigned char bytes[4];
    std::memcpy(bytes, &number, 4);
    CHECK((bytes[0] == 1) == big_endian);
}
