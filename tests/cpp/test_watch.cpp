#include "pocketkernel/watch.hpp"

#include "check.hpp"

using namespace pocketkernel;

// As on a device: nobody interrupts, and the compiler knows. How a host interrupts a row is tested in test_hostile.py.
TEST(without_a_host_no_row_is_watched) {
    static_assert(!Watch::present && !Watch::give_up(), "nothing is left to compile");
    unsigned char state[3] = {1, 2, 3};
    Watch::begin(state, sizeof state);
    CHECK(state[0] == 1 && state[1] == 2 && state[2] == 3);
}
