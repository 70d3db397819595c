// Microseconds per row of a PocketClassifier, for versions.py, which compiles it with the core of each version.
//
//   versions FILE MEMORY ROWS TURNS [BUDGET FAMILY:PARAMETER:ORDER ...]
//
// FILE has the numbers of rows, columns, classes and values, then starts, columns, values and labels: rows as CSR, or
// dense if there are as many values as places. Learns ROWS rows, then as many again, which are measured, several times
// from the same state; prints the least. Without a budget: the linear expert, and as many widths and frequencies as
// there is room for, as that version chose them.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "pocketkernel/learners/pocket_classifier.hpp"

using namespace pocketkernel;
using Model = PocketClassifier<float>;

template <class T>
std::vector<T> read(std::FILE* file, std::size_t count) {
    std::vector<T> values(count);
    if (std::fread(values.data(), sizeof(T), count, file) != count) std::exit(2);
    return values;
}

Family family_named(const std::string& name) {
    for (std::size_t n = 0; n < sizeof family_names / sizeof *family_names; ++n)
        if (name == family_names[n]) return Family(n);
    std::exit(3);
}

double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

int main(int count, char** arguments) {
    std::FILE* file = std::fopen(arguments[1], "rb");
    if (!file) return 2;
    const auto shape = read<std::int64_t>(file, 4);
    const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
    const auto starts = read<std::int64_t>(file, rows + 1);
    const auto places = read<std::int32_t>(file, static_cast<std::size_t>(shape[3]));
    const auto values = read<float>(file, static_cast<std::size_t>(shape[3]));
    const auto labels = read<std::int32_t>(file, rows);
    const std::size_t memory = std::stoul(arguments[2]), measured = std::stoul(arguments[3]);
    std::vector<KernelSpec> kernels;
    Config config;
    config.features = columns;
    config.classes = static_cast<std::size_t>(shape[2]);
    config.seed = 1;
    for (int n = 6; n < count; ++n) {
        const std::string spec = arguments[n];
        const std::size_t one = spec.find(':'), two = spec.rfind(':');
        kernels.emplace_back(family_named(spec.substr(0, one)), std::stod(spec.substr(one + 1, two - one - 1)),
                             static_cast<std::uint32_t>(std::stoul(spec.substr(two + 1))));
    }
    const auto fits = [&](std::size_t budget) {
        config.kernels = kernels.data();
        config.kernel_count = kernels.size();
        config.budget = budget;
        return size_of<Model>(config).bytes <= memory;
    };
    if (count > 5) {
        if (!fits(std::stoul(arguments[5]))) return 5;
    } else {
        constexpr double widths[] = {4.0, 2.0, 1.0, 0.5, 0.25, 0.125};
        constexpr std::size_t rooms[][3] = {{512, 0, 6}, {256, 1, 5}, {128, 1, 4}, {32, 2, 4}};  // frequencies, widths
        std::size_t most = 0, too_many = memory;
        for (const auto& room : rooms) {
            kernels.assign(1, KernelSpec(Family::linear, 1.0));
            for (std::size_t n = room[1]; n < room[2]; ++n) kernels.emplace_back(Family::gaussian, widths[n]);
            if (fits(most = room[0])) break;
        }
        while (most + 1 < too_many) {
            const std::size_t middle = (most + too_many) / 2;
            (fits(middle) ? most : too_many) = middle;
        }
        if (!fits(most)) return 5;
    }
    const std::size_t size = (size_of<Model>(config).bytes + 63) / 64 * 64;
    auto* block = static_cast<unsigned char*>(std::aligned_alloc(64, size));
    std::memset(block, 0, size);
    Model* model = nullptr;
    if (make<Model>(config, block, size, model) != Status::ok) return 4;
    std::vector<double> scores(config.classes);
    const auto learn = [&](std::size_t begin) {
        const double start = now();
        for (std::size_t n = begin; n < begin + measured; ++n) {
            const auto first = static_cast<std::size_t>(starts[n]), last = static_cast<std::size_t>(starts[n + 1]);
            Row<float> row;
            row.values = values.data() + first;
            if (values.size() < rows * columns) row.columns = places.data() + first, row.nonzeros = last - first;
            model->learn(row, static_cast<std::size_t>(labels[n]), 1.0, scores.data());
        }
        return (now() - start) / static_cast<double>(measured);
    };
    learn(0);
    const std::vector<unsigned char> state(block, block + size);
    double best = 1e300;
    for (int turn = std::stoi(arguments[4]); turn > 0; --turn) {
        std::memcpy(block, state.data(), size);
        best = std::min(best, learn(measured));
    }
    std::printf("%.4f\n", best);
}
