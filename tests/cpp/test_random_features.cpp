// Random features as Raker sees them: after one round of hinge loss at score 0, theta_i = eta y z_i(x), so the score of
// q is eta y times the mean over i of z_i(x)'z_i(q) = mean_j cos(w_j'(x - q) / sigma_i).
#include "pocketkernel/random_features.hpp"

#include "any_learner.hpp"
#include "check.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = Stream::d;

Config features(const KernelSpec* kernels, std::size_t count, std::size_t frequencies) {
    Config c;
    c.features = d;
    c.budget = frequencies;
    c.kernel_count = count;
    c.kernels = kernels;
    c.loss = Loss::hinge;
    c.rate = 0.5;
    c.seed = 12;
    return c;
}

void products(bool doubles, const KernelSpec* kernels, std::size_t K, std::size_t D, double tolerance) {
    const Stream stream(2);
    Made made({"raker", doubles}, features(kernels, K, D));
    double w[37 * d];
    CHECK(D <= 37 && made->frequencies(w));
    const double* x = stream.row(3).values;
    CHECK_EQUAL(made->learn(stream.row(3), -1.0), 0);
    for (std::size_t n = 0; n < stream.pool; ++n) {
        const double* q = stream.row(n).values;
        double mean = 0.0;
        for (std::size_t i = 0; i < K; ++i)
            for (std::size_t j = 0; j < D; ++j) {
                double angle = 0.0;
                for (std::size_t k = 0; k < d; ++k) angle += w[j * d + k] * (x[k] - q[k]);
                mean += std::cos(angle / kernels[i].parameter) / static_cast<double>(K * D);
            }
        CHECK_NEAR(made->score(stream.row(n)), -0.5 * mean, tolerance);
    }
}

}  // namespace

TEST(random_features_products) {
    const KernelSpec ladder[] = {
        {Family::gaussian, 0.25}, {Family::gaussian, 4.0}, {Family::gaussian, 1.0}, {Family::gaussian, 1.0}};
    const KernelSpec none[] = {{Family::gaussian, 0.3}, {Family::gaussian, 0.7}, {Family::gaussian, 1.1}};
    const KernelSpec far_apart[] = {{Family::gaussian, 64.0},
                                    {Family::gaussian, 0x1p-8}};  // too many doublings for one ladder
    for (std::size_t D : {std::size_t(1), std::size_t(8), std::size_t(37)}) {
        products(true, ladder, 4, D, 1e-12);
        products(true, none, 3, D, 1e-12);
        products(true, far_apart, 2, D, 1e-10);
        products(false, ladder, 4, D, 3e-5);
        products(false, none, 3, D, 3e-5);
    }
}

TEST(random_features_are_normal) {
    const KernelSpec one{Family::gaussian, 1.0};
    Made made({"raker", true}, features(&one, 1, 1000));
    static double frequencies[1000 * d];
    CHECK(made->frequencies(frequencies));
    double mean = 0.0, square = 0.0, fourth = 0.0;
    for (double w : frequencies) {
        mean += w / (1000.0 * d);
        square += w * w / (1000.0 * d);
        fourth += w * w * w * w / (1000.0 * d);
    }
    CHECK_NEAR(mean, 0.0, 0.03);
    CHECK_NEAR(square, 1.0, 0.04);
    CHECK_NEAR(fourth, 3.0, 0.3);
}

// Rahimi & Recht: the product is the Gaussian kernel in expectation.
TEST(random_features_stand_for_the_kernel) {
    const KernelSpec one{Family::gaussian, 1.5};
    const Stream stream(2);
    Made made({"raker", true}, features(&one, 1, 4000));
    (void)made->learn(stream.row(1), 1.0);
    for (std::size_t n = 0; n < 20; ++n) {
        double squares = 0.0;
        for (std::size_t k = 0; k < d; ++k) squares += std::pow(stream.row(1).values[k] - stream.row(n).values[k], 2);
        CHECK_NEAR(made->score(stream.row(n)) / 0.5, std::exp(-squares / 4.5), 0.06);
    }
}

TEST(random_features_follow_the_seed) {
    const KernelSpec one{Family::gaussian, 1.0};
    Config c = features(&one, 1, 20);
    Made a({"raker", false}, c), b({"raker", false}, c);
    c.seed = 13;
    Made other({"raker", false}, c);
    double of_a[20 * d], of_b[20 * d], of_other[20 * d];
    CHECK(a->frequencies(of_a) && b->frequencies(of_b) && other->frequencies(of_other));
    CHECK(std::memcmp(of_a, of_b, sizeof of_a) == 0 && std::memcmp(of_a, of_other, sizeof of_a) != 0);
}
