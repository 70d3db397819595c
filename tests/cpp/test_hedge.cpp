#include "pocketkernel/hedge.hpp"

#include "check.hpp"
#include "pocketkernel/rng.hpp"

using namespace pocketkernel;

namespace {

// Charges the experts with these costs; the array has whole packs.
void charge(Hedge& hedge, const double* costs) {
    hedge.update(costs, [](const Pack<double>& c) { return c; });
}

// The update as hedge.hpp states it, line by line, beside the real one.
template <std::size_t K>
void follows_the_definition() {
    alignas(pack_bytes) unsigned char block[2048];
    Arena arena(block);
    Hedge hedge(arena, K);
    hedge.reset();
    double p[K], C[K] = {}, V = 0.0, cost[padded<double>(K)] = {}, scores[padded<double>(K)] = {};
    for (double& weight : p) weight = 1.0 / static_cast<double>(K);
    Rng rng(K);
    for (int t = 0; t < 500; ++t) {
        for (std::size_t i = 0; i < K; ++i) {
            cost[i] = rng.uniform() * (i == 0 ? 0.5 : 1.0);
            scores[i] = rng.uniform() - 0.5;
            V += p[i] * cost[i] * cost[i];
            C[i] += cost[i];
        }
        charge(hedge, cost);
        double least = C[0], total = 0.0, mixed = 0.0, sum_of_weights = 0.0;
        for (double c : C) least = std::fmin(least, c);
        const double eta = std::sqrt(2.0 * std::log(static_cast<double>(K))) / std::sqrt(1.0 + V);
        for (std::size_t i = 0; i < K; ++i) total += p[i] = std::exp(-eta * (C[i] - least));
        for (std::size_t i = 0; i < K; ++i) {
            p[i] /= total;
            mixed += p[i] * scores[i];
            sum_of_weights += hedge.weights()[i];
            CHECK_NEAR(hedge.weights()[i], p[i], 1e-13);
        }
        CHECK_NEAR(hedge.mix(scores), mixed, 1e-13);
        CHECK_NEAR(sum_of_weights, 1.0, 1e-14);
    }
    CHECK(hedge.valid());
}

}  // namespace

TEST(hedge_follows_the_definition) {
    follows_the_definition<1>();
    follows_the_definition<2>();
    follows_the_definition<5>();
    follows_the_definition<8>();
    follows_the_definition<13>();
}

TEST(hedge_starts_uniform) {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena(block);
    Hedge hedge(arena, 3);
    hedge.reset();
    for (std::size_t i = 0; i < 3; ++i) CHECK_NEAR(hedge.weights()[i], 1.0 / 3.0, 1e-16);
    CHECK_NEAR(hedge.root_2_ln_K(), std::sqrt(2.0 * std::log(3.0)), 1e-15);
}

// All weights would underflow if the best expert's cost were not taken off first.
TEST(hedge_survives_a_long_stream) {
    alignas(pack_bytes) unsigned char block[1024];
    Arena arena(block);
    Hedge hedge(arena, 2);
    hedge.reset();
    double cost[lanes_of<double>] = {100.0, 101.0};
    for (int t = 0; t < 200000; ++t) charge(hedge, cost);
    CHECK_NEAR(hedge.weights()[0] + hedge.weights()[1], 1.0, 1e-14);
    CHECK(hedge.weights()[0] > hedge.weights()[1] && hedge.valid());
}

// Costs, weights and squares that no stream leads to; also in the lanes beyond the experts.
TEST(hedge_impossible_states) {
    for (double bad : {-1.0, 1e201, HUGE_VAL, std::nan("")})
        for (std::size_t n : {0, 2, 3, 8, 10, 12, 16}) {  // two packs and a number: costs, weights, squares
            alignas(pack_bytes) unsigned char block[1024];
            Arena arena(block);
            Hedge hedge(arena, 3);
            hedge.reset();
            CHECK(hedge.valid());
            if (n == 3 && bad > 1e300) continue;  // what such a lane costs
            std::memcpy(block + n * sizeof bad, &bad, sizeof bad);
            CHECK(!hedge.valid());
        }
}

TEST(hedge_linearised_cost) {
    // The best expert pays nothing: the one of least score if scores should fall, else the one of most.
    CHECK_EQUAL(Hedge::linearised_cost(0.5, 3.0, 1.0, 4.0), 1);
    CHECK_EQUAL(Hedge::linearised_cost(-0.5, 3.0, 1.0, 4.0), 0.5);
    CHECK_EQUAL(Hedge::linearised_cost(0.5, 1.0, 1.0, 4.0), 0);
    CHECK_EQUAL(Hedge::linearised_cost(-0.5, 4.0, 1.0, 4.0), 0);
}
