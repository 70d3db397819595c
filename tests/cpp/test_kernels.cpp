// Kernel values as a learner sees them: LKMBooks with one kernel and one stored row x answers a kappa(x, .), and at x
// itself a, so that its scores are kernel values.
#include "pocketkernel/kernels/list.hpp"

#include "any_learner.hpp"
#include "check.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = Stream::d;

double exact(const KernelSpec& spec, const double* u, const double* v) {
    double squares = 0.0, sizes = 0.0, product = 0.0, norm_u = 0.0, norm_v = 0.0;
    for (std::size_t k = 0; k < d; ++k) {
        squares += (u[k] - v[k]) * (u[k] - v[k]);
        sizes += std::fabs(u[k] - v[k]);
        product += u[k] * v[k];
        norm_u += u[k] * u[k];
        norm_v += v[k] * v[k];
    }
    if (spec.family == Family::gaussian) return std::exp(-squares / (2.0 * spec.parameter * spec.parameter));
    if (spec.family == Family::laplacian) return std::exp(-sizes / spec.parameter);
    const double r = std::sqrt(squares) / spec.parameter, a = std::sqrt(3.0) * r, b = std::sqrt(5.0) * r;
    if (spec.family == Family::matern32) return (1.0 + a) * std::exp(-a);
    if (spec.family == Family::matern52) return (1.0 + b + b * b / 3.0) * std::exp(-b);
    if (spec.family == Family::rational_quadratic)
        return std::pow(1.0 + r * r / (2.0 * spec.order), -static_cast<double>(spec.order));
    const double cosine = norm_u == 0.0 && norm_v == 0.0   ? 1.0
                          : norm_u == 0.0 || norm_v == 0.0 ? 0.0
                                                           : product / std::sqrt(norm_u * norm_v);
    return std::pow(cosine, spec.family == Family::linear ? 1.0 : spec.parameter);
}

Config one_row(const KernelSpec* kernels, std::size_t count) {
    Config c;
    c.features = d;
    c.budget = 1;
    c.kernel_count = count;
    c.kernels = kernels;
    c.loss = Loss::hinge;  // slope -1 at score 0: the first row is stored for certain
    c.horizon = 1.0;
    c.step = 1.0;
    return c;
}

void agrees_with_the_definition(bool doubles, const KernelSpec& spec, double tolerance) {
    const Stream stream(11);
    for (std::size_t stored = 0; stored < 7; ++stored) {
        Made made({"lkm_books", doubles}, one_row(&spec, 1));
        CHECK_EQUAL(made->learn(stream.row(stored), 1.0), 0);
        const double a = made->score(stream.row(stored));
        CHECK(a > 0.0);
        for (std::size_t j = 0; j < stream.pool; ++j)
            CHECK_NEAR(made->score(stream.row(j)) / a, exact(spec, stream.row(stored).values, stream.row(j).values),
                       tolerance);
    }
}

Status checked(const KernelSpec& spec) { return check_kernels(one_row(&spec, 1)); }

}  // namespace

TEST(kernels_values) {
    const KernelSpec all[] = {{Family::gaussian, 1.0},
                              {Family::gaussian, 0.3},
                              {Family::laplacian, 2.0},
                              {Family::laplacian, 0.7},
                              {Family::polynomial, 2.0},
                              {Family::polynomial, 7.0},
                              {Family::linear, 1.0},
                              {Family::matern32, 0.8},
                              {Family::matern52, 1.3},
                              {Family::rational_quadratic, 0.7},
                              {Family::rational_quadratic, 0.7, 5}};
    for (const KernelSpec& spec : all) {
        agrees_with_the_definition(true, spec, 1e-14);
        agrees_with_the_definition(false, spec, 1e-6);
    }
}

// Several kernels at once, arranged in ladders, are the mean of the same kernels one by one.
TEST(kernels_side_by_side) {
    const KernelSpec all[] = {{Family::gaussian, 0.25}, {Family::gaussian, 1.0},
                              {Family::gaussian, 4.0},  {Family::gaussian, 0.3},
                              {Family::laplacian, 2.0}, {Family::laplacian, 1.0},
                              {Family::linear, 1.0},    {Family::polynomial, 3.0},
                              {Family::gaussian, 4.0},  {Family::laplacian, 0.33},
                              {Family::gaussian, 64.0}, {Family::matern32, 2.0},
                              {Family::matern52, 0.5},  {Family::rational_quadratic, 2.0, 3}};
    constexpr std::size_t K = sizeof all / sizeof *all;
    const Stream stream(11);
    Made made({"lkm_books", true}, one_row(all, K));
    (void)made->learn(stream.row(3), 1.0);
    const double a = made->score(stream.row(3));
    for (std::size_t j = 0; j < stream.pool; ++j) {
        double mean = 0.0;
        for (const KernelSpec& spec : all)
            mean += exact(spec, stream.row(3).values, stream.row(j).values) / static_cast<double>(K);
        CHECK_NEAR(made->score(stream.row(j)) / a, mean, 1e-12);
    }
}

TEST(kernels_shapes) {
    const KernelShape gaussian = shape_of(KernelSpec{Family::gaussian, 2.0});
    CHECK(gaussian.metric == Metric::squared_distance && gaussian.rate == 0.125);
    const KernelShape laplacian = shape_of(KernelSpec{Family::laplacian, 2.0});
    CHECK(laplacian.metric == Metric::l1_distance && laplacian.rate == 0.5);
    const KernelShape polynomial = shape_of(KernelSpec{Family::polynomial, 3.0});
    CHECK(polynomial.metric == Metric::cosine && polynomial.rate == 0.0 && polynomial.order == 3);
    CHECK(shape_of(KernelSpec{Family::linear, 0.0}).order == 1);
}

TEST(kernels_are_checked) {
    CHECK(checked({Family::gaussian, 1.0}) == Status::ok);
    for (double width : {0.0, -1.0, 1e31, 1e-31, std::nan(""), HUGE_VAL}) {
        CHECK(checked({Family::gaussian, width}) == Status::width_not_positive);
        CHECK(checked({Family::laplacian, width}) == Status::width_not_positive);
    }
    CHECK(checked({Family::polynomial, 64.0}) == Status::ok);
    for (double degree : {0.0, 2.5, 65.0, -1.0, std::nan("")})
        CHECK(checked({Family::polynomial, degree}) == Status::degree_not_positive);
    CHECK(checked({Family::linear, -5.0}) == Status::ok);  // it has no parameter
    CHECK(checked({Family::matern32, 0.0}) == Status::width_not_positive);
    CHECK(checked({Family::matern52, 0.0}) == Status::width_not_positive);
    CHECK(checked({Family::rational_quadratic, 0.0}) == Status::width_not_positive);
    for (std::uint32_t alpha : {0u, 65u})
        CHECK(checked({Family::rational_quadratic, 1.0, alpha}) == Status::alpha_out_of_range);
    KernelSpec many[max_kernels + 1];
    for (KernelSpec& spec : many) spec = {Family::gaussian, 1.0};
    CHECK(check_kernels(one_row(many, 0)) == Status::kernels_empty);
    CHECK(check_kernels(one_row(many, max_kernels)) == Status::ok);
    CHECK(check_kernels(one_row(many, max_kernels + 1)) == Status::kernels_too_many);
}
