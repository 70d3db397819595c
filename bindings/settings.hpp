// Settings: a Config from names and numbers; and the lists of names that the core has.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>
#if defined(POCKETKERNEL_WITH_AVX2)
#include <cpuid.h>
#endif

#include "engine.hpp"
#include "pocketkernel/kernels/list.hpp"
#include "pocketkernel/losses/list.hpp"

namespace nb = nanobind;
namespace pk = pocketkernel;

namespace pocketkernel::binding {
namespace {

#if defined(POCKETKERNEL_WITH_AVX2)
// The processor has AVX2, and the system keeps its registers (XCR0). As __builtin_cpu_supports, for which Zig, the
// compiler of the wheels, has no library.
bool has_avx2() {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    unsigned kept, unused;
    __asm__("xgetbv" : "=a"(kept), "=d"(unused) : "c"(0));
    return (kept & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}
#endif

std::vector<std::string> levels() {
    std::vector<std::string> names{"base"};
#if defined(POCKETKERNEL_WITH_AVX2)
    if (has_avx2()) names.push_back("avx2");
#endif
    return names;
}

// The level of this name, or the best one if the name is empty.
const Table& table_of(const std::string& level, bool doubles) {
    const std::vector<std::string> known = levels();
    const std::string name = level.empty() ? known.back() : level;
    for (const std::string& k : known) {
        if (k != name) continue;
#if defined(POCKETKERNEL_WITH_AVX2)
        if (k == "avx2") return doubles ? avx2_double() : avx2_float();
#endif
        return doubles ? base_double() : base_float();
    }
    std::string text = "level '" + name + "' is not available on this machine; choose from:";
    for (const std::string& k : known) text += " " + k;
    throw nb::value_error(text.c_str());
}

// The position of a name in a list of the core.
template <std::size_t N>
std::uint32_t place_of(const char* what, const std::string& name, const char* const (&names)[N]) {
    for (std::uint32_t place = 0; place < N; ++place)
        if (name == names[place]) return place;
    throw nb::value_error((std::string(what) + " '" + name + "' is unknown").c_str());
}
pk::Loss loss_of(const std::string& name) { return pk::Loss(place_of("loss", name, pk::loss_names)); }

template <std::size_t N>
std::vector<std::string> listed(const char* const (&names)[N]) {
    return {names, names + N};
}

// Settings: a Config that owns its kernels.
struct Settings {
    pk::Config config;
    std::vector<pk::KernelSpec> kernels;

    pk::Config get() const {
        pk::Config c = config;
        c.kernel_count = kernels.size();
        c.kernels = kernels.data();
        return c;
    }
    void add_kernel(const std::string& family, double parameter, std::uint32_t order) {
        kernels.emplace_back(pk::Family(place_of("kernel family", family, pk::family_names)), parameter, order);
    }
    void set_name(const std::string& field, const std::string& name) {
        if (field == "loss")
            config.loss = loss_of(name);
        else if (field == "removal")
            config.removal = pk::Removal(place_of("removal", name, pk::removal_names));
        else if (field == "storage")
            config.storage = pk::Storage(place_of("storage", name, pk::storage_names));
        else
            throw nb::value_error(("setting '" + field + "' is unknown").c_str());
    }
    void set_number(const std::string& name, nb::handle value) {
        bool found = false;
        const auto assign = [&](const char* known, auto& field) {
            if (name != known) return;
            field = nb::cast<std::decay_t<decltype(field)>>(value);
            found = true;
        };
        assign("seed", config.seed);
        pk::for_each_size(config, assign);
        pk::for_each_parameter(config, assign);
        if (!found) throw nb::value_error(("setting '" + name + "' is unknown").c_str());
    }
};

std::vector<std::string> learners() {
    std::vector<std::string> names;
    while (const char* name = base_float().learner(names.size())) names.emplace_back(name);
    return names;
}

// The parameters of all learners with their defaults.
nb::dict parameters() {
    nb::dict all;
    const pk::Config config;
    pk::for_each_parameter(config, [&](const char* name, const auto& value) { all[name] = value; });
    return all;
}

}  // namespace
}  // namespace pocketkernel::binding
