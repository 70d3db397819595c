#include "pocketkernel/experts/linear.hpp"

#include "frame.hpp"

using namespace pocketkernel;

// The two linear experts have functions of their own and the same sums of squares, of which the second takes none away
// and adds none; it moves three tenths as far.
TEST(linear_experts_share_squares) {
    constexpr std::size_t d = 4;
    frame::Frame<double> f(d, 1);
    experts::Linear<double> fast;
    experts::SlowLinear<double> slow;
    experts::Linear<double>::Note note;
    experts::SlowLinear<double>::Note none;
    Rng rng(6);
    for (int t = 0; t < 50; ++t) {
        double x[d], s[2], g = rng.uniform() - 0.5, of_slow = g;
        for (double& value : x) value = rng.uniform();
        const Query<double> z = f.read(x);
        const Seen<double> seen{z, f.work, true, false};
        fast.evaluate(f, seen, note, s);
        slow.evaluate(f, seen, none, s + 1);
        CHECK_EQUAL(s[0], f.lines().score(f.columns(), z, 0));
        CHECK_EQUAL(s[1], f.lines().score(f.columns(), z, 1));
        const double square = g * g, whole = 1.0 + t;
        fast.step(f, seen, note, {&g, 1.0, &square, &whole});
        const double nothing =
            0.0;  // its own slope adds to what its step is divided by: here it is as that of the first
        slow.step(f, seen, none, {&of_slow, 1.0, &nothing, &whole});
    }
    CHECK(fast.norm2(f, 0) > 0.0 && fast.valid(f) && slow.valid(f));
    CHECK_NEAR(slow.norm2(f, 0), 0.09 * fast.norm2(f, 0), 1e-12);
    CHECK_EQUAL(fast.norm2(f, 0), f.lines().norm2(0, 1));
}

// Beside widths it learns from its own scores, alone also from the mixture's.
TEST(linear_experts_manner) {
    const frame::Frame<float> alone(3, 1), beside(3, 1, 2);
    CHECK(experts::Linear<float>::manner(alone).share_of_mixture == Tuning::MixtureShare::lone_linear);
    CHECK(experts::Linear<float>::manner(beside).share_of_mixture == Tuning::MixtureShare::linear);
    CHECK(!experts::Linear<float>::manner(beside).doubts_labels && !experts::Linear<float>::manner(beside).counts);
}
