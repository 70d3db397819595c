// The smallest test frame that will do: TEST makes a test, CHECK counts, main (main.cpp) prints the counts.
//
// No heap, no exceptions: the tests run under the same restrictions as the core.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

namespace check {

struct Test {
    const char* name;
    void (*run)();
    Test* next;
    static inline Test* first = nullptr;
    Test(const char* name_, void (*run_)()) : name(name_), run(run_), next(first) { first = this; }
};

inline int passed = 0, failed = 0;
inline const char* running = "";
inline std::uint64_t bits = 0;  // digest of everything that must be the same at every level; main prints it

inline bool count(bool good, const char* file, int line, const char* what) {
    ++(good ? passed : failed);
    if (!good) std::printf("%s:%d: %s: %s\n", file, line, running, what);
    return good;
}
inline void near(double a, double b, double tolerance, const char* file, int line, const char* what) {
    if (!count(std::fabs(a - b) <= tolerance, file, line, what))
        std::printf("    %.17g against %.17g, off by %.3g\n", a, b, a - b);
}
inline void equal(double a, double b, const char* file, int line, const char* what) {
    if (!count(a == b, file, line, what)) std::printf("    %.17g against %.17g\n", a, b);
}

}  // namespace check

#define TEST(name) \
    static void name(); \
    static check::Test name##_test(#name, name); \
    static void name()
#define CHECK(condition) check::count(condition, __FILE__, __LINE__, #condition)
#define CHECK_NEAR(a, b, tolerance) check::near(a, b, tolerance, __FILE__, __LINE__, #a " near " #b)
#define CHECK_EQUAL(a, b) check::equal(static_cast<double>(a), static_cast<double>(b), __FILE__, __LINE__, #a " == " #b)
