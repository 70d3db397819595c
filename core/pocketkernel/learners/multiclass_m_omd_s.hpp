// M-OMD-S for C classes: the multinomial logistic loss on one buffer shared by all kernels and all classes.
//
//   F_c      sum_i p_i f_ic(x), one score for each class            C  config.classes
//   P(c|x)   exp(F_c) / sum_b exp(F_b),  l = -ln P(y|x)
//   g_c      dl/dF_c = P(c|x) - [c = y]
//   |l'|     q = 1 - P(y|x), half the sum of |g_c|: at most 1, and at most l, so G1 = G2 = 1 as for two classes
//
// Everything else is Algorithm 2 with f_i a function into R^C: |f_i|^2 = sum_c |f_ic|^2, and the linearised loss of a
// kernel is sum_c g_c f_ic. The kernels of a row are computed once, whatever C is.
#pragma once

#include "shared_buffer.hpp"

POCKETKERNEL_BEGIN

template <class T>
class MulticlassMOMDS : public SharedBuffer<T, 0> {
  public:
    static constexpr const char* name = "multiclass_m_omd_s";
    static constexpr bool multiclass = true;
    static constexpr std::uint32_t revision = 2;  // 1 kept no evidence

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, true, true);
        if (status != Status::ok) return status;
        if (c.loss != Loss::logistic) return Status::loss_not_logistic;
        return SharedBuffer<T, 0>::check_parameters(c);
    }

    MulticlassMOMDS(const Config& c, Arena& arena)
        : SharedBuffer<T, 0>(c, arena, c.classes, Logistic::G1), C_(c.classes) {
        g_ = arena.take<double>(C_);
        linear_ = arena.take<double>(padded<double>(K_));
    }

    void score(const Query<T>& x, Workspace<T>& work, double* F) const {
        this->evaluate(x, work, nullptr);
        mix(work, F);
    }

    // The scores of all classes from before learning are left in F.
    template <class U>
    void learn(const Row<U>& row, std::size_t y, double weight, double* F) {
        learn(work_.query.read(row), y, weight, F);
    }
    void learn(const Query<T>& x, std::size_t y, double weight, double* F) {
        this->evaluate(x, work_, nearest_);
        mix(work_, F);
        if (weight == 0.0) return;
        const std::size_t best = largest(F, C_);
        double total = 0.0, others = 0.0;
        for (std::size_t c = 0; c < C_; ++c) total += g_[c] = exponential(F[c] - F[best]);
        for (std::size_t c = 0; c < C_; ++c) {
            g_[c] = weight * (g_[c] / total);
            if (c != y) others += g_[c];
        }
        g_[y] = -others;
        if (Watch::present && this->will_remove(others)) this->begin_long_row();
        this->record(best != y, weight * (logarithm(total) + (F[best] - F[y])));
        if (!this->repeats_) charge();
        double product = 0.0;
        for (std::size_t c = 0; c < C_; ++c) product += g_[c] * F[c];
        this->move(x, g_, others, product, weight);
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::work_;
    using SharedBuffer<T, 0>::hedge_;
    using SharedBuffer<T, 0>::nearest_;

    void mix(const Workspace<T>& work, double* F) const {
        for (std::size_t c = 0; c < C_; ++c) F[c] = 0.0;
        for (std::size_t i = 0; i < K_; ++i)
            for (std::size_t c = 0; c < C_; ++c) F[c] += hedge_.weights()[i] * work.values[i * C_ + c];
    }

    // The linearised loss of each kernel, shifted so that the cost of the best kernel is 0.
    void charge() {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < K_; ++i) {
            linear_[i] = 0.0;
            for (std::size_t c = 0; c < C_; ++c) linear_[i] += g_[c] * work_.values[i * C_ + c];
            least = smaller(linear_[i], least);
        }
        hedge_.update(linear_, [&](const Pack<double>& cost) { return cost - Pack<double>(least); });
    }

    std::size_t C_;
    double* g_ = nullptr;
    double* linear_ = nullptr;
};

POCKETKERNEL_END
