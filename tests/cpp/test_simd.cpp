#include "pocketkernel/simd.hpp"

#include "check.hpp"

using namespace pocketkernel;

namespace {

template <class T>
struct Lanes {
    alignas(pack_bytes) T at[lanes_of<T>];
};
template <class T>
Lanes<T> lanes(const Pack<T>& p) {
    Lanes<T> l;
    p.store(l.at);
    return l;
}
template <class T>
Pack<T> ramp(T first, T step) {
    T at[lanes_of<T>];
    for (std::size_t l = 0; l < lanes_of<T>; ++l) at[l] = first + step * static_cast<T>(l);
    return Pack<T>::load(at);
}

template <class T>
void arithmetic() {
    const Pack<T> a = ramp(T(-3), T(0.75)), b = ramp(T(1), T(0.5));
    const auto x = lanes(a), y = lanes(b);
    const auto sums = lanes(a + b), differences = lanes(a - b), products = lanes(a * b), ratios = lanes(a / b);
    const auto least = lanes(smaller(a, b)), most = lanes(larger(a, b)), sizes = lanes(absolute(a));
    const auto roots = lanes(square_root(b)), chosen = lanes(select(a < b, a, b)), alike = lanes(select(a == a, a, b));
    for (std::size_t l = 0; l < lanes_of<T>; ++l) {
        CHECK(sums.at[l] == x.at[l] + y.at[l]);
        CHECK(differences.at[l] == x.at[l] - y.at[l]);
        CHECK(products.at[l] == x.at[l] * y.at[l]);
        CHECK(ratios.at[l] == x.at[l] / y.at[l]);
        CHECK(least.at[l] == (x.at[l] < y.at[l] ? x.at[l] : y.at[l]));
        CHECK(most.at[l] == (x.at[l] > y.at[l] ? x.at[l] : y.at[l]));
        CHECK(chosen.at[l] == least.at[l]);
        CHECK(alike.at[l] == x.at[l]);
        CHECK(sizes.at[l] == std::fabs(x.at[l]));
        CHECK(roots.at[l] == std::sqrt(y.at[l]));
    }
}

// Where lanes are equal or unordered, both answer the second: signs of zeros and NaNs are part of the bits.
template <class T>
void ties() {
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    const T pairs[][2] = {{T(0), -T(0)}, {-T(0), T(0)}, {nan, T(1)}, {T(1), nan}, {inf, inf}, {-inf, nan}};
    for (const auto& pair : pairs) {
        const auto same = [](T a, T b) { return bit_cast<Bits<T>>(a) == bit_cast<Bits<T>>(b); };
        CHECK(same(smaller(pair[0], pair[1]), pair[1]));
        CHECK(same(larger(pair[0], pair[1]), pair[1]));
        T first[lanes_of<T>], second[lanes_of<T>];
        for (std::size_t l = 0; l < lanes_of<T>; ++l) first[l] = pair[0], second[l] = pair[1];
        const auto least = lanes(smaller(Pack<T>::load(first), Pack<T>::load(second)));
        const auto most = lanes(larger(Pack<T>::load(first), Pack<T>::load(second)));
        for (std::size_t l = 0; l < lanes_of<T>; ++l) {
            CHECK(same(least.at[l], pair[1]));
            CHECK(same(most.at[l], pair[1]));
        }
    }
}

// The upper half is added to the lower, until one is left; in double precision.
template <class T>
double folded(const Pack<T>& p) {
    double at[lanes_of<T>];
    const auto x = lanes(p);
    for (std::size_t l = 0; l < lanes_of<T>; ++l) at[l] = static_cast<double>(x.at[l]);
    for (std::size_t n = lanes_of<T> / 2; n > 0; n /= 2)
        for (std::size_t l = 0; l < n; ++l) at[l] += at[l + n];
    return at[0];
}

template <class T>
void sums() {
    const Pack<T> p = ramp(T(0.1), T(1) / T(3)) * ramp(T(-1e3), T(777.7));
    CHECK_EQUAL(sum(p), folded(p));
    CHECK_EQUAL(sum(Pack<T>(T(1))), lanes_of<T>);
    for (std::size_t l = 0; l < lanes_of<T>; ++l) {
        auto x = lanes(Pack<T>(T(5)));
        x.at[l] = T(-2);
        CHECK_EQUAL(smallest_lane(Pack<T>::load(x.at)), -2);
        CHECK_EQUAL(sum(Pack<T>::load(x.at)), 5.0 * (static_cast<double>(lanes_of<T>) - 1.0) - 2.0);
    }
}

// Every byte in every lane, from any address.
template <class T>
void bytes() {
    constexpr std::size_t W = lanes_of<T>;
    std::int8_t from[256 + W];
    for (int n = 0; n < static_cast<int>(256 + W); ++n) from[n] = static_cast<std::int8_t>(n % 256 - 128);
    for (std::size_t first = 0; first <= 256; ++first) {
        const auto at = lanes(from_bytes<T>(from + first));
        for (std::size_t l = 0; l < W; ++l) CHECK(at.at[l] == static_cast<T>(from[first + l]));
    }
}

}  // namespace

TEST(simd_shape) {
    CHECK(sizeof(Pack<float>) == pack_bytes && sizeof(Pack<double>) == pack_bytes);
    CHECK(lanes_of<float> == 16 && lanes_of<double> == 8);
    CHECK(padded<float>(0) == 0 && padded<float>(1) == 16 && padded<float>(16) == 16 && padded<float>(17) == 32);
    CHECK(packs_for<double>(9) == 2);
}

TEST(simd_arithmetic) {
    arithmetic<float>();
    arithmetic<double>();
}

TEST(simd_ties) {
    ties<float>();
    ties<double>();
}

TEST(simd_sums) {
    sums<float>();
    sums<double>();
}

TEST(simd_bits) {
    const Pack<float> a = ramp(-1.5f, 0.25f);
    const auto back = lanes(bit_cast<Pack<float>>(bit_cast<Pack<std::uint32_t>>(a)));
    const auto doubled =
        lanes(bit_cast<Pack<float>>(bit_cast<Pack<std::uint32_t>>(a) + shift_left(Pack<std::uint32_t>(1), 23)));
    const auto x = lanes(a);
    for (std::size_t l = 0; l < lanes_of<float>; ++l) {
        CHECK(back.at[l] == x.at[l]);
        if (x.at[l] != 0.0f) CHECK(doubled.at[l] == 2.0f * x.at[l]);
    }
}

TEST(simd_wide) {
    const Pack<float> a = ramp(0.1f, 1e-3f);
    const auto x = lanes(a), back = lanes(narrow(widen(a)));
    const Wide<float> wide = widen(a);
    for (std::size_t l = 0; l < lanes_of<float>; ++l) {
        CHECK(back.at[l] == x.at[l]);
        CHECK(lanes(wide.p[l / lanes_of<double>]).at[l % lanes_of<double>] == static_cast<double>(x.at[l]));
    }
    double many[lanes_of<float>];
    for (std::size_t l = 0; l < lanes_of<float>; ++l) many[l] = 1.0 + 0x1p-30 * static_cast<double>(l);
    CHECK(lanes(narrow(Wide<float>::load(many))).at[0] == 1.0f);
    CHECK_EQUAL(sum(narrow(Wide<float>::zero())), 0);
}

TEST(simd_bytes) {
    bytes<float>();
    bytes<double>();
}
