#include "pocketkernel/experts/waves.hpp"

#include "frame.hpp"

using namespace pocketkernel;

namespace {

constexpr std::size_t d = 6, widths = 3, frequencies = 64;

// Scores and steps are those of a pool that is given the steps which the header says.
template <class T, std::size_t R>
void follow_the_formula() {
    frame::Frame<T> f(d, R, widths);
    FeaturePool<T> pool(f.arena, frequencies, d, R, false), twin(f.arena, frequencies, d, R, false);
    pool.plan(f.arena);
    twin.plan(f.arena);
    CHECK(f.arena.used() <= sizeof f.block);
    double numbers[widths * R] = {}, squares[widths * R] = {};
    experts::Waves<T> waves(pool, numbers);
    Rng first(3), same(3);
    waves.pool().draw(first);  // constants, which a reset leaves as they are
    twin.draw(same);
    waves.reset(f);
    twin.reset(widths - 1);
    for (std::size_t i = 0; i <= widths; ++i) {
        f.place(i).tiles = waves.pool().tiles_of(i);
        f.place(i).inverse_width = i > 0 ? static_cast<double>(i) : 0.0;
    }
    CHECK_EQUAL(waves.owners(f), widths - 1);
    waves.measure_steps(f);
    CHECK(waves.valid(f));
    typename experts::Waves<T>::Note note;
    Rng rng(8);
    for (int t = 0; t < 20; ++t) {
        double x[d], s[widths * R], expected[(widths + 1) * R], slopes[(widths + 1) * R], steps[(widths + 1) * R];
        for (double& value : x) value = rng.uniform();
        const Query<T> z = f.read(x);
        const double times = t % 4 == 0 ? 2.0 : 1.0;
        waves.evaluate(f, Seen<T>{z, f.work, true, false}, note, s);
        Pack<T> partial[(widths + 1) * R];
        for (auto& one : partial) one = Pack<T>(T(0));
        twin.evaluate(z, [&](std::size_t i) { return f.place(i).inverse_width; }, partial, true);
        for (std::size_t n = 0; n < (widths + 1) * R; ++n) expected[n] = sum(partial[n]);
        double whole[widths], square[widths];
        for (std::size_t n = 0; n < widths; ++n) {
            square[n] = 0.0;
            whole[n] = 2.0 + t;
            const double size = static_cast<double>(waves.frequencies(f, n)), root = std::sqrt(size);
            CHECK_EQUAL(size, static_cast<double>(waves.stored(f, n)));
            for (std::size_t r = 0; r < R; ++r) {
                CHECK_NEAR(s[n * R + r], expected[(n + 1) * R + r], sizeof(T) == 4 ? 1e-5 : 1e-12);
                const double g = (rng.uniform() - 0.5) * times;
                slopes[(n + 1) * R + r] = g;
                double& own = squares[n * R + r];
                const double all = 1.0 + static_cast<double>(R) * (own + g * g);
                own += g * g / times;
                const double rate = R == 1 ? numbers[n] : 2.0 * root / size;
                steps[(n + 1) * R + r] = g * rate / std::sqrt(R == 1 ? whole[n] : 0.5 * (whole[n] + all));
            }
        }
        waves.step(f, Seen<T>{z, f.work, true, false}, note, {slopes + R, times, square, whole});
        twin.step(steps);
    }
    for (std::size_t n = 0; n < widths; ++n)
        CHECK_NEAR(waves.norm2(f, n), twin.norm2(1 + n), (sizeof(T) == 4 ? 1e-4 : 1e-10) * twin.norm2(1 + n));
    CHECK(waves.valid(f));
    numbers[0] = std::nan("");
    CHECK(!waves.valid(f));
}

}  // namespace

TEST(waves_follow_the_formula) {
    follow_the_formula<float, 1>();
    follow_the_formula<double, 1>();
    follow_the_formula<float, 3>();
    follow_the_formula<double, 3>();
}

// Of two classes the rate is the distance that a width has come, within bounds.
TEST(waves_measure_their_steps) {
    frame::Frame<float> f(d, 1, widths);
    FeaturePool<float> pool(f.arena, frequencies, d, 1, false);
    pool.plan(f.arena);
    double numbers[widths] = {};
    experts::Waves<float> waves(pool, numbers);
    waves.reset(f);
    for (std::size_t i = 0; i <= widths; ++i) f.place(i).tiles = waves.pool().tiles_of(i);
    waves.measure_steps(f);
    for (std::size_t n = 0; n < widths; ++n)
        CHECK_NEAR(numbers[n], 0.5 / std::sqrt(static_cast<double>(waves.frequencies(f, n))), 1e-6);
    CHECK(experts::Waves<float>::partials(0, 1) == 0 && experts::Waves<float>::partials(3, 1) == 4 &&
          experts::Waves<float>::partials(3, 5) == 10);
}
