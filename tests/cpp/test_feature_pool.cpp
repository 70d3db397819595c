#include "pocketkernel/feature_pool.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

// A pool with its memory, and a z. Owners are 1 .. K - 2 of K experts.
template <class T, std::size_t d, std::size_t D, std::size_t R, std::size_t K>
struct Pooled {
    static constexpr std::size_t W = lanes_of<T>;

    alignas(pack_bytes) unsigned char block[1 << 17];
    alignas(pack_bytes) T z[padded<T>(d)] = {};
    Pack<T> partial[K * R];
    Arena arena{block};
    FeaturePool<T> pool;

    explicit Pooled(std::uint64_t seed, bool may_be_sparse = false) : pool(arena, D, d, R, may_be_sparse) {
        pool.plan(arena);
        CHECK(arena.used() <= sizeof block);
        Rng rng(seed);
        pool.draw(rng);
        pool.reset(K - 2);
    }

    static double inverse_width(std::size_t i) { return std::ldexp(0.25, static_cast<int>(i)); }

    // The sums of all functions for what is in z, or for a sparse row of which z is that.
    const Pack<T>* evaluate(Query<T> q = Query<T>(), bool keep_angles = true) {
        for (Pack<T>& sums : partial) sums = Pack<T>(T(0));
        q.dense = z;
        pool.evaluate(q, inverse_width, partial, keep_angles);
        return partial;
    }
    void draw(Rng& rng) {
        for (std::size_t k = 0; k < d; ++k) z[k] = static_cast<T>(2.0 * rng.uniform() - 1.0);
    }
    double angle(std::size_t j, std::size_t i) const {
        double product = 0.0;
        for (std::size_t k = 0; k < d; ++k) product += pool.frequency(j, k) * static_cast<double>(z[k]);
        return product * inverse_width(i);
    }
};

// The sums and steps of the header's formulas, with the C library's functions, beside the real ones. The owner of tile
// n is 1 + n mod owners, as nobody lends.
template <class T>
void follows_the_formula(double tolerance) {
    constexpr std::size_t d = 5, D = 75, R = 2, K = 5, owners = K - 2;
    static double theta[K][R][D + 2 * lanes_of<T>][2];
    std::memset(theta, 0, sizeof theta);
    Pooled<T, d, D, R, K> pooled(7);
    constexpr std::size_t W = lanes_of<T>;
    const std::size_t all = pooled.pool.tiles() * W;
    CHECK_EQUAL(pooled.pool.tiles(), packs_for<T>(D));
    Rng rng(8);
    for (int t = 0; t < 60; ++t) {
        pooled.draw(rng);
        const Pack<T>* sums = pooled.evaluate();
        double steps[K * R];
        for (double& step : steps) step = rng.uniform() - 0.5;
        double slopes[d] = {};  // of sum_ir (i - 2 + r) f_ir in the columns
        const auto weight = [](std::size_t i, std::size_t r) { return static_cast<double>(i + r) - 2.0; };
        for (std::size_t i = 0; i < K; ++i)
            for (std::size_t r = 0; r < R; ++r) {
                double f = 0.0;
                for (std::size_t j = 0; j < all; ++j) {
                    const std::size_t owner = 1 + j / W % owners;
                    if (i != owner && i != owner + 1) continue;
                    const double a = pooled.angle(j, i);  // half the width is twice the angle
                    double* on = theta[i][r][j];
                    f += on[0] * std::cos(a) + on[1] * std::sin(a);
                    const double slope = weight(i, r) * (on[1] * std::cos(a) - on[0] * std::sin(a));
                    for (std::size_t k = 0; k < d; ++k)
                        slopes[k] += slope * pooled.pool.frequency(j, k) * pooled.inverse_width(i);
                    on[0] -= steps[i * R + r] * std::cos(a);
                    on[1] -= steps[i * R + r] * std::sin(a);
                }
                CHECK_NEAR(sum(sums[i * R + r]), f, tolerance);
                CHECK(i > 0 || f == 0.0);
            }
        if (t % 2 == 0) {
            pooled.pool.step(steps);
        } else {  // the same, and slopes
            pooled.pool.step(steps, [&](std::size_t i) { return pooled.inverse_width(i); }, weight);
            T found[d], one[1];
            pooled.pool.template slopes<d>(0, found);
            for (std::size_t k = 0; k < d; ++k) {
                CHECK_NEAR(static_cast<double>(found[k]), slopes[k], 100.0 * tolerance);
                pooled.pool.template slopes<1>(k, one);
                CHECK_EQUAL(one[0], found[k]);
            }
        }
        for (std::size_t i = 0; i < K; ++i) {
            double squares = 0.0;
            for (std::size_t r = 0; r < R; ++r)
                for (std::size_t j = 0; j < all; ++j)
                    squares += theta[i][r][j][0] * theta[i][r][j][0] + theta[i][r][j][1] * theta[i][r][j][1];
            CHECK_NEAR(pooled.pool.norm2(i), squares, tolerance * 10.0 * (1.0 + squares));
        }
        CHECK(pooled.pool.valid(owners) && !pooled.pool.valid(owners - 1));
    }
}

template <class T>
void lends() {
    constexpr std::size_t d = 3, D = 7 * lanes_of<T>, K = 4;
    Pooled<T, d, D, 1, K> pooled(2);
    FeaturePool<T>& pool = pooled.pool;
    CHECK(pool.tiles() == 7 && pool.tiles_of(1) == 4 && pool.tiles_of(2) == 3);
    CHECK(pool.tiles_of(0) == 0 && pool.tiles_of(3) == 0);
    Rng rng(3);
    double steps[K] = {0.0, 0.1, -0.2, 0.3}, before[K], after[K];
    for (int t = 0; t < 20; ++t) {
        pooled.draw(rng);
        (void)pooled.evaluate();
        pool.step(steps);
    }
    const auto norms = [&](double* out) {
        for (std::size_t i = 0; i < K; ++i) out[i] = pool.norm2(i);
    };
    norms(before);
    const double frequency = pool.frequency(0, 1);
    pool.lend(1, 2);  // tile 0: experts 1 and 2 lose what they had learned on it, 3 has nothing to lose
    norms(after);
    CHECK(pool.tiles_of(1) == 3 && pool.tiles_of(2) == 4 && pool.tiles() == 7);
    CHECK(after[1] < before[1] && after[2] < before[2] && after[3] == before[3]);
    CHECK_EQUAL(pool.frequency(0, 1), frequency);
    // To and fro until 1 has none; what is lent back is empty.
    while (pool.tiles_of(1) > 0) pool.lend(1, 2);
    CHECK(pool.tiles_of(2) == 7 && pool.norm2(1) == 0.0);
    while (pool.tiles_of(2) > 0) pool.lend(2, 1);
    CHECK(pool.tiles_of(1) == 7 && pool.norm2(1) + pool.norm2(2) + pool.norm2(3) == 0.0);
    CHECK(pool.valid(2));
}

// A row by its nonzeros adds to what the frequencies see of a row of zeros, all of whose columns change now and then,
// and one of them in every row.
template <class T>
void sparse_as_dense(double tolerance) {
    constexpr std::size_t d = 70, D = 40, K = 3;
    Pooled<T, d, D, 1, K> pooled(5, true);
    Rng rng(6);
    double steps[K] = {0.0, 0.1, -0.1};
    T zero[d] = {};
    for (std::size_t t = 0; t < 100; ++t) {
        if (t % 10 == 3) {
            for (T& entry : zero) entry = static_cast<T>(rng.uniform() - 0.5);
            pooled.pool.refresh(zero);
        }
        const T change = static_cast<T>(rng.uniform() - 0.5);
        zero[t % d] += change;
        pooled.pool.refresh_column(t % d, change);
        T values[d];
        std::int32_t columns[d];
        Query<T> q;
        q.values = values;
        q.columns = columns;
        std::memcpy(pooled.z, zero, sizeof zero);
        for (std::size_t k = 0; k < d; ++k) {
            if (rng.uniform() > 0.2) continue;
            pooled.z[k] += values[q.nonzeros] = static_cast<T>(rng.uniform());
            columns[q.nonzeros++] = static_cast<std::int32_t>(k);
        }
        double dense[K];
        (void)pooled.evaluate(q, false);
        for (std::size_t i = 0; i < K; ++i) dense[i] = sum(pooled.partial[i]);
        q.sparse = true;
        (void)pooled.evaluate(q);
        for (std::size_t i = 0; i < K; ++i) CHECK_NEAR(sum(pooled.partial[i]), dense[i], tolerance);
        pooled.pool.step(steps);
    }
    CHECK(pooled.pool.valid(1));
}

// Waves are waves whatever the angle: one that is not a number, or too large to have a phase, counts as 0.
template <class T>
void bears_extremes() {
    constexpr std::size_t d = 2, D = lanes_of<T>, K = 3;
    Pooled<T, d, D, 1, K> pooled(5);
    const double infinity = std::numeric_limits<double>::infinity();
    double steps[K] = {0.0, 0.5, 0.5};
    for (double width : {0.0, 1e-30, 1e30, infinity})
        for (T value : {T(0), T(1), T(71), T(-71)}) {
            pooled.z[0] = value;
            pooled.z[1] = T(0);
            for (Pack<T>& sums : pooled.partial) sums = Pack<T>(T(0));
            Query<T> q;
            q.dense = pooled.z;
            pooled.pool.evaluate(q, [=](std::size_t) { return 1.0 / width; }, pooled.partial, true);
            pooled.pool.step(steps);
            for (std::size_t i = 0; i < K; ++i) CHECK(std::isfinite(sum(pooled.partial[i])));
        }
    CHECK(pooled.pool.valid(1));
    CHECK(pooled.pool.norm2(1) < 16.0 * 16.0 * 0.25 * D * 1.01);
}

// On a block that it shares, a pool computes what one with its own memory does; tiles come and go.
template <class T>
void works_on_a_shared_block(bool may_be_sparse) {
    constexpr std::size_t d = 5, R = 2, K = 5, W = lanes_of<T>, D = 6 * W;
    Pooled<T, d, D, R, K> own(7, may_be_sparse), shared(7, may_be_sparse);
    alignas(pack_bytes) static unsigned char block[9 * FeaturePool<T>::tile_bytes(d, R, true)];
    std::memset(block, 0, sizeof block);
    std::uint64_t in_use = 6;
    shared.pool = FeaturePool<T>(shared.arena, block, &in_use, 8, d, R, may_be_sparse);
    Rng rng(7), other(8);
    shared.pool.draw(rng);
    shared.pool.reset(K - 2);
    const auto same = [&] {
        own.draw(other);
        std::memcpy(shared.z, own.z, sizeof own.z);
        double steps[K * R];
        for (double& step : steps) step = other.uniform() - 0.5;
        own.evaluate();
        shared.evaluate();
        for (std::size_t n = R; n < K * R; ++n) CHECK_EQUAL(sum(own.partial[n]), sum(shared.partial[n]));
        // Owner by owner it is the same but for the order of the sums.
        double sums[K * R] = {};
        for (std::size_t i = 1; i <= K - 2; ++i) {
            Pack<T> part[2 * R];
            for (Pack<T>& one : part) one = Pack<T>(T(0));
            Query<T> q;
            q.dense = shared.z;
            shared.pool.evaluate(i, q, shared.inverse_width(i), part, true);
            for (std::size_t n = 0; n < 2 * R; ++n) sums[i * R + n] += sum(part[n]);
        }
        for (std::size_t n = R; n < K * R; ++n) CHECK_NEAR(sums[n], sum(shared.partial[n]), 1e-4);
        own.pool.step(steps);
        shared.pool.step(steps);
        for (std::size_t i = 1; i < K; ++i) CHECK_NEAR(own.pool.norm2(i), shared.pool.norm2(i), 1e-9);
    };
    for (int t = 0; t < 5 && !may_be_sparse; ++t) same();
    shared.pool.add(rng, 3);
    CHECK_EQUAL(in_use, 7u);
    CHECK_EQUAL(shared.pool.tiles_of(3), 3u);
    CHECK(shared.pool.valid(K - 2));
    const double frequency = shared.pool.frequency(6 * W + 1, 2), before = shared.pool.norm2(2);
    CHECK(frequency != 0.0 || shared.pool.frequency(6 * W, 2) != 0.0);
    shared.pool.drop(1);  // the fourth, whose place the last one takes
    CHECK_EQUAL(in_use, 6u);
    CHECK_EQUAL(shared.pool.tiles_of(1), 1u);
    CHECK_EQUAL(shared.pool.frequency(3 * W + 1, 2), frequency);
    CHECK(shared.pool.norm2(2) <= before);
    in_use = 9;
    CHECK(!shared.pool.valid(K - 2));
}

}  // namespace

TEST(feature_pool_follows_the_formula) {
    follows_the_formula<float>(2e-3);
    follows_the_formula<double>(1e-11);
}

TEST(feature_pool_lends) {
    lends<float>();
    lends<double>();
}

TEST(feature_pool_sparse_as_dense) {
    sparse_as_dense<float>(1e-3);
    sparse_as_dense<double>(1e-11);
}

TEST(feature_pool_bears_extremes) {
    bears_extremes<float>();
    bears_extremes<double>();
}

// Multiples of 1/32 within 127/32, close to normal.
TEST(feature_pool_frequencies) {
    constexpr std::size_t d = 20, D = 2000;
    static Pooled<double, d, D, 1, 3> pooled(9);
    double mean = 0.0, square = 0.0, fourth = 0.0;
    for (std::size_t j = 0; j < D; ++j)
        for (std::size_t k = 0; k < d; ++k) {
            const double w = pooled.pool.frequency(j, k);
            CHECK(32.0 * w == std::floor(32.0 * w) && std::fabs(w) <= 127.0 / 32.0);
            mean += w / double(D * d);
            square += w * w / double(D * d);
            fourth += w * w * w * w / double(D * d);
        }
    CHECK_NEAR(mean, 0.0, 0.02);
    CHECK_NEAR(square, 1.0, 0.03);
    CHECK_NEAR(fourth, 3.0, 0.2);
}

// 32 kernels, the most there are, have 30 owners; and a pool may have no tiles at all.
TEST(feature_pool_limits) {
    static Pooled<float, 2, 31 * 16, 1, 32> wide(1);
    CHECK_EQUAL(wide.pool.tiles_of(1), 2);
    for (std::size_t i = 2; i <= 30; ++i) CHECK_EQUAL(wide.pool.tiles_of(i), 1);
    wide.z[0] = 1.0f;
    double steps[32];
    for (double& step : steps) step = 0.1;
    (void)wide.evaluate();
    wide.pool.step(steps);
    (void)wide.evaluate();
    for (std::size_t i = 1; i < 32; ++i) CHECK(sum(wide.partial[i]) < -0.1);
    CHECK(wide.pool.valid(30));

    static Pooled<float, 70, 0, 3, 3> none(1, true);
    CHECK(none.pool.tiles() == 0 && none.pool.valid(1) && none.pool.norm2(1) == 0.0);
    none.pool.refresh(none.z);
    none.pool.step(steps);
    CHECK_EQUAL(sum(none.evaluate()[3]), 0);
}

TEST(feature_pool_impossible_states) {
    static Pooled<double, 3, 16, 1, 3> pooled(1, true);
    CHECK(pooled.pool.valid(1) && !pooled.pool.valid(0));
    pooled.pool.lend(1, 2);
    CHECK(!pooled.pool.valid(1) && pooled.pool.valid(2));
    pooled.pool.lend(2, 0);
    CHECK(!pooled.pool.valid(2));
    pooled.pool.lend(0, 1);
    const double infinite = HUGE_VAL, steps[] = {0.0, infinite, 0.0};
    (void)pooled.evaluate();
    pooled.pool.step(steps);
    CHECK(!pooled.pool.valid(1));
}

// The slopes that `slopes` tells, beside differences of what `evaluate` says; and a function that is scaled.
TEST(feature_pool_slopes_and_scale) {
    constexpr std::size_t d = 5, D = 40, R = 2, K = 5;
    Pooled<double, d, D, R, K> pooled(3);
    Rng rng(4);
    double steps[K * R], weights[K * R];
    for (int t = 0; t < 30; ++t) {
        for (double& step : steps) step = rng.uniform() - 0.5;
        pooled.draw(rng);
        (void)pooled.evaluate();
        pooled.pool.step(steps);
    }
    for (double& weight : weights) weight = rng.uniform() - 0.5;
    const auto total = [&] {
        const Pack<double>* sums = pooled.evaluate();
        double f = 0.0;
        for (std::size_t n = 0; n < K * R; ++n) f += weights[n] * sum(sums[n]);
        return f;
    };
    pooled.draw(rng);
    (void)total();
    double slopes[d];
    const double still[K * R] = {};
    pooled.pool.step(still, Pooled<double, d, D, R, K>::inverse_width,
                     [&](std::size_t i, std::size_t r) { return weights[i * R + r]; });
    pooled.pool.slopes(slopes);
    for (std::size_t k = 0; k < d; ++k) {
        const double at = pooled.z[k], h = 1e-6;
        pooled.z[k] = at + h;
        const double above = total();
        pooled.z[k] = at - h;
        const double below = total();
        pooled.z[k] = at;
        CHECK_NEAR(slopes[k], (above - below) / (2.0 * h), 1e-7);
        CHECK(std::fabs(slopes[k]) > 1e-3);
    }
    const Pack<double>* before = pooled.evaluate();
    double sums[K * R];
    for (std::size_t n = 0; n < K * R; ++n) sums[n] = sum(before[n]);
    pooled.pool.scale(1, -0.25);
    const Pack<double>* after = pooled.evaluate();
    for (std::size_t n = 0; n < K * R; ++n) CHECK_EQUAL(sum(after[n]), sums[n] * (n % R == 1 ? -0.25 : 1.0));
}
TEST(feature_pool_on_a_shared_block) {
    works_on_a_shared_block<float>(false);
    works_on_a_shared_block<float>(true);
    works_on_a_shared_block<double>(false);
}
