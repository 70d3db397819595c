// Raker: multi-kernel learning on random features (Shen, Chen & Giannakis 2019), a baseline.
//
//   z_i      2D random features of kernel i, from frequencies shared by all kernels    D    config.budget
//   f_i      theta_i' z_i(x), each learning at its own score                           eta  config.rate
//   L_i      cumulative regularised loss over l_max, p_i ~ exp(-eta L_i)               mu   config.regularization
#pragma once

#include "../random_features.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class Raker : public Learner<T> {
  public:
    using Element = T;
    static constexpr const char* name = "raker";
    static constexpr std::uint32_t revision = 2;  // 1 kept the frequencies

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, false);
        if (status != Status::ok) return status;
        if (c.storage != Storage::full) return Status::storage_unsuited;
        for (std::size_t i = 0; i < c.kernel_count; ++i)
            if (c.kernels[i].family != Family::gaussian) return Status::kernels_not_gaussian;
        if (!positive(c.rate, 1e6)) return Status::rate_not_positive;
        if (!(c.regularization >= 0.0 && c.regularization * c.rate < 1.0)) return Status::regularization_out_of_range;
        return Status::ok;
    }

    POCKETKERNEL_ONCE Raker(const Config& c, Arena& arena) : Learner<T>(c, arena) {
        own_ = arena.take<Own>(K_);
        theta_ = Coefficients<T>(arena, 2 * K_, c.budget);
        z_ = RandomFeatures<T>(c.budget, c.features);
        if (!is_constant()) z_.place(arena);
        this->end_of_state(arena, K_);
        if (is_constant()) z_.place(arena);
        z_.plan(arena, c);
        turned_ = Coefficients<T>(arena, 3, c.budget);
        loss_scale_ = is_smooth(c.loss) ? 2.0 : 1.0;
    }

    void reset() {
        common_->rng = draw_constants();
        if (!is_constant()) z_.draw(common_->rng);
        weigh();
    }

    Constants constants() const { return is_constant() ? z_.constants() : Constants(); }
    Rng draw_constants() {
        Rng rng(config_.seed);
        if (is_constant()) z_.draw(rng);
        return rng;
    }

    double frequency(std::size_t j, std::size_t k) const { return z_.frequency(j, k); }

    double score(const Query<T>& x, Workspace<T>& work) const {
        evaluate(x, work, nullptr);
        return mix(work);
    }

    template <class U>
    double learn(const Row<U>& row, double y, double weight = 1.0) {
        return learn(work_.query.read(row), y, weight);
    }
    double learn(const Query<T>& x, double y, double weight) {
        evaluate(x, work_, &turned_);
        const double F = mix(work_);
        if (weight == 0.0) return F;
        this->record(this->is_mistake(F, y), weight * loss_at(config_.loss, F, y).value);
        for (std::size_t i = 0; i < K_; ++i) {
            const LossPoint loss = loss_at(config_.loss, work_.values[i], y);
            own_[i].cost += (weight * loss.value + config_.regularization * own_[i].norm2) / loss_scale_;
            work_.values[i] = weight * loss.derivative;
        }
        step();
        weigh();
        return F;
    }

    KernelReport report(std::size_t i) const {
        return {own_[i].p, std::sqrt(own_[i].norm2), 0.0, config_.budget, 0, 0, 0};
    }

    bool valid() const {
        // The squares of theta are summed in T, two in every lane of a tile.
        const double largest = (sizeof(T) == sizeof(float) ? 7e18 : 1e70) / std::sqrt(static_cast<double>(z_.tiles()));
        bool good = this->common_valid() && theta_.finite(largest) && z_.valid();
        double total = 0.0;
        for (std::size_t i = 0; i < K_; ++i) {
            good = good && this->is_sum(own_[i].cost) && this->is_sum(own_[i].norm2) && own_[i].p >= 0.0;
            total += own_[i].p;
        }
        return good && absolute(total - 1.0) < 1e-9;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::bank_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    struct Own {
        double cost;   // L_i
        double norm2;  // |theta_i|^2
        double p;
    };
    static_assert(part_of_state<Own, 24>);

    // Whether the frequencies are not part of the state.
    bool is_constant() const { return config_.features <= Constants::most_columns; }

    // work.values[i] = f_i(x). Projections, and cosines and sines of the widest kernel, are left in `turned` if wanted.
    void evaluate(const Query<T>& x, Workspace<T>& work, Coefficients<T>* turned) const {
        for (std::size_t i = 0; i < K_; ++i) work.partial[i] = Pack<T>(T(0));
        for (std::size_t tile = 0; tile < z_.tiles(); ++tile) {
            Pack<T> cosine, sine;
            const Pack<T> projection = z_.project(x, tile);
            z_.start(projection, cosine, sine);
            if (turned) {
                projection.store(turned->of(0) + tile * lanes_of<T>);
                cosine.store(turned->of(1) + tile * lanes_of<T>);
                sine.store(turned->of(2) + tile * lanes_of<T>);
            }
            z_.visit_all(tile, projection, cosine, sine, [&](std::size_t i, const Pack<T>& c, const Pack<T>& s) {
                work.partial[i] += theta_.pack(2 * i, tile) * c + theta_.pack(2 * i + 1, tile) * s;
            });
        }
        for (std::size_t i = 0; i < K_; ++i) work.values[i] = sum(work.partial[i]);
    }

    double mix(const Workspace<T>& work) const {
        double f = 0.0;
        for (std::size_t i = 0; i < K_; ++i) f += own_[i].p * work.values[i];
        return f;
    }

    // theta_i <- (1 - 2 eta mu) theta_i - eta l'_i z_i, with l'_i in work_.values.
    void step() {
        const Pack<T> keep(static_cast<T>(1.0 - 2.0 * config_.rate * config_.regularization));
        for (std::size_t i = 0; i < K_; ++i) work_.partial[i] = Pack<T>(T(0));
        for (std::size_t tile = 0; tile < z_.tiles(); ++tile) {
            z_.visit_all(tile, turned_.pack(0, tile), turned_.pack(1, tile), turned_.pack(2, tile),
                         [&](std::size_t i, const Pack<T>& c, const Pack<T>& s) {
                             const Pack<T> down(static_cast<T>(-config_.rate * work_.values[i]));
                             const Pack<T> on_cosine = keep * theta_.pack(2 * i, tile) + down * c;
                             const Pack<T> on_sine = keep * theta_.pack(2 * i + 1, tile) + down * s;
                             on_cosine.store(theta_.of(2 * i) + tile * lanes_of<T>);
                             on_sine.store(theta_.of(2 * i + 1) + tile * lanes_of<T>);
                             work_.partial[i] += on_cosine * on_cosine + on_sine * on_sine;
                         });
        }
        for (std::size_t i = 0; i < K_; ++i) own_[i].norm2 = sum(work_.partial[i]);
    }

    void weigh() {
        double least = own_[0].cost;
        for (std::size_t i = 1; i < K_; ++i) least = smaller(least, own_[i].cost);
        double total = 0.0;
        for (std::size_t i = 0; i < K_; ++i) total += own_[i].p = exponential(-config_.rate * (own_[i].cost - least));
        for (std::size_t i = 0; i < K_; ++i) own_[i].p /= total;
    }

    double loss_scale_ = 1.0;  // l_max, which the authors set to 2 for smooth losses
    Own* own_ = nullptr;
    Coefficients<T> theta_;  // row 2i: on the cosines of kernel i; row 2i + 1: on its sines
    RandomFeatures<T> z_;
    Coefficients<T> turned_;
};

POCKETKERNEL_END
