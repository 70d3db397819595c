// PocketClassifier and PocketRegressor as WebAssembly: what pocketkernel.js calls. Numbers and addresses only.
//
// An instance of the module holds one learner, in memory that JavaScript lays out behind `__heap_base`. There is no C
// library behind it and it imports nothing.
#include "pocketkernel/learners/pocket_classifier.hpp"
#include "pocketkernel/learners/pocket_regressor.hpp"

using namespace pocketkernel;

namespace {

using Classifier = PocketClassifier<float>;
using Regressor = PocketRegressor<float>;

// What is to be built; JavaScript fills it in.
struct Request {
    bool regression;
    Config config;
    KernelSpec kernels[max_kernels];
} request;

// f(learner), as the class that it is of. A null pointer will do where only the class matters.
template <class F>
auto with(void* learner, F&& f) {
    return request.regression ? f(static_cast<Regressor*>(learner)) : f(static_cast<Classifier*>(learner));
}
template <class F>
auto with(const void* learner, F&& f) {
    return request.regression ? f(static_cast<const Regressor*>(learner)) : f(static_cast<const Classifier*>(learner));
}
template <class Pointer>
using LearnerAt = std::remove_const_t<std::remove_pointer_t<Pointer>>;

const Config& config_now() {
    request.config.kernels = request.kernels;
    return request.config;
}
Size size_now() {
    const void* none = nullptr;
    return with(none, [](auto* learner) { return size_of<LearnerAt<decltype(learner)>>(config_now()); });
}

}  // namespace

// What compilers call by themselves.
extern "C" {
__attribute__((no_builtin("memcpy"))) void* memcpy(void* to, const void* from, std::size_t n) {
    auto* a = static_cast<unsigned char*>(to);
    const auto* b = static_cast<const unsigned char*>(from);
    while (n-- > 0) *a++ = *b++;
    return to;
}
__attribute__((no_builtin("memset"))) void* memset(void* to, int value, std::size_t n) {
    auto* a = static_cast<unsigned char*>(to);
    while (n-- > 0) *a++ = static_cast<unsigned char>(value);
    return to;
}
}

#define EXPORTED(name) extern "C" __attribute__((export_name(#name)))

EXPORTED(configure)
void configure(int regression, std::size_t features, std::size_t classes, std::size_t budget, std::uint32_t loss,
               std::uint32_t removal, std::uint32_t storage, std::uint32_t seed_low, std::uint32_t seed_high) {
    request.regression = regression != 0;
    request.config = Config();
    request.config.features = features;
    request.config.classes = classes;
    request.config.budget = budget;
    request.config.loss = Loss(loss);
    request.config.removal = Removal(removal);
    request.config.storage = Storage(storage);
    request.config.seed = std::uint64_t(seed_high) << 32 | seed_low;
}
// The parameters are numbered in the order of `for_each_parameter`.
EXPORTED(set_parameter) void set_parameter(std::size_t number, double value) {
    for_each_parameter(request.config, [&](const char*, auto& field) {
        if (number-- == 0) field = static_cast<std::decay_t<decltype(field)>>(value);
    });
}
EXPORTED(add_kernel) void add_kernel(std::uint32_t family, double parameter, std::uint32_t order) {
    if (request.config.kernel_count < max_kernels)
        request.kernels[request.config.kernel_count++] = KernelSpec(Family(family), parameter, order);
}
EXPORTED(check) int check() {
    const void* none = nullptr;
    return with(none,
                [](auto* learner) { return static_cast<int>(LearnerAt<decltype(learner)>::check(config_now())); });
}
EXPORTED(bytes_needed) std::size_t bytes_needed() { return size_now().bytes; }
EXPORTED(state_bytes_needed) std::size_t state_bytes_needed() { return size_now().state_bytes; }

// `check` and `bytes_needed` come before.
EXPORTED(make_learner) void* make_learner(void* block, std::size_t bytes) {
    void* none = nullptr;
    return with(none, [&](auto* learner) -> void* {
        return make(config_now(), block, bytes, learner) == Status::ok ? learner : nullptr;
    });
}

// Whether rows, one after another, can be learned or scored.
EXPORTED(check_rows) int check_rows(const void* model, const double* rows, std::size_t count) {
    return with(model, [&](auto* learner) {
        std::size_t fault = 0;
        const double limit = learner->largest_value(learner->config().storage);
        return static_cast<int>(check_values<true>(rows, count * learner->config().features, limit, fault));
    });
}
// Whether a number can be a target.
EXPORTED(check_target) int check_target(double target) {
    return static_cast<int>(absolute(target) <= TargetScale::value_limit ? Status::ok : Status::target_out_of_range);
}
// `count` scores for each row, one per class or target, from before learning. `check_rows` comes before; labels are
// classes (int32) of a classifier, and targets (double) that `check_target` has accepted of a regressor.
EXPORTED(learn) void learn(void* model, const double* rows, const void* labels, std::size_t count, double* scores) {
    with(model, [&](auto* learner) {
        const std::size_t d = learner->config().features, C = learner->config().classes;
        for (std::size_t n = 0; n < count; ++n) {
            const Row<double> row{rows + n * d};
            if constexpr (LearnerAt<decltype(learner)>::task == Task::regression)
                learner->learn(row, static_cast<const double*>(labels) + n * C, 1.0, scores + n * C);
            else
                learner->learn(row, static_cast<std::size_t>(static_cast<const std::int32_t*>(labels)[n]), 1.0,
                               scores + n * C);
        }
    });
}
EXPORTED(score) void score(void* model, const double* rows, std::size_t count, double* scores) {
    with(model, [&](auto* learner) {
        const std::size_t d = learner->config().features, C = learner->config().classes;
        for (std::size_t n = 0; n < count; ++n)
            learner->score(Row<double>{rows + n * d}, learner->workspace(), scores + n * C);
    });
}
// Of a regressor: how far the interval of this coverage goes below and above the answer for each target.
EXPORTED(margins) void margins(const Regressor* learner, double coverage, double* out) {
    for (std::size_t r = 0; r < learner->config().classes; ++r) {
        *out++ = learner->margin_below(r, coverage);
        *out++ = learner->margin_above(r, coverage);
    }
}

EXPORTED(save_state) void save_state(const void* model, unsigned char* to) {
    with(model, [&](auto* learner) { save(*learner, to); });
}
EXPORTED(load_state) int load_state(void* model, const unsigned char* from, std::size_t size) {
    return with(model, [&](auto* learner) { return static_cast<int>(load(*learner, from, size)); });
}

// rounds, mistakes, loss; then the weight of each expert.
EXPORTED(report) void report(const void* model, double* out) {
    with(model, [&](auto* learner) {
        const Tally& tally = learner->tally();
        *out++ = static_cast<double>(tally.rounds);
        *out++ = static_cast<double>(tally.mistakes);
        *out++ = tally.loss;
        for (std::size_t i = 0; i < learner->config().kernel_count; ++i) *out++ = learner->report(i).weight;
    });
}

EXPORTED(status_subject) const char* status_subject(int status) { return describe(Status(status)).subject; }
EXPORTED(status_sentence) const char* status_sentence(int status) { return describe(Status(status)).sentence; }
