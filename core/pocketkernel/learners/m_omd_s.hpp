// M-OMD-S: memory-bounded online mirror descent for smooth losses (the paper's Algorithm 2).
//
// The buffer, the steps and the removal are in shared_buffer.hpp, with one function for each kernel; here is the loss.
#pragma once

#include "shared_buffer.hpp"

POCKETKERNEL_BEGIN

template <class T>
class MOMDS : public SharedBuffer<T, 1> {
  public:
    static constexpr const char* name = "m_omd_s";
    static constexpr std::uint32_t revision = 2;  // 1 kept no evidence

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, true);
        return status == Status::ok ? SharedBuffer<T, 1>::check_parameters(c) : status;
    }

    MOMDS(const Config& c, Arena& arena) : SharedBuffer<T, 1>(c, arena, 1, loss_G1(c.loss)) {}

    double score(const Query<T>& x, Workspace<T>& work) const {
        this->evaluate(x, work, nullptr);
        return hedge_.mix(work.values);
    }

    template <class U>
    double learn(const Row<U>& row, double y, double weight = 1.0) {
        return learn(work_.query.read(row), y, weight);
    }
    double learn(const Query<T>& x, double y, double weight) {
        this->evaluate(x, work_, nearest_);
        const double f = hedge_.mix(work_.values);
        if (weight == 0.0) return f;
        const LossPoint loss = loss_at(config_.loss, f, y);
        const double g = weight * loss.derivative;  // at the aggregated f, shared by all kernels
        if (Watch::present && this->will_remove(absolute(g))) this->begin_long_row();
        this->record(this->is_mistake(f, y), weight * loss.value);
        if (!repeats_) charge(g);
        this->move(x, &g, absolute(g), g * f, weight);
        return f;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::config_;
    using Learner<T>::repeats_;
    using Learner<T>::work_;
    using SharedBuffer<T, 1>::hedge_;
    using SharedBuffer<T, 1>::nearest_;

    void charge(double g) {
        double least = work_.values[0], most = work_.values[0];
        for (std::size_t i = 1; i < K_; ++i) {
            least = smaller(least, work_.values[i]);
            most = larger(most, work_.values[i]);
        }
        hedge_.update(work_.values, [&](const Pack<double>& f) { return Hedge::linearised_cost(g, f, least, most); });
    }
};

POCKETKERNEL_END
