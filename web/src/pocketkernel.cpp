// PocketClassifier as WebAssembly: what pocketkernel.js calls. Numbers and addresses only.
//
// An instance of the module holds one learner, in memory that JavaScript lays out behind `__heap_base`. There is no C
// library behind it and it imports nothing.
#include "pocketkernel/learners/pocket_classifier.hpp"

using namespace pocketkernel;

namespace {

using Model = PocketClassifier<float>;

// What is to be built; JavaScript fills it in.
struct Request {
    Config config;
    KernelSpec kernels[max_kernels];
} request;

Size size_now() {
    request.config.kernels = request.kernels;
    return size_of<Model>(request.config);
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
void configure(std::size_t features, std::size_t classes, std::size_t budget, std::uint32_t loss, std::uint32_t removal,
               std::uint32_t storage, std::uint32_t seed_low, std::uint32_t seed_high) {
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
    request.config.kernels = request.kernels;
    return static_cast<int>(Model::check(request.config));
}
EXPORTED(bytes_needed) std::size_t bytes_needed() { return size_now().bytes; }
EXPORTED(state_bytes_needed) std::size_t state_bytes_needed() { return size_now().state_bytes; }

// `check` and `bytes_needed` come before.
EXPORTED(make_learner) Model* make_learner(void* block, std::size_t bytes) {
    Model* learner = nullptr;
    request.config.kernels = request.kernels;
    return make(request.config, block, bytes, learner) == Status::ok ? learner : nullptr;
}

// Whether rows, one after another, can be learned or scored.
EXPORTED(check_rows) int check_rows(const Model* learner, const double* rows, std::size_t count) {
    std::size_t fault = 0;
    const double limit = Model::largest_value(learner->config().storage);
    return static_cast<int>(check_values<true>(rows, count * learner->config().features, limit, fault));
}
// `count` scores for each row, one per class, from before learning. `check_rows` comes before, and labels are classes.
EXPORTED(learn)
void learn(Model* learner, const double* rows, const std::int32_t* labels, std::size_t count, double* scores) {
    const std::size_t d = learner->config().features, C = learner->config().classes;
    for (std::size_t n = 0; n < count; ++n)
        learner->learn(Row<double>{rows + n * d}, static_cast<std::size_t>(labels[n]), 1.0, scores + n * C);
}
EXPORTED(score) void score(Model* learner, const double* rows, std::size_t count, double* scores) {
    const std::size_t d = learner->config().features, C = learner->config().classes;
    for (std::size_t n = 0; n < count; ++n)
        learner->score(Row<double>{rows + n * d}, learner->workspace(), scores + n * C);
}

EXPORTED(save_state) void save_state(const Model* learner, unsigned char* to) { save(*learner, to); }
EXPORTED(load_state) int load_state(Model* learner, const unsigned char* from, std::size_t size) {
    return static_cast<int>(load(*learner, from, size));
}

// rounds, mistakes, loss; then the weight of each expert.
EXPORTED(report) void report(const Model* learner, double* out) {
    const Tally& tally = learner->tally();
    *out++ = static_cast<double>(tally.rounds);
    *out++ = static_cast<double>(tally.mistakes);
    *out++ = tally.loss;
    for (std::size_t i = 0; i < learner->config().kernel_count; ++i) *out++ = learner->report(i).weight;
}

EXPORTED(status_subject) const char* status_subject(int status) { return describe(Status(status)).subject; }
EXPORTED(status_sentence) const char* status_sentence(int status) { return describe(Status(status)).sentence; }
