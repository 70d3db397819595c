#include "any_learner.hpp"

#include "pocketkernel/learners/list.hpp"

using namespace pocketkernel;

namespace {

template <class L>
class Wrapped final : public AnyLearner {
  public:
    explicit Wrapped(L* learner) : learner_(*learner) {}
    double learn(const Row& row, double y) override {
        if constexpr (L::multiclass)
            return learn(row, y, 1.0);
        else
            return scores_[0] = learner_.learn(row, y);
    }
    double learn(const Row& row, double y, double weight) override {
        if constexpr (L::task == Task::regression) {
            const double targets[3] = {y, 3.0 - 1e3 * y, y * y};
            learner_.learn(row, targets, weight, scores_);
            return scores_[0];
        } else if constexpr (L::multiclass) {
            learner_.learn(row, y < 0.0 ? 0 : static_cast<std::size_t>(y), weight, scores_);
            return scores_[1] - scores_[0];
        } else {
            return scores_[0] = learner_.learn(row, y, weight);
        }
    }
    double score(const Row& row) override { return score_with(learner_.workspace(), row, scores_); }
    double label() const override {
        if constexpr (!L::multiclass || L::task == Task::regression) return scores_[0] >= 0.0 ? 1.0 : -1.0;
        if (learner_.config().classes == 2) return scores_[1] >= scores_[0] ? 1.0 : -1.0;
        if (scores_[0] >= scores_[1] && scores_[0] >= scores_[2]) return -1.0;
        return scores_[1] >= scores_[2] ? 1.0 : 2.0;
    }
    std::size_t scratch_bytes() const override {
        Arena counter;
        (void)learner_.workspace_on(counter);
        return counter.used();
    }
    double score_on(void* scratch, const Row& row) const override {
        Arena arena(scratch);
        auto work = learner_.workspace_on(arena);
        double scores[3];
        return score_with(work, row, scores);
    }
    const Config& config() const override { return learner_.config(); }
    const Tally& tally() const override { return learner_.tally(); }
    KernelReport report(std::size_t i) const override { return learner_.report(i); }
    double frequency(std::size_t j, std::size_t k) const override {
        if constexpr (has_frequencies<L>) return learner_.frequency(j, k);
        return static_cast<double>(0 * (j + k));
    }
    std::size_t state_bytes() const override { return pocketkernel::state_bytes(learner_); }
    void save(unsigned char* to) const override { pocketkernel::save(learner_, to); }
    Status load(const unsigned char* from, std::size_t size) override {
        return pocketkernel::load(learner_, from, size);
    }

  private:
    template <class Work>
    double score_with(Work& work, const Row& row, double* scores) const {
        if constexpr (L::multiclass) {
            if constexpr (L::reads_rows)
                learner_.score(row, work, scores);
            else
                learner_.score(work.query.read(row), work, scores);
            return L::task == Task::regression ? scores[0] : scores[1] - scores[0];
        } else {
            return scores[0] = learner_.score(work.query.read(row), work);
        }
    }

    L& learner_;
    double scores_[3] = {};
};

template <class F>
bool with(const Which& which, F&& f) {
    return which.doubles ? with_learner<double>(which.name, f) : with_learner<float>(which.name, f);
}

unsigned char states[2][1 << 17];

}  // namespace

bool known(const char* name) {
    return with({name, false}, [](auto) {}) && with({name, true}, [](auto) {});
}

Status check_config(const Which& which, const Config& config) {
    Status status = Status::ok;
    (void)with(which, [&](auto kind) { status = decltype(kind)::type::check(config); });
    return status;
}

std::size_t bytes_of(const Which& which, const Config& config) {
    std::size_t size = 0;
    (void)with(which, [&](auto kind) { size = size_of<typename decltype(kind)::type>(config).bytes; });
    return size;
}

std::size_t state_bytes_of(const Which& which, const Config& config) {
    std::size_t size = 0;
    (void)with(which, [&](auto kind) { size = size_of<typename decltype(kind)::type>(config).state_bytes; });
    return size;
}

Status make_any(const Which& which, const Config& config, void* block, std::size_t size, Front& front,
                AnyLearner*& learner) {
    Status status = Status::ok;
    (void)with(which, [&](auto kind) {
        using L = typename decltype(kind)::type;
        static_assert(sizeof(Wrapped<L>) <= sizeof front.place, "the front is too small");
        L* made = nullptr;
        status = make(config, block, size, made);
        if (status == Status::ok) learner = new (front.place) Wrapped<L>(made);
    });
    return status;
}

bool same_state(const AnyLearner& one, const AnyLearner& other) {
    const std::size_t size = one.state_bytes();
    if (!CHECK(size <= sizeof states[0]) || size != other.state_bytes()) return false;
    one.save(states[0]);
    other.save(states[1]);
    return std::memcmp(states[0], states[1], size) == 0;
}
