// Accuracy is measured against mpmath in test_math.py; here: packs and numbers agree, limits, and rough values.
#include "pocketkernel/math.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

template <class T, class F>
void same_as_number(F&& f) {
    T in[lanes_of<T>], out[lanes_of<T>];
    for (int n = -200; n < 200; ++n) {
        for (std::size_t l = 0; l < lanes_of<T>; ++l) in[l] = static_cast<T>(0.37 * n + 0.011 * static_cast<double>(l));
        f(Pack<T>::load(in)).store(out);
        bool same = true;
        for (std::size_t l = 0; l < lanes_of<T>; ++l) same &= bit_cast<Bits<T>>(out[l]) == bit_cast<Bits<T>>(f(in[l]));
        CHECK(same);
    }
}

// Of many numbers at once: each as if it were alone.
void many_as_one_by_one() {
    for (std::size_t n = 1; n <= 40; ++n) {
        double x[40] = {}, out[41], most = -9.0, lowest = 9.0;
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = 8.0 * std::sin(static_cast<double>(7 * i + n * n));
            most = x[i] > most ? x[i] : most;
            lowest = x[i] < lowest ? x[i] : lowest;
        }
        CHECK_EQUAL(greatest(x, n), most);
        CHECK_EQUAL(least(x, n), lowest);
        const std::size_t place = place_of_greatest(x, n);
        CHECK_EQUAL(x[place], most);
        x[(place + 11) % n] = most;  // of equal ones the first
        CHECK_EQUAL(place_of_greatest(x, n), smaller(place, (place + 11) % n));
        out[n] = 0.25;
        exponentials(x, most, out, n);
        for (std::size_t i = 0; i < n; ++i) CHECK_EQUAL(out[i], exponential(x[i] - most));
        CHECK_EQUAL(out[n], 0.25);
    }
}

template <class V>
V cosine_of(const V& x) {
    V c, s;
    cosine_sine(x, c, s);
    return c;
}
template <class V>
V sine_of(const V& x) {
    V c, s;
    cosine_sine(x, c, s);
    return s;
}

template <class T>
void packs_agree_with_numbers() {
    same_as_number<T>([](const auto& x) { return exponential(x); });
    same_as_number<T>([](const auto& x) { return exponential_complement(absolute(x)); });
    same_as_number<T>([](const auto& x) { return cosine_of(x); });
    same_as_number<T>([](const auto& x) { return sine_of(x); });
    same_as_number<T>([](const auto& x) { return integer_power(x, 5); });
}

template <class T>
void limits() {
    const T inf = std::numeric_limits<T>::infinity(), low = MathConstants<T>::exp_low;
    CHECK(exponential(T(0)) == T(1));
    CHECK(exponential(-inf) == T(0));
    CHECK(exponential(low) > T(0));
    CHECK(exponential(std::nextafter(low, -inf)) == T(0));
    CHECK(exponential_complement(T(0)) == T(0));
    CHECK(exponential_complement(inf) == T(1));
    CHECK(cosine_of(T(0)) == T(1) && sine_of(T(0)) == T(0));
    CHECK(cosine_of(inf) == T(1) && sine_of(-inf) == T(0));
    CHECK(cosine_of(MathConstants<T>::angle_limit * T(2)) == T(1));
}

}  // namespace

TEST(math_packs) {
    packs_agree_with_numbers<float>();
    packs_agree_with_numbers<double>();
    many_as_one_by_one();
}

TEST(math_limits) {
    limits<float>();
    limits<double>();
    CHECK_EQUAL(logarithm(1.0), 0);
    CHECK_EQUAL(log_one_plus(0.0), 0);
}

TEST(math_values) {
    for (int n = -100; n <= 100; ++n) {
        const double x = 0.13 * n, m = std::fabs(x);
        CHECK_NEAR(exponential(x) / std::exp(x), 1.0, 1e-15);
        CHECK_NEAR(exponential_complement(m), -std::expm1(-m), 1e-15 * m);
        CHECK_NEAR(cosine_of(x), std::cos(x), 1e-15);
        CHECK_NEAR(sine_of(x), std::sin(x), 1e-15);
        CHECK_NEAR(static_cast<double>(exponential(static_cast<float>(x))) /
                       std::exp(static_cast<double>(static_cast<float>(x))),
                   1.0, 3e-7);
        const double e = m / 13.0;
        CHECK_NEAR(log_one_plus(e), std::log1p(e), 1e-15 * e);
        if (n != 0) CHECK_NEAR(logarithm(m), std::log(m), 1e-15 * (1.0 + std::fabs(std::log(m))));
    }
    CHECK_NEAR(logarithm(1e-300), std::log(1e-300), 1e-12);
    CHECK_NEAR(logarithm(1e300), std::log(1e300), 1e-12);
}

TEST(math_powers) {
    for (unsigned n = 1; n <= 64; ++n) {
        double product = 1.0;
        for (unsigned i = 0; i < n; ++i) product *= 1.5;  // exact up to 64 powers of 3
        CHECK_NEAR(integer_power(1.5, n) / product, 1.0, 1e-14);
        CHECK_EQUAL(integer_power(-1.0, n), n % 2 ? -1 : 1);
        CHECK_EQUAL(integer_power(0.0, n), 0);
    }
}

TEST(math_polynomial) {
    const double two[] = {3.0, 2.0}, five[] = {1.0, -1.0, 2.0, 0.5, 4.0};
    CHECK_EQUAL(polynomial(2.0, two), 7);
    CHECK_EQUAL(polynomial(2.0, five), 1 - 2 + 8 + 4 + 64);
}
