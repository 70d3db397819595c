// KernelBank: the K kernels of a learner, arranged so that evaluating all of them at once is cheap.
//
// Kernels of the shape exp(-rate m) on the same metric form a ladder when their rates are in ratio 2^q: the slowest is
// computed by one exponential, each faster one by q squarings of the one before (SPEC 8). Squaring doubles relative
// errors, so a ladder spans at most 2^20 in double precision. In single precision that would cost all digits of the
// narrow kernels: there the rung kept is the complement c = 1 - kappa, and 1 - kappa^2 = c (2 - c) loses none near 0.
#pragma once

#include <type_traits>

#include "../arena.hpp"
#include "../math.hpp"
#include "list.hpp"

POCKETKERNEL_BEGIN

// The metrics between a query and G tiles of stored rows; those that no kernel needs are left alone.
template <class T, std::size_t G>
struct Metrics {
    static constexpr std::size_t tiles = G;
    Pack<T> of[metric_count][G];
};

template <class T>
class KernelBank {
    struct Link {
        std::size_t kernel;
        int squarings;  // from the rung before; or `fresh`, or `power`
    };

  public:
    KernelBank() = default;
    KernelBank(Arena& arena, const Config& config)
        : count_(config.kernel_count), shape_(arena.take<KernelShape>(count_)), chain_(arena.take<Link>(count_)),
          group_(arena.take<std::size_t>(count_)), leader_(arena.take<std::size_t>(count_)) {
        for (std::size_t i = 0; i < count_; ++i) {
            const KernelShape shape = shape_of(config.kernels[i]);
            groups_ += !(shape.rate > 0.0 && metrics_[shape.metric]);
            metrics_.add(shape.metric);
            if (shape_) shape_[i] = shape;
        }
        if (!shape_) return;
        arrange();
        group();
    }

    std::size_t count() const { return count_; }
    // The metrics that all kernels need, and that kernel i needs.
    const MetricSet& metrics() const { return metrics_; }
    MetricSet metrics_of(std::size_t i) const {
        MetricSet set;
        set.add(shape_[i].metric);
        return set;
    }

    // "Nearest" is the same stored row for all kernels of a group (SPEC 3): Gaussians share one by Euclidean distance,
    // Laplacians one by L1 distance, every other kernel has its own by its value.
    // A group's leader is the kernel in which two rows are farthest apart.
    std::size_t groups() const { return groups_; }
    std::size_t leader_of(std::size_t group) const { return leader_[group]; }
    std::size_t group_of(std::size_t i) const { return group_[i]; }

    // Calls visit(i, k) for every kernel i with k[g] = kappa_i(stored rows of tile g, query), unless all of them are 0.
    template <std::size_t G, class Visit>
    void evaluate(const Metrics<T, G>& metrics, Visit&& visit) const {
        double least[metric_count];
        for (std::size_t m = 0; m < metric_count; ++m) least[m] = metrics_.wanted[m] ? smallest(metrics.of[m]) : 0.0;
        Pack<T> rung[G];
        for (std::size_t g = 0; g < G; ++g) rung[g] = Pack<T>(T(0));
        for (std::size_t n = 0; n < count_; ++n) {
            const Link& link = chain_[n];
            const KernelShape& shape = shape_[link.kernel];
            const Pack<T>(&m)[G] = metrics.of[index_of(shape.metric)];
            if (shape.rate * least[index_of(shape.metric)] > vanishing) continue;
            Pack<T> k[G];
            if (link.squarings == power) {
                for (std::size_t g = 0; g < G; ++g) k[g] = integer_power(m[g], shape.power);
            } else {
                if (link.squarings == fresh)
                    for (std::size_t g = 0; g < G; ++g) rung[g] = start(m[g] * Pack<T>(static_cast<T>(shape.rate)));
                for (int s = 0; s < link.squarings; ++s)
                    for (std::size_t g = 0; g < G; ++g) rung[g] = squared(rung[g]);
                for (std::size_t g = 0; g < G; ++g) k[g] = value(rung[g]);
            }
            visit(link.kernel, k);
        }
    }

    // The same for kernel i alone.
    template <std::size_t G>
    void evaluate_one(std::size_t i, const Metrics<T, G>& metrics, Pack<T> (&k)[G]) const {
        const KernelShape& shape = shape_[i];
        const Pack<T>(&m)[G] = metrics.of[index_of(shape.metric)];
        const Pack<T> rate(static_cast<T>(shape.rate));
        for (std::size_t g = 0; g < G; ++g)
            k[g] = shape.rate > 0.0 ? value(start(m[g] * rate)) : integer_power(m[g], shape.power);
    }

    // How far the rows of a tile are from the query, smaller is nearer: the metric of kernel i, or minus its value.
    template <std::size_t G>
    POCKETKERNEL_INLINE Pack<T> farness(std::size_t i, const Metrics<T, G>& metrics, std::size_t g) const {
        const KernelShape& shape = shape_[i];
        const Pack<T>& m = metrics.of[index_of(shape.metric)][g];
        return shape.rate > 0.0 ? m : Pack<T>(T(0)) - integer_power(m, shape.power);
    }

    // |kappa_i(u,.) - kappa_i(v,.)|^2 from the farness of u and v.
    double distance2(std::size_t i, double farness) const {
        return 2.0 * (shape_[i].rate > 0.0 ? exponential_complement(shape_[i].rate * farness) : 1.0 + farness);
    }

  private:
    static constexpr int fresh = -1, power = -2;
    // exp(-m) is 0 beyond this: smaller than the last digit of 1 in float (whose rungs are complements), or underflow.
    static constexpr double vanishing = std::is_same<T, float>::value ? 20.0 : 701.0;
    static constexpr int longest_ladder = std::is_same<T, float>::value ? 60 : 20;

    static constexpr std::size_t index_of(Metric metric) { return static_cast<std::size_t>(metric); }

    template <std::size_t G>
    static POCKETKERNEL_INLINE double smallest(const Pack<T> (&m)[G]) {
        Pack<T> least = m[0];
        for (std::size_t g = 1; g < G; ++g) least = smaller(m[g], least);
        return static_cast<double>(smallest_lane(least));
    }

    static POCKETKERNEL_INLINE Pack<T> start(const Pack<T>& exponent) {
        if constexpr (std::is_same<T, float>::value)
            return exponential_complement(exponent);
        else
            return exponential(Pack<T>(T(0)) - exponent);
    }
    static POCKETKERNEL_INLINE Pack<T> squared(const Pack<T>& rung) {
        if constexpr (std::is_same<T, float>::value)
            return rung * (Pack<T>(T(2)) - rung);
        else
            return rung * rung;
    }
    static POCKETKERNEL_INLINE Pack<T> value(const Pack<T>& rung) {
        if constexpr (std::is_same<T, float>::value)
            return Pack<T>(T(1)) - rung;
        else
            return rung;
    }

    // Orders the kernels by metric, then rate, and links each to the rung before it where the rates allow.
    void arrange() {
        for (std::size_t i = 0; i < count_; ++i) {
            std::size_t n = i;
            for (; n > 0 && comes_before(i, chain_[n - 1].kernel); --n) chain_[n] = chain_[n - 1];
            chain_[n].kernel = i;
        }
        int span = 0;
        for (std::size_t n = 0; n < count_; ++n) {
            const KernelShape& shape = shape_[chain_[n].kernel];
            int squarings = shape.rate > 0.0 ? fresh : power;
            if (squarings == fresh && n > 0 && shape_[chain_[n - 1].kernel].metric == shape.metric) {
                const int q = doublings(shape_[chain_[n - 1].kernel].rate, shape.rate);
                if (q >= 0 && span + q <= longest_ladder) squarings = q;
            }
            span = squarings >= 0 ? span + squarings : 0;
            chain_[n].squarings = squarings;
        }
    }
    bool comes_before(std::size_t i, std::size_t j) const {
        if (shape_[i].metric != shape_[j].metric) return shape_[i].metric < shape_[j].metric;
        return shape_[i].rate < shape_[j].rate;
    }
    // q with to = 2^q from (widths such as 0.1, 0.2, 0.4 give rates that are off by a rounding), or -1.
    static int doublings(double from, double to) {
        int q = 0;
        for (; from < to * 0.75 && q <= longest_ladder; ++q) from *= 2.0;
        return absolute(from - to) <= 1e-15 * to ? q : -1;
    }

    // Rows are farthest apart in the kernel of the fastest rate.
    void group() {
        std::size_t groups = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            std::size_t g = 0;
            while (g < groups && !(shape_[i].rate > 0.0 && shape_[leader_[g]].metric == shape_[i].metric)) ++g;
            if (g == groups || shape_[i].rate > shape_[leader_[g]].rate) leader_[g] = i;
            groups += g == groups;
            group_[i] = g;
        }
    }

    std::size_t count_ = 0, groups_ = 0;
    MetricSet metrics_;
    KernelShape* shape_ = nullptr;
    Link* chain_ = nullptr;
    std::size_t* group_ = nullptr;
    std::size_t* leader_ = nullptr;
};

POCKETKERNEL_END
