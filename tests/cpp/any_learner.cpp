#include "any_learner.hpp"

#include "pocketkernel/learners/list.hpp"

using namespace pocketkernel;

namespace {

template <class L>
class Wrapped final : public AnyLearner {
  public:
    explicit Wrapped(L* learner) : learner_(*learner) {}
    double learn(const Row& row, double y) override { return learner_.learn(row, y); }
    double score(const Row& row) override {
        auto& work = learner_.workspace();
        return learner_.score(work.query.read(row), work);
    }
    const Config& config() const override { return learner_.config(); }
    const Tally& tally() const override { return learner_.tally(); }
    KernelReport report(std::size_t i) const override { return learner_.report(i); }
    double frequency(std::size_t j, std::size_t k) const override {
        if constexpr (std::is_same<L, Raker<typename L::Element>>::value) return learner_.frequency(j, k);
        return static_cast<double>(0 * (j + k));
    }
    std::size_t state_bytes() const override { return pocketkernel::state_bytes(learner_); }
    void save(unsigned char* to) const override { pocketkernel::save(learner_, to); }
    Status load(const unsigned char* from, std::size_t size) override {
        return pocketkernel::load(learner_, from, size);
    }

  private:
    L& learner_;
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
    (void)with(which, [&](auto kind) { size = bytes<typename decltype(kind)::type>(config); });
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
