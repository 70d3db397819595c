#include "any_learner.hpp"

using namespace pocketkernel;
using binding::Lessons;
using binding::Rows;
using binding::Table;

thread_local binding::Watch* binding::Watch::current = nullptr;  // nobody interrupts

namespace {

const Table& table_of(const Which& which) { return which.doubles ? binding::base_double() : binding::base_float(); }

struct Sizes {
    bool known;
    Status status = Status::ok;
    std::size_t bytes = 0, state_bytes = 0;
};
Sizes sizes_of(const Which& which, const Config& config) {
    Sizes sizes{};
    sizes.known = table_of(which).size(which.name, config, false, sizes.bytes, sizes.state_bytes, sizes.status);
    return sizes;
}

unsigned char states[2][1 << 17];

}  // namespace

Status AnyLearner::make(const Which& which, const Config& config, void* block, std::size_t size) {
    Status status = Status::ok;
    (void)table_of(which).make(which.name, config, false, block, size, engine_, status);
    config_ = config;
    return status;
}

Rows AnyLearner::as_rows(const Row& row) {
    Rows rows;
    rows.values = row.values;
    rows.doubles = true;
    rows.count = 1;
    rows.features = config_.features;
    if (!row.columns) return rows;
    rows.columns = row.columns;
    rows.starts = starts_;
    rows.stored = row.nonzeros;
    starts_[1] = static_cast<std::int64_t>(row.nonzeros);
    return rows;
}

double AnyLearner::learn(const Row& row, double y, const double* weight) {
    const double targets[3] = {y, 3.0 - 1e3 * y, y * y};
    const std::int32_t label = y < 0.0 ? 0 : static_cast<std::int32_t>(y);
    engine_->learn(as_rows(row), Lessons{&label, targets, weight}, scores_);
    return answer();
}

double AnyLearner::score_on(void* scratch, const Row& row) {
    engine_->score(as_rows(row), scores_, scratch);
    return answer();
}

double AnyLearner::answer() const {
    return engine_->is_regressor() || engine_->outputs() == 1 ? scores_[0] : scores_[1] - scores_[0];
}

double AnyLearner::label() const {
    if (engine_->is_regressor() || engine_->outputs() == 1) return scores_[0] >= 0.0 ? 1.0 : -1.0;
    if (engine_->outputs() == 2) return scores_[1] >= scores_[0] ? 1.0 : -1.0;
    if (scores_[0] >= scores_[1] && scores_[0] >= scores_[2]) return -1.0;
    return scores_[1] >= scores_[2] ? 1.0 : 2.0;
}

bool known(const char* name) {
    return sizes_of({name, false}, Config()).known && sizes_of({name, true}, Config()).known;
}

Status check_config(const Which& which, const Config& config) { return sizes_of(which, config).status; }

std::size_t bytes_of(const Which& which, const Config& config) { return sizes_of(which, config).bytes; }

std::size_t state_bytes_of(const Which& which, const Config& config) { return sizes_of(which, config).state_bytes; }

bool same_state(const AnyLearner& one, const AnyLearner& other) {
    const std::size_t size = one.state_bytes();
    if (!CHECK(size <= sizeof states[0]) || size != other.state_bytes()) return false;
    one.save(states[0]);
    other.save(states[1]);
    return std::memcmp(states[0], states[1], size) == 0;
}
