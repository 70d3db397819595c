#include "pocketkernel/target_scale.hpp"

#include "check.hpp"
#include "pocketkernel/normal.hpp"

using namespace pocketkernel;

namespace {

// Targets of a level and a deviation, of which half the variance is predicted.
struct Course {
    TargetScale scale{};
    Rng rng{5};
    Normal normal{rng};
    std::uint64_t round = 1;
    int alarms = 0;
    double ratio = 1.0;

    void run(int rows, double level, double deviation, double first = 0.0) {
        for (int t = 0; t < rows; ++t, ++round) {
            const double known = normal.next(), y = t == 0 && first != 0.0
                                                        ? first
                                                        : level + deviation * (known + normal.next()) / std::sqrt(2.0);
            if (round == 1) {
                scale.start(y);
                continue;
            }
            const double prediction = deviation * known / std::sqrt(2.0);
            const TargetScale::Change change = scale.observe(y, y - scale.mean - prediction, round);
            alarms += change.alarm;
            ratio *= change.ratio;
            CHECK(scale.valid());
        }
    }
    double deviation() const { return std::sqrt(scale.variance); }
    double error() const { return std::sqrt(scale.square); }
};

}  // namespace

TEST(target_scale_measures_in_any_unit) {
    for (double unit : {1e-30, 1.0, 1e30}) {
        Course course;
        course.run(20000, 7.0 * unit, 2.0 * unit);
        CHECK_NEAR(course.scale.mean / unit, 7.0, 0.3);
        CHECK_NEAR(course.deviation() / unit, 2.0, 0.2);
        CHECK_NEAR(course.error() / unit, std::sqrt(2.0), 0.15);
        CHECK_NEAR(course.scale.size / unit, 0.8 * std::sqrt(2.0), 0.4);
        CHECK(course.scale.peak < 10.0 * unit);
        CHECK(course.alarms <= 1 && course.ratio == 1.0);
    }
}

// Outliers do not drown it, wherever they come.
TEST(target_scale_bears_outliers) {
    Course course;
    course.run(1000, 0.0, 1.0, 1e9);
    CHECK(std::fabs(course.scale.mean) < 1.0 && course.deviation() < 3.0);
    for (int n = 0; n < 20; ++n) course.run(500, 0.0, 1.0, 1e9);
    CHECK(std::fabs(course.scale.mean) < 0.5 && course.deviation() < 2.0);
    CHECK(course.scale.clipped(1e9) < 8.0 && course.scale.clipped(-1e9) > -8.0);
    CHECK_EQUAL(course.scale.clipped(0.5), 0.5);
}

// Another scale, another level: taken over within some dozen rows, and told.
TEST(target_scale_notices_a_change) {
    for (double factor : {100.0, 0.01}) {
        Course course;
        course.run(5000, 0.0, 1.0);
        CHECK(course.alarms <= 1 && course.ratio == 1.0);
        course.run(2100, 0.0, factor);
        CHECK(course.alarms >= 1);
        CHECK_NEAR(course.ratio / factor, 1.0, 0.8);
        CHECK_NEAR(course.deviation() / factor, 1.0, 0.3);
    }
    Course course;
    course.run(5000, 0.0, 1.0);
    course.run(100, 1000.0, 1.0);
    CHECK_NEAR(course.scale.mean, 1000.0, 1.0);
    CHECK(course.deviation() < 3.0);
}

TEST(target_scale_of_a_constant) {
    TargetScale scale{};
    scale.start(3.0);
    for (std::uint64_t round = 2; round < 5000; ++round) {
        const TargetScale::Change change = scale.observe(3.0, 0.0, round);
        CHECK(!change.alarm && change.ratio == 1.0);
    }
    CHECK_EQUAL(scale.mean, 3.0);
    CHECK_EQUAL(scale.variance, 0.0);
    CHECK_EQUAL(scale.clipped(7.0), 7.0);
}

TEST(target_scale_knows_an_impossible_state) {
    for (std::size_t field = 0; field < sizeof(TargetScale) / sizeof(double); ++field) {
        Course course;
        course.run(100, 0.0, 1.0);
        const double bad = std::nan("");
        std::memcpy(reinterpret_cast<unsigned char*>(&course.scale) + field * sizeof bad, &bad, sizeof bad);
        CHECK(!course.scale.valid());
    }
}
