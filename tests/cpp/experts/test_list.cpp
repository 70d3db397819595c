#include "pocketkernel/experts/list.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

using T = float;
using List = ExpertList<experts::Linear<T>, experts::Waves<T>, experts::Ring<T>, experts::Ferns<T>,
                        experts::Additive<T>, experts::SlowLinear<T>, experts::Lag<T>>;

const KernelSpec linear(Family::linear, 1.0), wide(Family::gaussian, 1.0), half(Family::gaussian, 0.5),
    ring(Family::laplacian, 1.0), ferns(Family::polynomial, 1.0, 4), additive(Family::matern32, 1.0),
    slow(Family::polynomial, 1.0, 1);

template <std::size_t N>
Roster roster(const KernelSpec (&kernels)[N]) {
    Config c;
    c.kernels = kernels;
    c.kernel_count = N;
    return roster_of(c);
}

void is(const Roster& found, std::size_t widths, bool block, bool additive_, bool slow_, bool lag) {
    CHECK_EQUAL(found.widths, widths);
    CHECK(found.block == block && found.additive == additive_ && found.slow == slow_ && found.lag == lag);
}

}  // namespace

TEST(roster_names_experts) {
    is(roster({linear}), 0, false, false, false, false);
    is(roster({linear, linear}), 0, false, false, false, true);
    is(roster({linear, wide, half}), 2, false, false, false, false);
    is(roster({linear, wide, half, linear}), 2, false, false, false, true);
    is(roster({linear, wide, half, ring, ferns}), 2, true, false, false, false);
    is(roster({linear, wide, half, ring, ferns, additive, linear}), 2, true, true, false, true);
    is(roster({linear, wide, half, additive}), 2, false, true, false, false);
    is(roster({linear, wide, half, slow, linear}), 2, false, false, true, true);
}

// Experts are visited in the order of their places, those that take no part are not.
TEST(expert_list_visits_in_order) {
    List all(roster({linear, wide, half, ring, ferns, additive, linear}));
    std::size_t next = 0, visits = 0;
    all.for_each([&](const auto& expert, auto at) {
        using E = std::decay_t<decltype(expert)>;
        CHECK_EQUAL(at.first, next);
        CHECK_EQUAL(at.count, all.count<E>());
        CHECK(&all.get<E>() == &expert);
        next += at.count;
        ++visits;
    });
    CHECK(next == 7 && visits == 6 && !all.is_lone());
    CHECK(all.has<experts::Ring<T>>() && !all.has<experts::SlowLinear<T>>());
    // A row of a workspace for each of those that keep one.
    CHECK_EQUAL(all.row<experts::Ring<T>>(), 0);
    CHECK_EQUAL(all.row<experts::Ferns<T>>(), 1);
    CHECK_EQUAL(all.row<experts::Additive<T>>(), 2);
    CHECK_EQUAL(List::rows(roster({linear, wide, half, ring, ferns, additive})), 3);

    const List few(roster({linear, wide, half, additive}));
    CHECK(few.row<experts::Additive<T>>() == 0 && few.count<experts::Waves<T>>() == 2);
    CHECK_EQUAL(List::rows(roster({linear, wide, half})), 0);
}

TEST(expert_list_of_one) {
    const List lone(roster({linear}));
    std::size_t visits = 0;
    lone.for_each([&](const auto& expert, auto at) {
        CHECK((std::is_same<std::decay_t<decltype(expert)>, experts::Linear<T>>::value));
        CHECK(at.first == 0 && at.count == 1);
        ++visits;
    });
    CHECK(visits == 1 && lone.is_lone());
    CHECK(!List(roster({linear, linear})).is_lone());
}

// Nothing is paid for an expert without a state of its own.
TEST(expert_list_is_small) {
    static_assert(sizeof(ExpertList<experts::Linear<T>, experts::SlowLinear<T>>) <= 8);
    CHECK(sizeof(List) <= sizeof(experts::Waves<T>) + sizeof(experts::Ring<T>) + sizeof(experts::Ferns<T>) +
                              sizeof(experts::Additive<T>) + sizeof(experts::Lag<T>) + 8);
}
