// PocketClassifier: a linear model and random features of several widths, mixed by a Newton step.
//
//   z      the row, its columns brought to one scale (ColumnScale)
//   z'     z, its columns weighed by how much they matter (ColumnRelevance)
//   s_i    expert i's score, within +-8:  the first is linear in z, others have a width in z' (FeaturePool), one
//          asks the nearest of the last rows (LabelRing), and the last one knows only the last labels (LabelLags)
//   F      sum_i w_i s_i, mixed by NewtonMixture
//   l      logistic loss; g_i is its slope at 0.7 s_i + 0.3 F, so that experts also mend what the mixture gets wrong
//
// Experts take AdaGrad steps: the linear one with a rate for every column, the others with one rate for all their
// features, whose squares sum to the same in every row. Memory follows the evidence: now and then widths that lose lend
// tiles to those that win. Two tests on the side tell when the stream has changed. Of two classes one function is
// learned, of more one for each.
//
// The kernels of the config are the linear one, then Gaussians, each half as wide as the one before; then a Laplacian
// one, of the same distance, if there is to be a ring of rows (for more than two classes, with twice as many bytes as
// the frequencies); then a linear one again if there is to be an expert on the last labels. Widths are in
// units of the data's own scale, the root of the mean |z'|^2. budget is D, the frequencies of all widths together.
#pragma once

#include "../column_relevance.hpp"
#include "../column_scale.hpp"
#include "../feature_pool.hpp"
#include "../label_lags.hpp"
#include "../label_ring.hpp"
#include "../mixture_ledger.hpp"
#include "../newton_mixture.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class PocketClassifier : public Learner<T> {
  public:
    using Element = T;
    static constexpr const char* name = "pocket_classifier";
    static constexpr std::uint32_t revision = 3;  // 2 had one rate for all waves, and no relevance of columns
    static constexpr bool multiclass = true;

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, true, true, 0);
        if (status != Status::ok) return status;
        if (c.loss != Loss::logistic) return Status::loss_not_logistic;
        if (c.storage != Storage::full) return Status::storage_unsuited;
        const std::size_t widths = widths_of(c);
        const bool suited = is_linear_and_halving(c, widths) && (!keeps_rows(c) || (widths > 0 && c.classes > 2));
        return suited ? Status::ok : Status::kernels_not_halving;
    }

    PocketClassifier(const Config& c, Arena& arena)
        : Learner<T>(c, arena, {false, sparse_from, keeps_rows(c)}),
          R_(c.classes == 2 ? 1 : c.classes),
          widths_(widths_of(c)) {
        const bool may_be_sparse = c.features >= sparse_from;
        course_ = arena.take<Course>(1);
        experts_ = arena.take<Expert>(K_);
        const std::size_t lags = has_lags() ? LabelLags::doubles(R_) : 0;
        double* numbers = arena.take<double>(R_ + NewtonMixture::doubles(K_) + lags);
        bias_ = numbers;
        if (numbers) {  // else the arena only counts
            mixture_ = NewtonMixture(K_, numbers + R_);
            lags_ = LabelLags(R_, numbers + R_ + NewtonMixture::doubles(K_));
        }
        if (K_ > 1) ledger_ = MixtureLedger(K_, arena.take<double>(MixtureLedger::doubles(K_)));
        scale_ = ColumnScale<T>(arena, c.features, may_be_sparse, course_ ? &course_->pace : nullptr);
        if (widths_ > 0) relevance_ = ColumnRelevance<T>(arena, c.features, {1.0, 0.9999, 0.0001});
        linear_ = Coefficients<T>(arena, R_ + 1, c.features);
        pool_ = FeaturePool<T>(arena, widths_ > 0 ? c.budget : 0, c.features, R_, may_be_sparse);
        if (has_ring()) {
            const double pool_bytes =
                static_cast<double>(pool_.tiles() * lanes_of<T>) * static_cast<double>(4 * sizeof(T) * R_ + c.features);
            ring_ = LabelRing<T>(arena, 2.0 * pool_bytes, c.features);
        }
        this->end_of_state(arena, (1 + widths_) * R_);
        pool_.plan(arena);
        scratch_ = arena.take<double>((K_ + 5) * R_ + K_ + NewtonMixture::doubles(K_));
    }

    void reset() {
        common_->rng = Rng(config_.seed);
        mixture_.reset();
        if (has_lags()) lags_.reset();
        if (has_ring()) ring_.reset();
        scale_.reset();
        relevance_.reset();
        if (widths_ > 0) pool_.reset(common_->rng, owners());
        for (std::size_t i = 0; i < K_; ++i) {
            experts_[i].squares = 1.0;
            experts_[i].tiles = pool_.tiles_of(i);
        }
        for (std::size_t k = 0; k < config_.features; ++k) squares()[k] = T(1);
        course_->next_review = first_review;
        measure();
    }

    // A linear model alone has none, whatever the budget.
    double frequency(std::size_t j, std::size_t k) const { return widths_ > 0 ? pool_.frequency(j, k) : 0.0; }

    // e^rho_k; of a linear model alone all columns count alike.
    double relevance(std::size_t k) const { return widths_ > 0 ? static_cast<double>(relevance_.factors()[k]) : 1.0; }

    static constexpr bool reads_rows = true;     // by itself: a row is scaled in double precision before it is rounded
    static constexpr bool takes_missing = true;  // z = 0, the usual value
    static double largest_value(Storage) { return ColumnScale<T>::value_limit; }

    template <class U>
    void score(const Row<U>& row, Workspace<T>& work, double* F) const {
        const Found found = evaluate(scale_.read(row, work.query), work, false);
        mix(work, found, F);
        answer(F);
    }

    // The scores of all classes, made before it learned, are left in F; those of the linear expert alone in `linear`,
    // unless it is null.
    static constexpr bool tells_linear = true;
    template <class U>
    void learn(const Row<U>& row, std::size_t y, double weight, double* F, double* linear = nullptr) {
        if (weight == 0.0) {
            score(row, work_, F);
            return tell_linear(linear);
        }
        const std::uint64_t rounds = common_->tally.rounds + 1;
        const Query<T> z = scale_.learn(row, work_.query, rounds);
        const Found found = evaluate(z, work_, true);
        mix(work_, found, F);
        for (std::size_t r = 0; r < R_; ++r) {
            f()[r] = F[r];
            if (has_ring()) ringed()[r] = score_of_ring(found, r);
            if (has_lags()) lagged()[r] = score_of_lags(r);
        }
        answer(F);
        tell_linear(linear);
        const std::size_t target = course_->turned ? 1 - y : y;
        const double loss = lesson(f(), target, slope());
        this->record(largest(F, config_.classes) != y, weight * loss);
        ledger_.observe(weight, target, slope(), R_, [&](std::size_t n) { return n == 0 ? f() : scores_of(n - 1); });
        const double times = course_->weights.times(weight, rounds);
        const bool weigh = widths_ > 0 && weighs_columns(rounds);
        teach_experts(target, found, weight, times, rounds, weigh);
        teach_mixture(times);
        if (has_lags()) lags_.push(target);
        if (has_ring()) ring_.store(rounded(work_), target);
        watch(target, times, loss);
        scale_.observe_square(work_.query.row(), rounds);
        if (weigh) weigh_columns(z, times);
        if (scale_.refresh(rounds)) {
            refresh();
        } else {
            scale_.refresh_moved([&](std::size_t k, T change) {
                pool_.refresh_column(k, widths_ > 0 ? change * relevance_.factors()[k] : change);
            });
        }
        if (has_ring() && rounds % 64 == 0) ring_.weigh(relevance_.factors());
        if (owners() > 1 && rounds >= course_->next_review) review(rounds);
    }

    // Before the same rows come again: each would be its own nearest neighbour, and the ring would seem infallible.
    void forget_rows() {
        if (has_ring()) ring_.forget();
    }
    void forget_lags() {
        if (has_lags()) lags_.forget();
    }

    // An expert's weight is its share in the mixture's norm.
    KernelReport report(std::size_t i) const {
        double total = 0.0;
        for (std::size_t j = 0; j < K_; ++j) total += pull(j);
        const double weight = total > 0.0 ? pull(i) / total : 1.0 / static_cast<double>(K_);
        return {weight, std::sqrt(norm2(i)), 0.0, is_ring(i) ? ring_.rows() : frequencies(i), 0, 0, 0};
    }

    // What MixtureLedger keeps, in its order.
    template <class Visit>
    void for_each_evidence(Visit&& visit) const {
        ledger_.for_each(visit);
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = this->common_valid() && mixture_.valid() && ledger_.valid() &&
                    scale_.valid(common_->tally.rounds) && relevance_.valid() && (!has_lags() || lags_.valid()) &&
                    (!has_ring() || ring_.valid(R_, most_rounds)) &&
                    pool_.valid(owners(), ColumnScale<T>::farthest * ColumnRelevance<T>::largest_factor) &&
                    linear_.finite(beyond_all * beyond_all) && within(course_->reversal, 0.0, 100.0) &&
                    within(course_->surprise, 0.0, 100.0) && course_->weights.valid() && course_->turned <= (R_ == 1);
        for (std::size_t r = 0; r < R_; ++r) {
            good = good && within(bias_[r], -beyond_all, beyond_all);
            for (std::size_t k = 0; k < config_.features; ++k)
                good = good && within(static_cast<double>(linear_.of(r)[k]), -beyond_all, beyond_all);
        }
        for (std::size_t k = 0; k < config_.features; ++k)
            good = good && within(static_cast<double>(squares()[k]), 1.0, beyond_all * beyond_all);
        for (std::size_t i = 0; i < K_; ++i)
            good = good && within(experts_[i].squares, 1.0, beyond_all * beyond_all) &&
                   within(experts_[i].loss, 0.0, beyond_all) && experts_[i].tiles == pool_.tiles_of(i) &&
                   experts_[i].inverse_width == inverse_width(i);
        return good;
    }

  private:
    using Learner<T>::K_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::work_;

    static constexpr double rate_of_linear = 0.1, most = 8.0, share_of_mixture = 0.3;
    static constexpr std::uint64_t memory_of_loss = 1000, first_review = 100, longest_pause = 4096;
    static constexpr std::size_t sparse_from = 64;
    static constexpr double beyond_all = 1e12;

    struct Expert {
        double squares;        // 1 + sum of g_i^2; of the linear one, for its bias
        double loss;           // mean of its own loss over the last `memory_of_loss` rows or so
        double inverse_width;  // in the units of z
        std::uint64_t tiles;   // that it owns
    };

    struct Course {
        typename ColumnScale<T>::Pace pace;
        RelativeWeights weights;
        double reversal, surprise;  // evidence that the stream has changed, see `watch`
        std::uint64_t next_review;
        std::uint64_t turned;  // 1 if the two classes have changed places
    };

    // Experts behind the widths: the ring, then the last labels.
    static bool knows_labels(const Config& c) {
        return c.kernel_count > 1 && c.kernels[c.kernel_count - 1].family == Family::linear;
    }
    static bool keeps_rows(const Config& c) {
        const std::size_t count = c.kernel_count - knows_labels(c);
        return count > 1 && c.kernels[count - 1].family == Family::laplacian;
    }
    static std::size_t widths_of(const Config& c) { return c.kernel_count - 1 - knows_labels(c) - keeps_rows(c); }
    bool has_lags() const { return knows_labels(config_); }
    bool has_ring() const { return keeps_rows(config_); }

    using Found = typename LabelRing<T>::Found;
    static std::uint8_t* rounded(const Workspace<T>& work) { return reinterpret_cast<std::uint8_t*>(work.rows); }

    // Scratch: slopes of all experts; scores of the ring, of the last labels, of the mixture, its slopes, and another
    // such row; one number for each expert and, behind it, room for the mixture's.
    double* slopes_of(std::size_t i) { return scratch_ + i * R_; }
    double* ringed() { return scratch_ + K_ * R_; }
    double* lagged() { return ringed() + R_; }
    double* f() { return lagged() + R_; }
    double* slope() { return f() + R_; }
    double* blend() { return slope() + R_; }
    double* u() { return blend() + R_; }

    T* squares() { return linear_.of(R_); }
    const T* squares() const { return linear_.of(R_); }

    // ---- scores -----------------------------------------------------------------------------------------------------

    // Leaves s_ir in work.values[iR + r], and z' in the place of z; answers what the ring has found.
    Found evaluate(const Query<T>& z, Workspace<T>& work, bool to_learn) const {
        Found found{};
        if (has_ring()) {
            ring_.round(z.dense, rounded(work));
            found = ring_.find(rounded(work));
        }
        for (std::size_t n = 0; n < (1 + widths_) * R_; ++n) work.partial[n] = Pack<T>(T(0));
        for (std::size_t r = 0; r < R_; ++r)
            for (std::size_t tile = 0; tile < packs_for<T>(config_.features); ++tile)
                work.partial[r] += linear_.pack(r, tile) * Pack<T>::load(z.dense + tile * lanes_of<T>);
        if (widths_ > 0) {
            relevance_.apply(z.dense, work.query.row());
            for (std::size_t n = 0; n < z.nonzeros; ++n)
                work.query.values()[n] *= relevance_.factors()[work.query.columns()[n]];
            pool_.evaluate(z, [&](std::size_t i) { return experts_[i].inverse_width; }, work.partial, to_learn);
        }
        for (std::size_t n = 0; n < (1 + widths_) * R_; ++n) {
            const double s = sum(work.partial[n]) + (n < R_ ? bias_[n] : 0.0);
            work.values[n] = larger(-most, smaller(most, s));
        }
        return found;
    }
    double score_of_ring(const Found& found, std::size_t r) const {
        return larger(-most, smaller(most, ring_.score(found, r)));
    }
    double score_of_lags(std::size_t r) const { return larger(-most, smaller(most, lags_.score(r))); }
    const double* scores_of(std::size_t i) {
        return i <= widths_ ? work_.values + i * R_ : is_ring(i) ? ringed() : lagged();
    }
    bool is_ring(std::size_t i) const { return has_ring() && i == 1 + widths_; }

    void mix(const Workspace<T>& work, const Found& found, double* F) const {
        for (std::size_t r = 0; r < R_; ++r) F[r] = 0.0;
        for (std::size_t i = 0; i <= widths_; ++i)
            for (std::size_t r = 0; r < R_; ++r) F[r] += mixture_.weight(i) * work.values[i * R_ + r];
        for (std::size_t r = 0; has_ring() && r < R_; ++r)
            F[r] += mixture_.weight(1 + widths_) * score_of_ring(found, r);
        for (std::size_t r = 0; has_lags() && r < R_; ++r) F[r] += mixture_.weight(K_ - 1) * score_of_lags(r);
    }

    // From the R scores within to one for each class.
    void answer(double* F) const {
        if (R_ > 1) return;
        const double half = course_->turned ? -0.5 * F[0] : 0.5 * F[0];
        F[0] = -half;
        F[1] = half;
    }

    void tell_linear(double* F) const {
        if (!F) return;
        for (std::size_t r = 0; r < R_; ++r) F[r] = work_.values[r];
        answer(F);
    }

    // ---- lessons ----------------------------------------------------------------------------------------------------

    // The loss of R scores, and its slopes.
    double lesson(const double* scores, std::size_t y, double* slopes) const {
        if (R_ == 1) {
            const LossPoint point = Logistic::at(scores[0], y == 1 ? 1.0 : -1.0);
            slopes[0] = point.derivative;
            return point.value;
        }
        double most_score = scores[0], total = 0.0;
        for (std::size_t r = 1; r < R_; ++r) most_score = larger(scores[r], most_score);
        for (std::size_t r = 0; r < R_; ++r) total += slopes[r] = exponential(scores[r] - most_score);
        for (std::size_t r = 0; r < R_; ++r) slopes[r] = slopes[r] / total - (r == y ? 1.0 : 0.0);
        return logarithm(total) + (most_score - scores[y]);
    }

    // A step allows for the row's whole slope, so that none is longer than a row's of weight 1 could be; what stays in
    // the accumulators is as if the row had come that many times.
    void teach_experts(std::size_t y, const Found& found, double weight, double times, std::uint64_t rounds,
                       bool weigh) {
        const double recent = static_cast<double>(rounds < memory_of_loss ? rounds : memory_of_loss);
        for (std::size_t i = 0; i < K_; ++i) {
            const double* s = scores_of(i);
            double* g = slopes_of(i);
            const double own = lesson(s, y, g);
            ledger_.charge(i, weight * own);
            experts_[i].loss += (own - experts_[i].loss) / recent;
            for (std::size_t r = 0; r < R_; ++r)
                blend()[r] = (1.0 - share_of_mixture) * s[r] + share_of_mixture * f()[r];
            lesson(blend(), y, g);
            double square = 0.0;
            for (std::size_t r = 0; r < R_; ++r) square += g[r] * g[r];
            const double whole = experts_[i].squares + times * times * square;
            experts_[i].squares += times * square;
            if (is_ring(i))
                ring_.step(found, g, times);
            else if (i > widths_)
                lags_.step(g, times);
            for (std::size_t r = 0; r < R_; ++r) g[r] *= times;
            if (i == 0) step_linear(g, times * times * square, times * square, whole);
            const double step = step_of_waves(frequencies(i)) / std::sqrt(whole);
            for (std::size_t r = 0; r < R_; ++r) g[r] *= step;
        }
        if (weigh)
            pool_.step(
                scratch_, [&](std::size_t i) { return experts_[i].inverse_width; },
                [&](std::size_t i, std::size_t r) { return mixture_.weight(i) * slope()[r]; });
        else
            pool_.step(scratch_);
    }

    // A step changes a score in proportion to the root of the number of features, up to 2048 of them; more of them make
    // a function finer, not rasher. Of many classes most slopes are small, and each function has few rows of its own.
    double step_of_waves(std::size_t features) const {
        if (features == 0) return 0.0;
        const auto n = static_cast<double>(features);
        return (R_ == 1 ? 0.5 : 2.0) * std::sqrt(smaller(n, 2048.0)) / n;
    }

    void step_linear(const double* g, double square, double kept, double whole) {
        const T* z = work_.query.row();
        const Pack<T> more(static_cast<T>(square)), stays(static_cast<T>(kept));
        for (std::size_t tile = 0; tile < packs_for<T>(config_.features); ++tile) {
            Pack<T> x = Pack<T>::load(z + tile * lanes_of<T>);
            if (widths_ > 0)
                x = x / Pack<T>::load(relevance_.factors() + tile * lanes_of<T>);  // what stands there is z'
            const Pack<T> before = linear_.pack(R_, tile);
            const Pack<T> total = before + more * (x * x);
            (before + stays * (x * x)).store(squares() + tile * lanes_of<T>);
            const Pack<T> step =
                Pack<T>(static_cast<T>(rate_of_linear)) * x / square_root(larger(total, Pack<T>(T(1))));
            for (std::size_t r = 0; r < R_; ++r)
                (linear_.pack(r, tile) - step * Pack<T>(static_cast<T>(g[r])))
                    .store(linear_.of(r) + tile * lanes_of<T>);
        }
        for (std::size_t r = 0; r < R_; ++r) bias_[r] -= rate_of_linear * g[r] / std::sqrt(whole);
    }

    // One row in four, by the fractional part of rounds times the golden section: evenly, but in step with no period
    // that a stream may have.
    static bool weighs_columns(std::uint64_t rounds) { return rounds * 0x9e3779b97f4a7c15ULL < std::uint64_t(1) << 62; }

    // The mixture's slope in rho_k is that in z'_k times z'_k. Of a sparse row only columns that are not 0 are asked,
    // at a cost that grows with their number. Takes the place of z'.
    void weigh_columns(const Query<T>& z, double times) {
        constexpr std::size_t at_once = 4;
        const std::size_t d = config_.features;
        const auto counted = static_cast<T>(times);
        T* row = work_.query.row();
        T* values = work_.query.values();
        T slopes[at_once];
        for (std::size_t k = 0, n = 1; !z.sparse && k < d; k += n) {
            n = k + at_once <= d ? at_once : 1;
            n == 1 ? pool_.template slopes<1>(k, slopes) : pool_.template slopes<at_once>(k, slopes);
            for (std::size_t l = 0; l < n; ++l) row[k + l] *= counted * slopes[l];
        }
        for (std::size_t n = 0; n < z.nonzeros; ++n) {
            const auto k = static_cast<std::size_t>(z.columns[n]);
            pool_.template slopes<1>(k, slopes);
            values[n] = row[k] * (counted * slopes[0]);
        }
        for (std::size_t k = 0; z.sparse && k < d; ++k) row[k] = T(0);
        for (std::size_t n = 0; n < z.nonzeros; ++n) row[z.columns[n]] = values[n];
        relevance_.step(row);
        if (config_.features < sparse_from) relevance_.refresh();
    }

    void teach_mixture(double times) {
        for (std::size_t i = 0; i < K_; ++i) {
            u()[i] = 0.0;
            for (std::size_t r = 0; r < R_; ++r) u()[i] += slope()[r] * scores_of(i)[r];
        }
        mixture_.update(u(), times, u() + K_);
    }

    // ---- change -----------------------------------------------------------------------------------------------------

    // Two running likelihood ratios against the mixture: of the classes having changed places, and of half as much
    // confidence. While the mixture is right about its probabilities, the chance that one of them passes e^h within T
    // rows is at most T e^-h. A row counts by its weight but adds at most 2 and 1, so that no single one decides.
    void watch(std::size_t y, double times, double loss) {
        if (R_ == 1) {
            const double margin = times * (y == 1 ? f()[0] : -f()[0]);
            course_->reversal = larger(course_->reversal - larger(-2.0, smaller(2.0, margin)), 0.0);
            if (course_->reversal > 20.0) {
                course_->turned = 1 - course_->turned;
                course_->reversal = course_->surprise = 0.0;
                return;
            }
        }
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = 0.5 * f()[r];
        const double relief = times * (loss - lesson(blend(), y, slope()));
        course_->surprise = larger(course_->surprise + smaller(relief, 1.0), 0.0);
        if (course_->surprise > 12.0) {
            course_->surprise = 0.0;
            hurry();
        }
    }

    // Forgets how much was learned, but not what: steps are long again.
    void hurry() {
        constexpr double keep = 0.02;
        mixture_.forget(keep);
        for (std::size_t i = 0; i < K_; ++i) experts_[i].squares = larger(keep * experts_[i].squares, 1.0);
        for (std::size_t k = 0; k < config_.features; ++k) squares()[k] = larger(T(keep) * squares()[k], T(1));
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    // The scale has been measured anew. Where rows may be sparse, so is all that is kept of a row of zeros.
    void refresh() {
        if (scale_.zero() && widths_ > 0) {
            relevance_.refresh();
            for (std::size_t k = 0; k < config_.features; ++k) work_.query.row()[k] = scale_.zero()[k];
            relevance_.apply(work_.query.row(), work_.query.row());
            pool_.refresh(work_.query.row());
        }
        measure();
    }
    void measure() {
        for (std::size_t i = 0; i < K_; ++i) experts_[i].inverse_width = inverse_width(i);
    }
    double inverse_width(std::size_t i) const {
        return i > 0 && i <= widths_ ? 1.0 / (config_.kernels[i].parameter * std::sqrt(scale_.square())) : 0.0;
    }

    // A width that owns tiles serves the next one too, so the last one needs none of its own.
    std::size_t owners() const { return widths_ > 0 ? widths_ - 1 : 0; }
    std::size_t frequencies(std::size_t i) const {
        return static_cast<std::size_t>(experts_[i].tiles + (i > 0 ? experts_[i - 1].tiles : 0)) * lanes_of<T>;
    }

    void review(std::uint64_t rounds) {
        course_->next_review = rounds + 1 + smaller(rounds / 10, longest_pause);
        pool_.review(
            owners(), 0.05 + 1.0 / std::sqrt(static_cast<double>(rounds)), 1e-3,
            [&](std::size_t i) { return experts_[i].loss; },
            [&](std::size_t i) -> std::uint64_t& { return experts_[i].tiles; }, u());
    }

    double pull(std::size_t i) const { return absolute(mixture_.weight(i)) * std::sqrt(norm2(i)); }

    double norm2(std::size_t i) const {
        if (is_ring(i)) return ring_.norm2();
        if (i > widths_) return lags_.norm2();
        if (i > 0) return pool_.norm2(i);
        double total = 0.0;
        for (std::size_t r = 0; r < R_; ++r) {
            total += bias_[r] * bias_[r];
            for (std::size_t k = 0; k < config_.features; ++k)
                total += static_cast<double>(linear_.of(r)[k]) * static_cast<double>(linear_.of(r)[k]);
        }
        return total;
    }

    std::size_t R_;       // functions of each expert
    std::size_t widths_;  // experts that have one, from 1 on
    Course* course_ = nullptr;
    Expert* experts_ = nullptr;
    double* bias_ = nullptr;
    NewtonMixture mixture_;
    MixtureLedger ledger_;
    LabelLags lags_;
    LabelRing<T> ring_;
    ColumnScale<T> scale_;
    ColumnRelevance<T> relevance_;
    Coefficients<T> linear_;  // row r: function r; row R: sums of squares
    FeaturePool<T> pool_;
    double* scratch_ = nullptr;
};

POCKETKERNEL_END
