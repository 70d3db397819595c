#include "pocketkernel/mixture/class_mixture.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t K = 3;

template <std::size_t R>
struct Mixed {
    ClassMixture::Place places[K] = {};
    double newton[NewtonMixture::doubles(K)] = {}, sums[MixtureLedger::doubles(K)] = {}, scratch[200] = {};
    ClassMixture of{R, K, places, newton, sums};
    double s[K * R];
    Rng rng{3};

    Mixed() {
        CHECK(ClassMixture::numbers_in_scratch(R, K) <= sizeof scratch / sizeof *scratch);
        of.plan(scratch);
        of.reset();
        for (double& score : s) score = 4.0 * rng.uniform() - 2.0;
        of.mix(s, K, of.f());
    }
    // Plainly, the loss of R scores.
    static double loss(const double* scores, std::size_t y) {
        if (R == 1) return std::log1p(std::exp(y == 1 ? -scores[0] : scores[0]));
        double total = 0.0;
        for (std::size_t r = 0; r < R; ++r) total += std::exp(scores[r]);
        return std::log(total) - scores[y];
    }
    // Its slope in score r, by differences.
    static double slope(const double* scores, std::size_t y, std::size_t r) {
        double more[R], less[R];
        for (std::size_t n = 0; n < R; ++n) more[n] = less[n] = scores[n];
        more[r] += 1e-5;
        less[r] -= 1e-5;
        return (loss(more, y) - loss(less, y)) / 2e-5;
    }
};

template <std::size_t R>
void losses_and_slopes() {
    Mixed<R> mixed;
    for (std::size_t y = 0; y < (R == 1 ? 2 : R); ++y) {
        double slopes[R];
        CHECK_NEAR(mixed.of.lesson(mixed.s, y, slopes), Mixed<R>::loss(mixed.s, y), 1e-12);
        for (std::size_t r = 0; r < R; ++r) CHECK_NEAR(slopes[r], Mixed<R>::slope(mixed.s, y, r), 1e-8);
        CHECK_NEAR(mixed.of.judge(mixed.s, y, 1.0, true), Mixed<R>::loss(mixed.of.f(), y), 1e-12);
        for (std::size_t r = 0; r < R; ++r) CHECK_NEAR(mixed.of.slope()[r], Mixed<R>::slope(mixed.of.f(), y, r), 1e-8);
        double without[R];
        for (std::size_t r = 0; r < R; ++r)
            without[r] =
                mixed.of.f()[r] - mixed.of.weight(1) * mixed.s[R + r] - mixed.of.weight(2) * mixed.s[2 * R + r];
        CHECK_NEAR(mixed.of.loss_without(mixed.s, 1, 3, y), Mixed<R>::loss(without, y), 1e-12);
        double half[R];
        for (std::size_t r = 0; r < R; ++r) half[r] = 0.5 * mixed.of.f()[r];
        const double whole = Mixed<R>::loss(mixed.of.f(), y);
        CHECK_NEAR(mixed.of.relief({y, 1.0, 1.0, whole, false, 1}), whole - Mixed<R>::loss(half, y), 1e-12);
    }
}

// Slopes lie part of the way to F, count as often as the row, and are less where a label is doubted; squares are kept
// as if the row had come as many times as it counts.
template <std::size_t R>
void slopes_of_experts() {
    Mixed<R> mixed;
    const ClassMixture::Round row{1, 2.0, 3.0, 0.0, false, 5};
    const Manner manners[K] = {{0.0}, {0.6, true}, {0.3, false, true}};
    for (std::size_t i = 0; i < K; ++i) {
        const double* s = mixed.s + i * R;
        double between[R], square = 0.0, before = mixed.of.place(i).squares;
        const double share = R > 1 ? Tuning::MixtureShare::several_classes : manners[i].share_of_mixture;
        for (std::size_t r = 0; r < R; ++r) between[r] = s[r] + share * (mixed.of.f()[r] - s[r]);
        mixed.of.take_slopes(i, s, manners[i], row, true, [](double p) {
            CHECK(p > 0.0 && p < 1.0);
            return 0.5;
        });
        for (std::size_t r = 0; r < R; ++r) {
            const double g = Mixed<R>::slope(between, 1, r) * (R == 1 && manners[i].doubts_labels ? 0.5 : 1.0);
            CHECK_NEAR(mixed.of.slopes_of(i)[r], g * (manners[i].counts ? 1.0 : 3.0), 1e-7);
            square += g * g;
        }
        CHECK_NEAR(mixed.of.squares()[i], square, 1e-7);
        CHECK_NEAR(mixed.of.wholes()[i], before + 9.0 * square, 1e-6);
        CHECK_NEAR(mixed.of.place(i).squares, before + 3.0 * square, 1e-6);
        CHECK_NEAR(mixed.of.place(i).loss, Mixed<R>::loss(s, 1) / 5.0, 1e-12);
        CHECK_NEAR(mixed.sums[i], 2.0 * Mixed<R>::loss(s, 1), 1e-12);
        // A row that was learned before judges nobody.
        const double loss = mixed.of.place(i).loss, sum = mixed.sums[i];
        mixed.of.take_slopes(i, s, manners[i], row, false, [](double) { return 1.0; });
        CHECK(mixed.of.place(i).loss == loss && mixed.sums[i] == sum);
    }
    CHECK(mixed.of.valid(1e12));
    mixed.of.hurry(0.02);
    for (std::size_t i = 0; i < K; ++i) CHECK(mixed.of.place(i).squares >= 1.0 && mixed.of.valid(1e12));
    mixed.places[1].loss = std::nan("");
    CHECK(!mixed.of.valid(1e12));
}

}  // namespace

TEST(class_mixture_losses_and_slopes) {
    losses_and_slopes<1>();
    losses_and_slopes<4>();
}
TEST(class_mixture_slopes_of_experts) {
    slopes_of_experts<1>();
    slopes_of_experts<4>();
}

// The weights move to the expert that is right.
TEST(class_mixture_learns) {
    Mixed<1> mixed;
    for (int row = 0; row < 200; ++row) {
        const std::size_t y = mixed.rng.index(2);
        mixed.s[0] = y == 1 ? 2.0 : -2.0;
        mixed.s[1] = 2.0 - 4.0 * mixed.rng.uniform();
        mixed.s[2] = -mixed.s[0];
        mixed.of.mix(mixed.s, K, mixed.of.f());
        (void)mixed.of.judge(mixed.s, y, 1.0, true);
        mixed.of.learn(mixed.s, 1.0);
    }
    CHECK(mixed.of.weight(0) > 1.0 && mixed.of.weight(2) < -0.2 && absolute(mixed.of.weight(1)) < 0.3);
}
