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

#include "../column_relevance.hpp"
#include "../column_scale.hpp"
#include "../experts/additive.hpp"
#include "../experts/least_squares.hpp"
#include "../experts/neighbours.hpp"
#include "../feature_pool.hpp"
#include "../mixture/number_mixture.hpp"
#include "../target.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class PocketRegressor : public Learner<T> {
  public:
    using Element = T;
    static constexpr std::size_t object_bytes = Learner<T>::pocket_bytes;
    using Relevance = ColumnRelevance<T, Tuning::Relevance::OfNumbers>;
    static constexpr const char* name = "pocket_regressor";
    static constexpr std::uint32_t revision = 4;  // 3 counted rows of columns that move on
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
        : Learner<T>(c, arena, {false, Tuning::wide_from, 2}),
          m_(c.classes),
          parts_(c),
          course_(arena.take<Course>(1)),
          targets_(arena.take<Target>(m_)),
          widths_(arena.take<Width>(K_)),
          mixture_(arena, K_ + parts_.others(), m_),
          linear_(arena, c.features, m_, parts_.matrix) {
        const bool may_be_sparse = c.features >= Tuning::wide_from;
        scale_ = ColumnScale<T>(arena, c.features, may_be_sparse, course_ ? &course_->pace : nullptr);
        if (parts_.relevance) relevance_ = Relevance(arena, c.features);
        if (parts_.ring > 0) ring_ = NeighbourRing<T>(arena, parts_.ring, c.features, m_);
        if (parts_.tables) tables_ = AdditiveTables<T>(arena, c.features, m_);
        pool_ = FeaturePool<T>(arena, K_ > 1 ? c.budget : std::size_t(0), c.features, m_, may_be_sparse);
        this->end_of_state(arena, experts() * m_);
        pool_.plan(arena);
        scratch_ = arena.take<double>((K_ + 3) * m_ + 2 * longest());
        slopes_ = arena.take<T>(parts_.relevance ? c.features : std::size_t(0));
        if (c.quantile > 0.0) newton_ = Target::newton(c.quantile);
    }

    void reset() {
        common_->rng = draw_constants();
        scale_.reset();
        if (parts_.relevance) relevance_.reset();
        linear_.reset();
        if (!pool_.is_constant()) pool_.draw(common_->rng);
        if (K_ > 1) pool_.reset(owners());
        for (std::size_t i = 0; i < K_; ++i) widths_[i].tiles = pool_.tiles_of(i);
        mixture_.reset();
        for (std::size_t r = 0; r < m_; ++r) targets_[r].reset();
        course_->next_review = Tuning::first_review;
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
        for (std::size_t r = 0; r < m_; ++r) loss += Target::loss(y[r] - F[r], config_.quantile);
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
                total += absolute(mixture_.of(j, r).weight);
                if (j == i) own += absolute(mixture_.of(j, r).weight);
            }
        return {total > 0.0 ? own / total : 1.0 / static_cast<double>(K_), norm(i), 0.0, frequencies(i), 0, 0, 0};
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        bool good = this->common_valid() && scale_.valid(this->clock()) && pool_.valid(owners()) &&
                    relevance_.valid() && ring_.valid() && tables_.valid() && course_->weights.valid() &&
                    linear_.valid() && mixture_.valid();
        for (std::size_t r = 0; r < m_; ++r) good = good && targets_[r].valid();
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

    // What there is besides the linear model and the widths; see the top.
    struct Parts {
        explicit Parts(const Config& c) {
            using Shares = Tuning::Numbers;
            const bool narrow = c.features < Tuning::wide_from;
            const std::size_t waves =
                c.kernel_count > 1 ? padded<T>(c.budget) * (FeaturePool<T>::waves * sizeof(T) * c.classes + c.features)
                                   : 0;
            ring = narrow ? waves / (Shares::ring_share * NeighbourRing<T>::row_bytes(c.features, c.classes)) : 0;
            if (ring < Shares::least_ring) ring = 0;
            tables = AdditiveTables<T>::bytes(c.features, c.classes) <= waves / Shares::tables_share;
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
    struct Width {
        double inverse;       // in the units of z'
        std::uint64_t tiles;  // that it owns
    };
    // Experts: the linear one, the widths, then what there is of ring and tables, and the constant.
    std::size_t ring_place() const { return K_; }
    std::size_t tables_place() const { return K_ + (parts_.ring > 0 ? 1 : 0); }
    std::size_t experts() const { return mixture_.experts(); }
    std::size_t constant() const { return experts() - 1; }
    // Scratch: steps of the linear one (unused) and the widths, of the tables; F; clipped errors; a vector and room.
    double* steps() const { return scratch_; }
    double* table_steps() const { return scratch_ + K_ * m_; }
    double* f() const { return table_steps() + m_; }
    double* errors() const { return f() + m_; }
    double* vector() const { return errors() + m_; }
    double* room() const { return vector() + longest(); }
    std::size_t longest() const { return larger(linear_.coefficients(), experts()); }

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
        for (std::size_t r = 0; r < m_; ++r) s[r] = linear_.score(row, r);
        for (std::size_t n = m_; n < K_ * m_; ++n) s[n] = sum(work.partial[n]);
        if (parts_.ring > 0) {
            ring_.round(row, rounded(work));
            const std::uint64_t rows = this->clock();
            const auto found = ring_.find(rounded(work), relevance_.factors(), rows > 0 ? rows - 1 : 0);
            for (std::size_t r = 0; r < m_; ++r) s[ring_place() * m_ + r] = ring_.mean(found, r);
        }
        if (parts_.tables) tables_.evaluate(row, s + tables_place() * m_);
        for (std::size_t r = 0; r < m_; ++r) s[constant() * m_ + r] = targets_[r].deviation();
        for (std::size_t n = 0; n < experts() * m_; ++n) {
            const std::size_t i = n / m_;
            const Target& t = targets_[n % m_];
            s[n] = t.within_reach(i == 0 || i == constant() ? s[n] : t.unit * s[n]);
        }
    }
    void mix(const Workspace<T>& work, double* F) const {
        for (std::size_t r = 0; r < m_; ++r) F[r] = targets_[r].within_reach(mixture_.mix(work.values, r));
    }
    void answer(double* F) const {
        for (std::size_t r = 0; r < m_; ++r) F[r] += targets_[r].level();
    }
    void tell_linear(double* F) const {
        if (!F) return;
        for (std::size_t r = 0; r < m_; ++r) F[r] = work_.values[r];
        answer(F);
    }

    // ---- lessons ----------------------------------------------------------------------------------------------------

    // Counts from the second row on: the first one is all that is known of y.
    void teach(const double* y, const double* answers, double times, std::uint64_t rounds) {
        for (std::size_t r = 0; r < m_; ++r) {
            Target& t = targets_[r];
            if (!repeats_) t.judge(y[r] - answers[r], config_.quantile);
            errors()[r] = t.lesson(y[r] - t.scale.mean - f()[r], config_.quantile, newton_);
            plan_steps(r, y[r] - t.scale.mean, times, rounds);
        }
        const bool weigh = parts_.relevance && rounds % 2 == 0;
        if (weigh)
            pool_.step(
                steps(), [&](std::size_t i) { return widths_[i].inverse; },
                [&](std::size_t i, std::size_t r) { return -per_error(r) * mixture_.of(i, r).weight; });
        else
            pool_.step(steps());
        if (parts_.tables) tables_.step(work_.query.row(), table_steps());
        if (weigh) weigh_columns();
        linear_.step(
            work_.query.row(), times, rounds, [&](std::size_t r) { return f()[r] + errors()[r] - work_.values[r]; },
            [&](std::size_t r) { return targets_[r].scale.variance; }, vector(), room());
        if (parts_.ring > 0) {
            T* values = ring_.store(rounded(work_), rounds - 2);
            for (std::size_t r = 0; r < m_; ++r)
                values[r] = static_cast<T>((f()[r] + errors()[r] - work_.values[r]) / targets_[r].unit);
        }
        for (std::size_t r = 0; r < m_ && !repeats_; ++r) {
            mixture_.learn(r, work_.values, errors()[r], targets_[r].deviation(), times, rounds, vector(), room());
            follow(r, y[r], rounds);
        }
    }
    // Steps of the widths and the tables, down the slope; the share of all experts in the review.
    void plan_steps(std::size_t r, double y, double times, std::uint64_t rounds) {
        using Rates = Tuning::Numbers;
        constexpr double saturation = Tuning::Waves::saturation;
        const Target& t = targets_[r];
        const double v = larger(t.scale.variance, 1e-300), rest = f()[r] + errors()[r] - work_.values[r];
        for (std::size_t i = 1; i < constant(); ++i) {
            const double s = work_.values[i * m_ + r], own = rest - s;
            NumberMixture::Expert& expert = mixture_.of(i, r);
            if (t.scale.variance > 0.0 && !repeats_) {
                const double loss = config_.quantile == 0.0
                                        ? own * own / v
                                        : Target::loss(y - work_.values[r] - s, config_.quantile) / std::sqrt(v);
                approach(expert.loss, smaller(loss, 1e6), recent_rows(rounds));
            }
            const double g = (1.0 - Rates::share_of_mixture) * own + Rates::share_of_mixture * errors()[r];
            expert.squares *= Rates::keep;
            const double rate = times * std::sqrt(v / (v + expert.squares + times * times * g * g));
            expert.squares += times * g * g;
            if (i < K_) {
                const auto features = static_cast<double>(frequencies(i));
                const double most = Rates::rate_of_waves * std::sqrt(smaller(features, saturation) / saturation);
                steps()[i * m_ + r] =
                    features > 0.0 ? -smaller(most * rate, Rates::most_of_waves) * g / (features * t.unit) : 0.0;
            } else if (parts_.tables && i == tables_place()) {
                table_steps()[r] = smaller(Rates::rate_of_tables * rate, Rates::most_of_tables) * g / t.unit;
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

    // ---- change -----------------------------------------------------------------------------------------------------

    // Takes the target into its scale. After an alarm it forgets how much was learned, but not what: steps are long
    // again. If the scale of y is another one, so is what was learned.
    void follow(std::size_t r, double y, std::uint64_t rounds) {
        constexpr double keep = Tuning::kept_after_change;
        Target& t = targets_[r];
        const TargetScale::Change change = t.scale.observe(y, y - t.scale.mean - f()[r], rounds);
        if (change.alarm) {
            mixture_.hurry(r, keep, room());
            linear_.hurry(r, keep, room());
        }
        if (change.ratio != 1.0) {
            mixture_.scale(r, change.ratio);
            linear_.scale(r, change.ratio);
        }
        const double factor = change.ratio * t.rebase();
        if (factor == 1.0) return;
        pool_.scale(r, factor);
        if (parts_.ring > 0) ring_.scale(r, factor);
        if (parts_.tables) tables_.scale(r, factor);
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
        course_->next_review = rounds + 1 + smaller(rounds / Tuning::rows_between_reviews, Tuning::longest_pause);
        const auto loss = [&](std::size_t i) {
            double total = 0.0;
            for (std::size_t r = 0; r < m_; ++r) total += mixture_.of(i, r).loss;
            return total / static_cast<double>(m_);
        };
        pool_.review(
            owners(), T(Tuning::Waves::tolerance) + T(1) / std::sqrt(static_cast<T>(rounds)),
            T(Tuning::Numbers::least_loss), loss, [&](std::size_t i) -> std::uint64_t& { return widths_[i].tiles; },
            vector());
    }

    // In units of the targets' own.
    double norm(std::size_t i) const {
        return std::sqrt(i > 0 ? pool_.norm2(i) : linear_.norm2([&](std::size_t r) { return targets_[r].unit; }));
    }

    Known<parts::functions> m_;  // targets
    Parts parts_;
    Course* course_;
    Target* targets_;
    Width* widths_;
    NumberMixture mixture_;
    LeastSquares<T> linear_;
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
