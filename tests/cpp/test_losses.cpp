#include "pocketkernel/losses/list.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {
constexpr Loss all[] = {Loss::hinge, Loss::logistic, Loss::smooth_hinge};
}

TEST(losses_values) {
    CHECK_EQUAL(loss_at(Loss::hinge, 0.25, 1.0).value, 0.75);
    CHECK_EQUAL(loss_at(Loss::hinge, 1.0, 1.0).derivative, 0);
    CHECK_EQUAL(loss_at(Loss::hinge, 0.5, -1.0).derivative, 1);
    CHECK_NEAR(loss_at(Loss::logistic, 0.0, 1.0).value, std::log(2.0), 1e-16);
    CHECK_EQUAL(loss_at(Loss::logistic, 0.0, -1.0).derivative, 0.5);
    CHECK_NEAR(loss_at(Loss::logistic, -1000.0, 1.0).value, 1000.0, 1e-12);
    CHECK_NEAR(loss_at(Loss::smooth_hinge, 1.0, 1.0).value, 0.5, 1e-16);
    CHECK_NEAR(loss_at(Loss::smooth_hinge, -1e6, 1.0).derivative, -1.0, 1e-12);
    CHECK(loss_at(Loss::smooth_hinge, 1e9, 1.0).value > 0.0);  // it never cancels to 0
}

TEST(losses_slopes) {
    for (Loss loss : all)
        for (double y : {-1.0, 1.0})
            for (int n = -400; n <= 400; ++n) {
                const double u = 0.05 * n, h = 1e-5;
                if (loss == Loss::hinge && std::fabs(1.0 - y * u) < 2.0 * h) continue;  // the corner
                const LossPoint here = loss_at(loss, u, y), mirrored = loss_at(loss, -u, -y);
                const double slope = (loss_at(loss, u + h, y).value - loss_at(loss, u - h, y).value) / (2.0 * h);
                CHECK_NEAR(here.derivative, slope, 1e-9);
                CHECK_EQUAL(here.value, mirrored.value);
                CHECK_EQUAL(here.derivative, -mirrored.derivative);
            }
}

TEST(losses_constants) {
    CHECK(!is_smooth(Loss::hinge) && is_smooth(Loss::logistic) && is_smooth(Loss::smooth_hinge));
    for (Loss loss : {Loss::logistic, Loss::smooth_hinge}) {
        const double G1 = loss_G1(loss), G2 = with_loss(loss, [](auto l) { return l.G2; });
        CHECK(G1 > 0.0 && G2 > 0.0);
        for (int n = -1000; n <= 1000; ++n) {
            const LossPoint p = loss_at(loss, 0.1 * n, 1.0);
            CHECK(std::fabs(p.derivative) <= G1 * (1.0 + 1e-14));
            CHECK(std::fabs(p.derivative) <= G2 * p.value * (1.0 + 1e-14));
        }
    }
}
