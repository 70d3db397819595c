#include "pocketkernel/hypothesis.hpp"

#include "check.hpp"

using namespace pocketkernel;

TEST(hypothesis_projects_onto_the_ball) {
    Hypothesis f{1.0, 9.0};
    CHECK_EQUAL(f.project(3.0), 1);  // on the rim already
    CHECK_EQUAL(f.project(1.5), 0.5);
    CHECK_EQUAL(f.scale, 0.5);
    CHECK_EQUAL(f.norm2, 2.25);
    CHECK(f.valid(1.5) && !f.valid(1.4) && !f.wants_folding());
    for (int n = 0; n < 20; ++n) {
        f.norm2 = 4.0 * 2.25;  // a step doubled the norm
        f.project(1.5);
    }
    CHECK(f.wants_folding() && f.scale > 0.0);
    CHECK((Hypothesis{1.0, 0.0}.valid(2.0)));
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const Hypothesis impossible[] = {{0.0, 1.0}, {1.5, 1.0}, {nan, 1.0}, {1.0, -1.0},
                                     {1.0, nan}, {1.0, inf}, {1.0, 4.1}};
    for (const Hypothesis& f_bad : impossible) CHECK(!f_bad.valid(2.0));
}

namespace {

template <class T>
void coefficients() {
    alignas(pack_bytes) unsigned char block[4096];
    Arena arena(block);
    constexpr std::size_t n = 21;
    Coefficients<T> a(arena, 2, n);
    CHECK(arena.used() == 2 * padded<T>(n) * sizeof(T));
    for (std::size_t j = 0; j < n; ++j) a.of(0)[j] = static_cast<T>(j), a.of(1)[j] = -static_cast<T>(j);

    a.erase(0, 3, 5, n);
    for (std::size_t j = 0; j < padded<T>(n); ++j) CHECK_EQUAL(a.of(0)[j], j < 3 ? j : j < n - 5 ? j + 5 : 0);
    CHECK_EQUAL(a.of(1)[20], -20);  // the other function is left alone
    a.erase(1, 0, n, n);
    for (std::size_t j = 0; j < n; ++j) CHECK_EQUAL(a.of(1)[j], 0);

    a.scale(0, 0.5);
    CHECK_EQUAL(a.of(0)[1], 0.5);
    CHECK_EQUAL(sum(a.pack(0, 0)), [&] {
        double total = 0.0;
        for (std::size_t l = 0; l < lanes_of<T>; ++l) total += static_cast<double>(a.of(0)[l]);
        return total;
    }());
    CHECK(a.finite());
    a.of(1)[n - 1] = std::numeric_limits<T>::quiet_NaN();
    CHECK(!a.finite());
    a.of(1)[n - 1] = -std::numeric_limits<T>::infinity();
    CHECK(!a.finite());
    a.of(1)[n - 1] = static_cast<T>(10.0 * coefficient_limit<T>());  // finite, but not a sum of such
    CHECK(!a.finite());
    a.of(1)[n - 1] = T(3);
    CHECK(a.finite(20.0) && !a.finite(2.0));
    a.clear(n);
    CHECK(a.finite());
    CHECK_EQUAL(a.of(0)[1], 0);
}

}  // namespace

TEST(hypothesis_coefficients) {
    coefficients<float>();
    coefficients<double>();
}
