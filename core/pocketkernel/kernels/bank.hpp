// KernelBank: the K kernels of a learner, arranged so that evaluating all of them at once is cheap.
//
// Kernels of the form exp(-rate m) on the same metric form a ladder when their rates are in ratio 2^q: the slowest is
// computed by one exponential, each faster one by q squarings of the one before. Squaring doubles relative
// errors: in double precision a ladder spans at most 2^20. In single precision that would cost all digits of the narrow
// kernels; all but the last 2^6 are climbed on complements c = 1 - kappa, where 1 - kappa^2 = c (2 - c) keeps small c
// exact.
#pragma once

#include <type_traits>

#include "../arena.hpp"
#include "../math.hpp"
#include "list.hpp"

POCKETKERNEL_BEGIN

// The metrics between a query and G tiles of stored rows; metrics that are not needed are not set.
// Lanes without a row have infinite distance and cosine 0.
template <class T, std::size_t G>
struct Metrics {
    static constexpr std::size_t tiles = G;
    Pack<T> of[metric_count][G];
    double least[metric_count] = {};  // the smallest lane of each
    std::size_t rows = 0;             // lanes with a row
};

template <class T, std::size_t G>
POCKETKERNEL_INLINE double smallest(const Pack<T> (&m)[G]) {
    Pack<T> least = m[0];
    for (std::size_t g = 1; g < G; ++g) least = smaller(m[g], least);
    return static_cast<double>(smallest_lane(least));
}

template <class T>
class KernelBank {
    struct Link {
        std::size_t kernel;
        int squarings;     // from the previous rung; or `fresh`, or `apart`: in no ladder
        bool complement;   // the rung is 1 - kappa
        bool converted;    // the previous rung is a complement, this one is not
        double vanishing;  // rate * m beyond which kappa counts as 0
        T floor;           // values of the previous rung that would become 0
    };

  public:
    KernelBank() = default;
    POCKETKERNEL_ONCE KernelBank(Arena& arena, const Config& config)
        : count_(config.kernel_count),
          shape_(arena.take<KernelShape>(count_)),
          chain_(arena.take<Link>(count_)),
          group_(arena.take<std::size_t>(count_)),
          leader_(arena.take<std::size_t>(count_)) {
        MetricSet shared;  // metrics whose kernels exp(-rate m) have a group
        for (std::size_t i = 0; i < count_; ++i) {
            const KernelShape shape = shape_of(config.kernels[i]);
            const bool exponential = shape.form == Form::exponential;
            groups_ += !(exponential && shared[shape.metric]);
            if (exponential) shared.add(shape.metric);
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

    // "Nearest" is the same stored row for all kernels of a group: Gaussians share one by Euclidean distance,
    // Laplacians one by L1 distance, every other kernel has its own by its value.
    // A group's leader is the kernel in which two rows are farthest apart.
    std::size_t groups() const { return groups_; }
    std::size_t leader_of(std::size_t group) const { return leader_[group]; }
    std::size_t group_of(std::size_t i) const { return group_[i]; }

    // Calls visit(i, k) for every kernel i, where k(g) = kappa_i(stored rows of tile g, query); not if all of them are
    // 0.
    template <std::size_t G, class Visit>
    POCKETKERNEL_INLINE void evaluate(const Metrics<T, G>& metrics, Visit&& visit) const {
        Pack<T> rung[G];
        for (std::size_t g = 0; g < G; ++g) rung[g] = Pack<T>(T(0));
        for (std::size_t n = 0; n < count_; ++n) {
            const Link& link = chain_[n];
            const KernelShape& shape = shape_[link.kernel];
            const Pack<T>(&m)[G] = metrics.of[index_of(shape.metric)];
            if ((is_used(Form::value) || is_used(Form::power)) && link.squarings == apart) {
                Pack<T> k[G];
                evaluate_one(link.kernel, metrics, k);
                visit(link.kernel, [&](std::size_t g) { return k[g]; });
                continue;
            }
            if (shape.rate * metrics.least[index_of(shape.metric)] > link.vanishing) continue;
            if (link.squarings == fresh) {
                const Pack<T> rate(in_range(shape.rate));
                if (link.complement)
                    for (std::size_t g = 0; g < G; ++g) rung[g] = exponential_complement(m[g] * rate);
                else
                    for (std::size_t g = 0; g < G; ++g) rung[g] = exponential(Pack<T>(T(0)) - m[g] * rate);
            }
            if (link.complement) {
                for (int s = 0; s < link.squarings; ++s)
                    for (std::size_t g = 0; g < G; ++g) rung[g] = rung[g] * (Pack<T>(T(2)) - rung[g]);
                visit(link.kernel, [&](std::size_t g) { return Pack<T>(T(1)) - rung[g]; });
                continue;
            }
            if (link.converted)
                for (std::size_t g = 0; g < G; ++g) rung[g] = Pack<T>(T(1)) - rung[g];
            if (link.squarings > 0) {
                for (std::size_t g = 0; g < G; ++g)
                    rung[g] = select(rung[g] < Pack<T>(link.floor), Pack<T>(T(0)), rung[g]);
                for (int s = 0; s < link.squarings; ++s)
                    for (std::size_t g = 0; g < G; ++g) rung[g] = rung[g] * rung[g];
            }
            visit(link.kernel, [&](std::size_t g) { return rung[g]; });
        }
    }

    // The same for kernel i alone.
    template <std::size_t G>
    void evaluate_one(std::size_t i, const Metrics<T, G>& metrics, Pack<T> (&k)[G]) const {
        const KernelShape& shape = shape_[i];
        const Pack<T>(&m)[G] = metrics.of[index_of(shape.metric)];
        const Pack<T> rate(in_range(shape.rate));
        for (std::size_t g = 0; g < G; ++g) k[g] = value_of(shape, m[g], m[g] * rate);
    }

    // Dissimilarity of rows to the query for kernel i, smaller is nearer: the metric, or minus the kernel's value.
    POCKETKERNEL_INLINE Pack<T> dissimilarity(std::size_t i, const Pack<T>& m) const {
        return by_value(i) ? Pack<T>(T(0)) - integer_power(m, shape_[i].order) : m;
    }
    Metric metric_of(std::size_t i) const { return shape_[i].metric; }

    // The smallest dissimilarity in some tiles.
    template <std::size_t G>
    POCKETKERNEL_INLINE double least_dissimilarity(std::size_t i, const Metrics<T, G>& metrics) const {
        if (!by_value(i)) return metrics.least[index_of(shape_[i].metric)];
        T lane[G * lanes_of<T>];
        for (std::size_t g = 0; g < G; ++g)
            dissimilarity(i, metrics.of[index_of(shape_[i].metric)][g]).store(lane + g * lanes_of<T>);
        T least = lane[0];
        for (std::size_t l = 1; l < metrics.rows; ++l) least = lane[l] < least ? lane[l] : least;
        return static_cast<double>(least);
    }

    // Whether |kappa_i(u,.) - kappa_i(v,.)| <= gamma for rows u and v of this dissimilarity.
    bool within(std::size_t i, double dissimilarity, double gamma) const {
        // 1 - exp(-m) >= m / (1 + m) settles most cases without an exponential.
        const double m = shape_[i].rate * dissimilarity;
        if (shape_[i].form == Form::exponential && 2.0 * m > gamma * gamma * (1.0 + m) * (1.0 + 1e-12)) return false;
        return squared_distance(i, dissimilarity) <= gamma * gamma;
    }

    // |kappa_i(u,.) - kappa_i(v,.)|^2 for rows u and v of this dissimilarity.
    double squared_distance(std::size_t i, double dissimilarity) const {
        if (by_value(i)) return 2.0 * (1.0 + dissimilarity);
        const double m = shape_[i].rate * dissimilarity;
        if (is_used(Form::value) && shape_[i].form == Form::value)
            return 2.0 * (1.0 - value_of(shape_[i], dissimilarity, m));
        return 2.0 * exponential_complement(m);
    }

  private:
    static constexpr int fresh = -1, apart = -2;
    static constexpr bool single = std::is_same<T, float>::value;
    static constexpr int longest_ladder = single ? 60 : 20, longest_climb = single ? 6 : 20;

    static constexpr std::size_t index_of(Metric metric) { return static_cast<std::size_t>(metric); }
    // Whether nearness is defined by the kernel's value instead of its metric: for cosines larger is nearer, but not
    // for every power of a cosine.
    bool by_value(std::size_t i) const { return is_used(Form::power) && shape_[i].form == Form::power; }

    // A rate beyond T's range becomes T's largest number, because 0 times the rate must be 0.
    static T in_range(double rate) {
        constexpr T most = std::numeric_limits<T>::max();
        return rate < static_cast<double>(most) ? static_cast<T>(rate) : most;
    }

    // Orders the kernels by metric, then rate, and links each to the previous rung where the rates allow it.
    void arrange() {
        for (std::size_t i = 0; i < count_; ++i) {
            std::size_t n = i;
            for (; n > 0 && comes_before(i, chain_[n - 1].kernel); --n) chain_[n] = chain_[n - 1];
            chain_[n].kernel = i;
        }
        int span = 0;
        for (std::size_t n = 0; n < count_; ++n) {
            const KernelShape& shape = shape_[chain_[n].kernel];
            int squarings = shape.form == Form::exponential ? fresh : apart;
            if (squarings == fresh && n > 0 && chain_[n - 1].squarings != apart &&
                shape_[chain_[n - 1].kernel].metric == shape.metric) {
                const int q = doublings(shape_[chain_[n - 1].kernel].rate, shape.rate, longest_ladder);
                if (q >= 0 && span + q <= longest_ladder) squarings = q;
            }
            span = squarings >= 0 ? span + squarings : 0;
            chain_[n].squarings = squarings;
        }
        choose_forms();
    }

    // From the top of each ladder down: a rung is a complement if plain squaring from the rung below it (or, for the
    // first, from itself) would double errors too often. Then from the bottom up: what vanishes on one rung stays so.
    void choose_forms() {
        constexpr double lowest = -static_cast<double>(MathConstants<T>::exp_low);
        constexpr double last_digit = 17.4;  // exp(-17.4) is less than half the last digit of 1 in float
        int above = 0;                       // squarings from this rung to the top
        for (std::size_t n = count_; n-- > 0;) {
            Link& link = chain_[n];
            const int q = link.squarings > 0 ? link.squarings : 0;
            link.complement = link.squarings != apart && above + q > longest_climb;
            above = link.squarings >= 0 ? above + q : 0;
        }
        for (std::size_t n = 0; n < count_; ++n) {
            Link& link = chain_[n];
            link.vanishing = link.complement ? last_digit : lowest;
            if (link.squarings < 0) continue;
            const Link& below = chain_[n - 1];
            const auto steeper = static_cast<double>(std::uint64_t(1) << link.squarings);
            link.converted = below.complement && !link.complement;
            link.vanishing = smaller(below.vanishing * steeper, link.vanishing);
            link.floor = static_cast<T>(exponential(-lowest / steeper));
        }
    }

    bool comes_before(std::size_t i, std::size_t j) const {
        if (shape_[i].metric != shape_[j].metric) return shape_[i].metric < shape_[j].metric;
        if (shape_[i].form != shape_[j].form) return shape_[i].form < shape_[j].form;
        return shape_[i].rate < shape_[j].rate;
    }

    static bool share(const KernelShape& a, const KernelShape& b) {
        return a.form == Form::exponential && b.form == Form::exponential && a.metric == b.metric;
    }
    // Rows are farthest apart in the kernel of the fastest rate.
    void group() {
        std::size_t groups = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            std::size_t g = 0;
            while (g < groups && !share(shape_[i], shape_[leader_[g]])) ++g;
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
