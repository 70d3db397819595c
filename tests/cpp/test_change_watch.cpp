#include "pocketkernel/change_watch.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

// A row counts by at most 2: ten of the worst are not enough, eleven are. Then the count begins anew.
TEST(change_watch_notices_an_exchange) {
    ChangeWatch watch{};
    for (int turn = 0; turn < 2; ++turn) {
        for (int row = 0; row < 10; ++row) CHECK(!watch.exchanged(-1e9));
        CHECK(watch.valid() && watch.reversal == 20.0);
        CHECK(watch.exchanged(-1e9) && watch.reversal == 0.0);
    }
    // Margins that are right make up for others, but no more than that.
    for (int row = 0; row < 100; ++row) CHECK(!watch.exchanged(1.5));
    for (int row = 0; row < 100; ++row) CHECK(!watch.exchanged(row % 2 == 0 ? -1.0 : 1.0));
    CHECK(watch.reversal <= 1.0);
}

TEST(change_watch_notices_lost_confidence) {
    ChangeWatch watch{};
    for (int row = 0; row < 12; ++row) {
        CHECK(watch.is_suspicious() == (row > 2));
        CHECK(!watch.lost_confidence(1e9));
    }
    CHECK(watch.lost_confidence(0.5) && watch.valid());
    for (int row = 0; row < 100; ++row) (void)watch.lost_confidence(-1.0);
    CHECK(watch.surprise == 0.0 && !watch.is_suspicious());
}

// While the probabilities are right, alarms are rarer than T e^-h: none in 20,000 rows of this stream.
TEST(change_watch_trusts_what_is_calibrated) {
    Rng rng(3);
    ChangeWatch watch{};
    bool alarm = false;
    for (int row = 0; row < 20000; ++row) {
        const double score = 6.0 * rng.uniform() - 3.0, y = rng.uniform() < 1.0 / (1.0 + std::exp(-score)) ? 1.0 : -1.0;
        const auto loss = [&](double s) { return std::log1p(std::exp(-y * s)); };
        alarm = watch.exchanged(y * score) || alarm;
        alarm = watch.lost_confidence(loss(score) - loss(0.5 * score)) || alarm;
    }
    CHECK(!alarm);
}

TEST(change_watch_recognises_damage) {
    for (double bad : {-1.0, 101.0, std::nan("")}) {
        ChangeWatch reversal{bad, 0.0}, surprise{0.0, bad};
        WrongLabels labels{bad};
        CHECK(!reversal.valid() && !surprise.valid());
        CHECK(bad == -1.0 || !labels.valid());
    }
}

// A share e of the labels is wrong: the chance that one is right, by Bayes.
TEST(wrong_labels_are_doubted) {
    WrongLabels labels{};
    CHECK(labels.chance_of_right(0.001) == 1.0);
    for (int row = 0; row < 1000; ++row)
        labels.count(row % 2 == 0 ? 5.0 : -5.0, row % 2 == 0 ? 0.05 : -0.05, row + 1.0);
    CHECK_NEAR(labels.share, 0.05, 1e-12);
    CHECK_NEAR(labels.chance_of_right(0.2), 0.95 * 0.2 / (0.95 * 0.2 + 0.05 * 0.8), 1e-12);
    for (int row = 0; row < 1000; ++row) labels.count(2.9, 1.0, 10.0);  // not confident
    CHECK_NEAR(labels.share, 0.05, 1e-12);
    for (int row = 0; row < 1000; ++row) labels.count(5.0, 1.0, 10.0);
    CHECK(labels.share > 0.99 && labels.valid());
    CHECK_NEAR(labels.chance_of_right(0.5), 0.9, 1e-12);
}
