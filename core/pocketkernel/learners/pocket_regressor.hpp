// PocketRegressor: experts that predict m real numbers, mixed by least squares.
//
//   z      the row, its columns brought to one scale (ColumnScale); z' the same, weighed (ColumnRelevance)
//   y      a target; TargetScale follows its level (mean) and scale (variance v), and the errors
//   s_0    a linear model of y - mean, by recursive least squares
//   s_i    what the others add to it: random features of several widths (FeaturePool), the nearest of the last rows
//          (NeighbourRing), a function of each column (AdditiveTables), and a constant
//   F      sum_i w_i s_i, mixed by recursive least squares with forgetting; the answer is mean + F
//   e      y - mean - F, of which lessons see no more than 4 deviations
//
// The others learn what the linear model leaves, 0.7 of it their own error and 0.3 the mixture's; their steps are
// normalised and shrink by AdaGrad's rule, with forgetting. A test on the errors tells when the stream has changed:
// steps are long again, and a new level or scale of y is taken over at once. Intervals come from the errors' own
// quantiles (IntervalTracker). In later passes over the same rows experts learn, but nothing that follows the errors
// does: mixture, intervals, tests, shares of the random features.
//
// For a quantile tau the error of a lesson is tau's: as far as one Newton step would go if errors were normal, and an
// offset follows the share of answers that were too low.
//
// The config's kernels are as PocketClassifier's, its classes are m, and its budget, D, decides all: a ring of a third
// of the bytes of the random features, tables up to half of them, a whole matrix for the linear model up to all of
// them. Rows of 64 columns or more, which may be sparse, have neither ring, matrix nor relevance.
#pragma once

#include "../experts/additive.hpp"
#include "../column_relevance.hpp"
#include "../column_scale.hpp"
#include "../feature_pool.hpp"
#include "../interval_tracker.hpp"
#include "../neighbour_ring.hpp"
#include "../recursive_least_squares.hpp"
#include "../target_scale.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class PocketRegressor : public Learner<T> {
  public:
    using Element = T;
    static constexpr std::size_t object_bytes = Learner<T>::pocket_bytes;
    using Relevance = ColumnRelevance<T, Tuning::Relevance::OfNumbers>;
    static constexpr const char* name = "pocket_regressor";
    static constexpr std::uint32_t revision = 3;  // 2 kept differences to means, and one unit of weights
    static constexpr Task task = Task::regression;
    static constexpr bool multiclass = true;  // a score for each target

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, false, false, 0, task);
        if (status != Status::ok) return status;
        if (c.storage != Storage::full) return Status::storage_unsuited;
        if (c.quantile != 0.0 && !(c.quantile >= 0.001 && c.quantile <= 0.999)) return Status::quantile_out_of_range;
        return is_linear_and_halving(c, c.kernel_count - 1) ? Status::ok : Status::kernels_not_halving;
    }

    POCKETKERNEL_ONCE PocketRegressor(const Config& c, Arena& arena)
        : Learner<T>(c, arena, {false, sparse_from, 2}),
          m_(c.classes),
          n_(c.features + 1),
          parts_(c),
          E_(K_ + parts_.others()) {
        course_ = arena.take<Course>(1);
        targets_ = arena.take<Target>(m_);
        widths_ = arena.take<Width>(K_);
        experts_ = arena.take<Expert>(E_, m_);
        mixtures_ = arena.take<double>(RecursiveLeastSquares::doubles(E_), m_);
        linear_ = arena.take<double>(n_, m_);
        if (parts_.matrix)
            matrix_ = RecursiveLeastSquares(n_, arena.take<double>(RecursiveLeastSquares::doubles(n_)), 0.9997, 1.0);
        else
            squares_ = arena.take<T>(n_, m_);
        scale_ = ColumnScale<T>(arena, c.features, c.features >= sparse_from, course_ ? &course_->pace : nullptr);
        if (parts_.relevance) relevance_ = Relevance(arena, c.features);
        if (parts_.ring > 0) ring_ = NeighbourRing<T>(arena, parts_.ring, c.features, m_);
        if (parts_.tables) tables_ = AdditiveTables<T>(arena, c.features, m_);
        pool_ = FeaturePool<T>(arena, K_ > 1 ? c.budget : std::size_t(0), c.features, m_, c.features >= sparse_from);
        this->end_of_state(arena, E_ * m_);
        pool_.plan(arena);
        scratch_ = arena.take<double>((K_ + 3) * m_ + 2 * larger(n_, E_));
        slopes_ = arena.take<T>(parts_.relevance ? c.features : std::size_t(0));
        if (c.quantile > 0.0) {
            const double score = normal_quantile(c.quantile);
            newton_ = 2.5066282746310002 * exponential(0.5 * score * score);
        }
    }

    void reset() {
        common_->rng = draw_constants();
        scale_.reset();
        if (parts_.relevance) relevance_.reset();
        if (parts_.matrix) matrix_.reset();
        if (!pool_.is_constant()) pool_.draw(common_->rng);
        if (K_ > 1) pool_.reset(owners());
        for (std::size_t i = 0; i < K_; ++i) widths_[i].tiles = pool_.tiles_of(i);
        for (std::size_t r = 0; r < m_; ++r) {
            targets_[r].unit = 1.0;
            targets_[r].intervals.reset();
            mixture(r).reset();
            for (std::size_t i = 0; i < E_; ++i)
                expert(i, r).weight = i == 0 ? 1.0 : i < constant() ? 1.0 / static_cast<double>(constant() - 1) : 0.0;
        }
        course_->next_review = first_review;
        measure();
    }

    Constants constants() const { return pool_.constants(); }
    Rng draw_constants() {
        Rng rng(config_.seed);
        if (pool_.is_constant()) pool_.draw(rng);
        return rng;
    }

    double frequency(std::size_t j, std::size_t k) const { return K_ > 1 ? pool_.frequency(j, k) : 0.0; }
    // How much column k counts in distances, 1 in the (geometric) mean.
    double relevance(std::size_t k) const {
        return parts_.relevance ? static_cast<double>(relevance_.factors()[k]) : 1.0;
    }
    // What has to be taken from and added to the answer for target r so that a share c of the targets lie between.
    double margin_below(std::size_t r, double c) const {
        return targets_[r].scale.size * targets_[r].intervals.below(c);
    }
    double margin_above(std::size_t r, double c) const {
        return targets_[r].scale.size * targets_[r].intervals.above(c);
    }

    static constexpr bool reads_rows = true;     // by itself: a row is scaled in double precision before it is rounded
    static constexpr bool takes_missing = true;  // z = 0, the usual value
    static double largest_value(Storage) { return ColumnScale<T>::value_limit; }

    template <class U>
    void score(const Row<U>& row, Workspace<T>& work, double* F) const {
        evaluate(scale_.read(row, work.query), work, false);
        mix(work, F);
        answer(F);
    }

    // The answers for all targets, made before it learned, are left in F; those of the linear model alone in `linear`,
    // unless it is null.
    static constexpr bool tells_linear = true;
    template <class U>
    void learn(const Row<U>& row, const double* y, double weight, double* F, double* linear = nullptr) {
        if (weight == 0.0) {
            score(row, work_, F);
            return tell_linear(linear);
        }
        const std::uint64_t rounds = this->clock() + 1;
        learn(scale_.learn(row, work_.query, rounds), rounds, y, weight, F, linear);
    }
    void learn(const Query<T>& z, std::uint64_t rounds, const double* y, double weight, double* F, double* linear) {
        evaluate(z, work_, true);
        mix(work_, F);
        for (std::size_t r = 0; r < m_; ++r) f()[r] = F[r];
        answer(F);
        tell_linear(linear);
        double loss = 0.0;
        for (std::size_t r = 0; r < m_; ++r) loss += loss_of(y[r] - F[r]);
        this->record(false, weight * loss);
        const double times = course_->weights.times(weight, rounds);
        if (rounds == 1)
            for (std::size_t r = 0; r < m_; ++r) targets_[r].scale.start(y[r]);
        else
            teach(y, F, times, rounds);
        scale_.observe_square(seen(work_), rounds);
        if (scale_.refresh(rounds)) {
            pool_.refresh(scale_.zero());
            measure();
        } else {
            scale_.refresh_moved(z, [&](std::size_t k, T change) { pool_.refresh_column(k, change); });
        }
        if (owners() > 1 && !repeats_ && rounds >= course_->next_review) review(rounds);
    }

    // An expert's weight is its share of the mixture's weights among the kernels.
    KernelReport report(std::size_t i) const {
        double own = 0.0, total = 0.0;
        for (std::size_t j = 0; j < K_; ++j)
            for (std::size_t r = 0; r < m_; ++r) {
                total += absolute(expert(j, r).weight);
                if (j == i) own += absolute(expert(j, r).weight);
            }
        return {total > 0.0 ? own / total : 1.0 / static_cast<double>(K_), norm(i), 0.0, frequencies(i), 0, 0, 0};
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = this->common_valid() && scale_.valid(this->clock()) && pool_.valid(owners()) &&
                    relevance_.valid() && ring_.valid() && tables_.valid() && course_->weights.valid() &&
                    (!parts_.matrix || matrix_.valid());
        for (std::size_t r = 0; r < m_; ++r) {
            const Target& t = targets_[r];
            good = good && t.scale.valid() && t.intervals.valid() && mixture(r).valid() &&
                   within(t.unit, 1e-90, 1e90) && within(t.offset, -1e12, 1e12);
            for (std::size_t i = 0; i < E_; ++i)
                good = good && within(expert(i, r).weight, -most_weight, most_weight) &&
                       within(expert(i, r).squares, 0.0, 1e160) && within(expert(i, r).loss, 0.0, 1e12);
            for (std::size_t k = 0; k < n_; ++k)
                good = good && within(linear(r)[k], -1e90, 1e90) &&
                       (!squares_ || within(static_cast<double>(squares_[r * n_ + k]), 0.0, 1e20));
        }
        for (std::size_t i = 0; i < K_; ++i)
            good = good && widths_[i].tiles == pool_.tiles_of(i) && widths_[i].inverse == inverse_width(i);
        return good;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::repeats_;
    using Learner<T>::work_;

    static constexpr std::size_t sparse_from = 64;
    static constexpr std::uint64_t first_review = 100, longest_pause = 4096, memory_of_loss = 1000;
    static constexpr double rate_of_waves = 8.0, rate_of_tables = 4.0, rate_of_linear = 0.1, share_of_mixture = 0.3;
    static constexpr double most_z = 5.0;  // that the linear model sees: a farther column would rule all by itself
    static constexpr double most_weight = 1e6;

    // What there is besides the linear model and the widths; see the top.
    struct Parts {
        explicit Parts(const Config& c) {
            const bool narrow = c.features < sparse_from;
            const std::size_t waves =
                c.kernel_count > 1 ? padded<T>(c.budget) * (FeaturePool<T>::waves * sizeof(T) * c.classes + c.features)
                                   : 0;
            ring = narrow ? waves / (3 * NeighbourRing<T>::row_bytes(c.features, c.classes)) : 0;
            if (ring < 64) ring = 0;
            tables = AdditiveTables<T>::bytes(c.features, c.classes) <= waves / 2;
            matrix = narrow && RecursiveLeastSquares::doubles(c.features + 1) * sizeof(double) <= waves;
            relevance = narrow && waves > 0;
        }
        std::size_t others() const { return (ring > 0 ? 1 : 0) + (tables ? 1 : 0) + 1; }

        std::size_t ring = 0;
        bool tables = false, matrix = false, relevance = false;
    };

    struct Course {
        typename ColumnScale<T>::Pace pace;
        RelativeWeights weights;
        std::uint64_t next_review;
    };
    struct Target {
        TargetScale scale;
        IntervalTracker intervals;
        double offset;  // of a quantile's answers, in units of scale.size
        double unit;    // of coefficients: a power of 2 near the deviation of y, so that single precision can hold them
    };
    struct Width {
        double inverse;       // in the units of z'
        std::uint64_t tiles;  // that it owns
    };
    struct Expert {
        double weight;   // w
        double squares;  // of its lessons
        double loss;     // mean of its own over the last `memory_of_loss` rows or so, in units of v
    };

    // Experts: the linear one, the widths, then what there is of ring and tables, and the constant.
    std::size_t ring_place() const { return K_; }
    std::size_t tables_place() const { return K_ + (parts_.ring > 0 ? 1 : 0); }
    std::size_t constant() const { return E_ - 1; }
    Expert& expert(std::size_t i, std::size_t r) const { return experts_[i * m_ + r]; }
    double* linear(std::size_t r) const { return linear_ + r * n_; }
    RecursiveLeastSquares mixture(std::size_t r) const {
        return {E_, mixtures_ + r * RecursiveLeastSquares::doubles(E_), 0.999, 30.0};
    }

    // Scratch: steps of the linear one (unused) and the widths, of the tables; F; clipped errors; a vector and room.
    double* steps() const { return scratch_; }
    double* table_steps() const { return scratch_ + K_ * m_; }
    double* f() const { return table_steps() + m_; }
    double* errors() const { return f() + m_; }
    double* vector() const { return errors() + m_; }
    double* room() const { return vector() + larger(n_, E_); }

    // Rows of a workspace: z' and the ring's numbers.
    T* weighed(const Workspace<T>& work) const { return work.rows; }
    T* rounded(const Workspace<T>& work) const { return work.rows + padded<T>(config_.features); }
    const T* seen(Workspace<T>& work) const { return parts_.relevance ? weighed(work) : work.query.row(); }

    // ---- scores -----------------------------------------------------------------------------------------------------

    // Leaves s_ir in work.values[im + r].
    void evaluate(Query<T> z, Workspace<T>& work, bool to_learn) const {
        const T* row = z.dense;
        for (std::size_t n = 0; n < K_ * m_; ++n) work.partial[n] = Pack<T>(T(0));
        if (parts_.relevance) {
            relevance_.apply(row, weighed(work));
            z.dense = weighed(work);
        }
        pool_.evaluate(z, [&](std::size_t i) { return widths_[i].inverse; }, work.partial, to_learn);
        double* s = work.values;
        for (std::size_t r = 0; r < m_; ++r) {
            s[r] = linear(r)[n_ - 1];
            for (std::size_t k = 0; k + 1 < n_; ++k) s[r] += linear(r)[k] * near(row[k]);
        }
        for (std::size_t n = m_; n < K_ * m_; ++n) s[n] = sum(work.partial[n]);
        if (parts_.ring > 0) {
            ring_.round(row, rounded(work));
            const std::uint64_t rows = this->clock();
            const auto found = ring_.find(rounded(work), relevance_.factors(), rows > 0 ? rows - 1 : 0);
            for (std::size_t r = 0; r < m_; ++r) s[ring_place() * m_ + r] = ring_.mean(found, r);
        }
        if (parts_.tables) tables_.evaluate(row, s + tables_place() * m_);
        for (std::size_t r = 0; r < m_; ++r) s[constant() * m_ + r] = std::sqrt(targets_[r].scale.variance);
        for (std::size_t n = 0; n < E_ * m_; ++n) {
            const std::size_t i = n / m_;
            const Target& t = targets_[n % m_];
            s[n] = within_reach(t, i == 0 || i == constant() ? s[n] : t.unit * s[n]);
        }
    }
    static double near(T z) { return larger(-most_z, smaller(static_cast<double>(z), most_z)); }
    static double within_reach(const Target& t, double score) {
        const double most = 2.0 * t.scale.peak;
        return larger(-most, smaller(score, most));
    }

    void mix(const Workspace<T>& work, double* F) const {
        for (std::size_t r = 0; r < m_; ++r) {
            F[r] = 0.0;
            for (std::size_t i = 0; i < E_; ++i) F[r] += expert(i, r).weight * work.values[i * m_ + r];
            F[r] = within_reach(targets_[r], F[r]);
        }
    }
    void answer(double* F) const {
        for (std::size_t r = 0; r < m_; ++r)
            F[r] += targets_[r].scale.mean + targets_[r].offset * targets_[r].scale.size;
    }
    void tell_linear(double* F) const {
        if (!F) return;
        for (std::size_t r = 0; r < m_; ++r) F[r] = work_.values[r];
        answer(F);
    }

    // ---- lessons ----------------------------------------------------------------------------------------------------

    double loss_of(double error) const {
        const double tau = config_.quantile;
        if (tau == 0.0) return error * error;
        return error > 0.0 ? tau * error : (tau - 1.0) * error;
    }

    // The error as a lesson: of a quantile, the Newton step towards it, which is the same for all large errors.
    double lesson_of(const TargetScale& scale, double error) const {
        const double tau = config_.quantile, deviation = 1.2533141373155003 * scale.size;
        if (tau == 0.0 || !(deviation > 0.0)) return scale.clipped(error);
        const double above = 0.5 + 0.5 * larger(-1.0, smaller(error / (0.5 * deviation), 1.0));
        return newton_ * deviation * (above - (1.0 - tau));
    }

    // Counts from the second row on: the first one is all that is known of y.
    void teach(const double* y, const double* answers, double times, std::uint64_t rounds) {
        for (std::size_t r = 0; r < m_; ++r) {
            Target& t = targets_[r];
            if (!repeats_) judge(t, y[r] - answers[r]);
            errors()[r] = lesson_of(t.scale, y[r] - t.scale.mean - f()[r]);
            plan_steps(r, y[r] - t.scale.mean, times, rounds);
        }
        const bool weigh = parts_.relevance && rounds % 2 == 0;
        if (weigh)
            pool_.step(
                steps(), [&](std::size_t i) { return widths_[i].inverse; },
                [&](std::size_t i, std::size_t r) { return -per_error(r) * expert(i, r).weight; });
        else
            pool_.step(steps());
        if (parts_.tables) tables_.step(work_.query.row(), table_steps());
        if (weigh) weigh_columns();
        teach_linear(times, rounds);
        if (parts_.ring > 0) {
            T* values = ring_.store(rounded(work_), rounds - 2);
            for (std::size_t r = 0; r < m_; ++r)
                values[r] = static_cast<T>((f()[r] + errors()[r] - work_.values[r]) / targets_[r].unit);
        }
        for (std::size_t r = 0; r < m_ && !repeats_; ++r) {
            teach_mixture(r, times, rounds);
            follow(r, y[r], rounds);
        }
    }
    void judge(Target& t, double error) const {
        t.intervals.observe(error, t.scale.size);
        if (config_.quantile > 0.0) t.offset += 0.02 * ((error > 0.0 ? 1.0 : 0.0) - (1.0 - config_.quantile));
    }

    // Steps of the widths and the tables, down the slope; the share of all experts in the review.
    void plan_steps(std::size_t r, double y, double times, std::uint64_t rounds) {
        const Target& t = targets_[r];
        const double v = larger(t.scale.variance, 1e-300), rest = f()[r] + errors()[r] - work_.values[r];
        const double recent = static_cast<double>(rounds < memory_of_loss ? rounds : memory_of_loss);
        for (std::size_t i = 1; i < constant(); ++i) {
            const double s = work_.values[i * m_ + r], own = rest - s;
            Expert& expert = this->expert(i, r);
            if (t.scale.variance > 0.0 && !repeats_) {
                const double loss =
                    config_.quantile == 0.0 ? own * own / v : loss_of(y - work_.values[r] - s) / std::sqrt(v);
                approach(expert.loss, smaller(loss, 1e6), recent);
            }
            const double g = (1.0 - share_of_mixture) * own + share_of_mixture * errors()[r];
            expert.squares *= 0.9995;
            const double rate = times * std::sqrt(v / (v + expert.squares + times * times * g * g));
            expert.squares += times * g * g;
            if (i < K_) {
                const auto features = static_cast<double>(frequencies(i));
                const double most = rate_of_waves * std::sqrt(smaller(features, 2048.0) / 2048.0);
                steps()[i * m_ + r] = features > 0.0 ? -smaller(most * rate, 0.9) * g / (features * t.unit) : 0.0;
            } else if (parts_.tables && i == tables_place()) {
                table_steps()[r] = smaller(rate_of_tables * rate, 0.5) * g / t.unit;
            }
        }
    }

    // Slope of the loss in F_r, for coefficients in their unit.
    double per_error(std::size_t r) const {
        const Target& t = targets_[r];
        return t.scale.variance > 0.0 ? errors()[r] / t.scale.variance * t.unit : 0.0;
    }
    void weigh_columns() {
        pool_.slopes(slopes_);
        for (std::size_t k = 0; k < config_.features; ++k) slopes_[k] *= weighed(work_)[k];
        relevance_.step(slopes_, T(Tuning::Relevance::OfNumbers::rate));
        relevance_.refresh();
    }

    void teach_linear(double times, std::uint64_t rounds) {
        double* x = vector();
        for (std::size_t k = 0; k + 1 < n_; ++k) x[k] = near(work_.query.row()[k]);
        x[n_ - 1] = 1.0;
        if (parts_.matrix) matrix_.update(x, times, rounds, room());
        for (std::size_t r = 0; r < m_; ++r) {
            const double g = f()[r] + errors()[r] - work_.values[r];
            const double g2 = g * g / larger(targets_[r].scale.variance, 1e-300);
            for (std::size_t k = 0; k < n_; ++k) {
                double step = x[k];
                if (!parts_.matrix) {
                    T& squares = squares_[r * n_ + k];
                    const double kept = 0.9997 * static_cast<double>(squares), more = smaller(g2 * x[k] * x[k], 1e9);
                    step *= rate_of_linear * times / std::sqrt(1.0 + kept + times * times * more);
                    squares = static_cast<T>(kept + times * more);
                }
                linear(r)[k] += step * g;
            }
        }
    }

    void teach_mixture(std::size_t r, double times, std::uint64_t rounds) {
        const double deviation = std::sqrt(targets_[r].scale.variance);
        if (!(deviation > 1e-100)) return;
        double* x = vector();
        for (std::size_t i = 0; i < E_; ++i) x[i] = work_.values[i * m_ + r] / deviation;
        mixture(r).update(x, times, rounds, room());
        for (std::size_t i = 0; i < E_; ++i) {
            double& w = expert(i, r).weight;
            w = larger(-most_weight, smaller(w + x[i] * (errors()[r] / deviation), most_weight));
        }
    }

    // ---- change -----------------------------------------------------------------------------------------------------

    // Takes the target into its scale. After an alarm it forgets how much was learned, but not what: steps are long
    // again. If the scale of y is another one, so is what was learned.
    void follow(std::size_t r, double y, std::uint64_t rounds) {
        constexpr double keep = 0.02;
        Target& t = targets_[r];
        const TargetScale::Change change = t.scale.observe(y, y - t.scale.mean - f()[r], rounds);
        if (change.alarm) {
            mixture(r).forget(keep, room());
            for (std::size_t i = 0; i < E_; ++i) expert(i, r).squares *= keep;
            if (parts_.matrix) matrix_.forget(keep, room());
            for (std::size_t k = 0; squares_ && k < n_; ++k) squares_[r * n_ + k] *= T(keep);
        }
        double factor = change.ratio;
        if (factor != 1.0) {
            for (std::size_t i = 0; i < E_; ++i)
                expert(i, r).squares = smaller(factor * factor * expert(i, r).squares, 1e150);
            for (std::size_t k = 0; k < n_; ++k) linear(r)[k] *= factor;
        }
        const double deviation = std::sqrt(t.scale.variance);
        if (deviation > 0x1p+20 * t.unit || (deviation > 1e-80 && deviation < 0x1p-20 * t.unit)) {
            const double unit = power_of_two_below(deviation);
            factor *= t.unit / unit;
            t.unit = unit;
        }
        if (factor == 1.0) return;
        pool_.scale(r, factor);
        if (parts_.ring > 0) ring_.scale(r, factor);
        if (parts_.tables) tables_.scale(r, factor);
    }
    static double power_of_two_below(double x) {
        return bit_cast<double>(bit_cast<std::uint64_t>(x) & (std::uint64_t(0x7ff) << 52));
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    void measure() {
        for (std::size_t i = 0; i < K_; ++i) widths_[i].inverse = inverse_width(i);
    }
    double inverse_width(std::size_t i) const {
        return i > 0 ? 1.0 / (config_.kernels[i].parameter * std::sqrt(scale_.square())) : 0.0;
    }

    // A width that owns tiles serves the next one too, so the last one needs none of its own.
    std::size_t owners() const { return K_ > 1 ? K_ - 2 : 0; }
    std::size_t frequencies(std::size_t i) const {
        return static_cast<std::size_t>(widths_[i].tiles + (i > 0 ? widths_[i - 1].tiles : 0)) * lanes_of<T>;
    }

    void review(std::uint64_t rounds) {
        course_->next_review = rounds + 1 + smaller(rounds / 10, longest_pause);
        const auto loss = [&](std::size_t i) {
            double total = 0.0;
            for (std::size_t r = 0; r < m_; ++r) total += expert(i, r).loss;
            return total / static_cast<double>(m_);
        };
        pool_.review(
            owners(), T(0.05) + T(1) / std::sqrt(static_cast<T>(rounds)), T(1e-6), loss,
            [&](std::size_t i) -> std::uint64_t& { return widths_[i].tiles; }, vector());
    }

    // In units of the targets' own.
    double norm(std::size_t i) const {
        if (i > 0) return std::sqrt(pool_.norm2(i));
        double total = 0.0;
        for (std::size_t r = 0; r < m_; ++r)
            for (std::size_t k = 0; k < n_; ++k) {
                const double a = linear(r)[k] / targets_[r].unit;
                total += a * a;
            }
        return std::sqrt(total);
    }

    Known<parts::functions> m_;  // targets
    std::size_t n_;              // coefficients of the linear model: its bias is the last one
    Parts parts_;
    std::size_t E_;  // experts
    Course* course_ = nullptr;
    Target* targets_ = nullptr;
    Width* widths_ = nullptr;
    Expert* experts_ = nullptr;
    double* mixtures_ = nullptr;
    double* linear_ = nullptr;
    RecursiveLeastSquares matrix_;
    T* squares_ = nullptr;  // of the linear model's lessons, if it has no matrix
    ColumnScale<T> scale_;
    Relevance relevance_;
    NeighbourRing<T> ring_;
    AdditiveTables<T> tables_;
    FeaturePool<T> pool_;
    double* scratch_ = nullptr;
    T* slopes_ = nullptr;
    double newton_ = 0.0;  // 1 over the normal density at the quantile
};

static_assert(sizeof(void*) != 8 || (sizeof(PocketRegressor<float>) <= PocketRegressor<float>::object_bytes &&
                                     sizeof(PocketRegressor<double>) <= PocketRegressor<double>::object_bytes));

POCKETKERNEL_END
