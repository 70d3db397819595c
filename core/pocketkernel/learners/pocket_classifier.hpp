// PocketClassifier: several small experts on one block of memory, mixed by a Newton step.
//
//   z      the row, its columns brought to one scale (ColumnScale)
//   z'     z, its columns weighed by how much they matter (ColumnRelevance)
//   s_i    expert i's score, within +-8:  the first is linear in z; then some that have a width in z' (FeaturePool);
//          one that asks the nearest of the last rows (LabelRing); tables along the axes (Ferns); a sum of functions of
//          one column each (AdditiveTables), or of wide rows a linear one again, which learns slowly; and one that
//          knows only the last labels (LabelLags)
//   F      sum_i w_i s_i, mixed by NewtonMixture
//   l      logistic loss; g_i is its slope between s_i and F, so that experts also mend what the mixture gets wrong
//
// Experts take AdaGrad steps: the linear one with a rate for every column, widths, ferns and sums of functions with one
// rate for all their features, whose squares sum to about the same in every row. Widths, ring and ferns share one
// block: widths at the front, then ferns, the ring at the end. Memory follows the evidence (`share`, `review`). Tests
// on the side tell when the stream has changed, and the last events are kept. Of two classes one function is learned,
// of more one for each.
//
// The kernels of the config are the linear one, then Gaussians, each half as wide as the one before; then a Laplacian
// and a polynomial one if there are to be a ring and ferns; then a Matern 3/2 if there are to be functions of columns,
// or a polynomial one alone if there is to be a slow linear expert; then a linear one again if there is to be an expert
// on the last labels. Widths are in units of the data's own scale, the root of the mean |z'|^2. budget is D: as many
// frequencies would fit into the block if all of it were theirs.
#pragma once

#include "../additive_tables.hpp"
#include "../column_relevance.hpp"
#include "../column_scale.hpp"
#include "../event_log.hpp"
#include "../feature_pool.hpp"
#include "../ferns.hpp"
#include "../label_lags.hpp"
#include "../label_ring.hpp"
#include "../mixture_ledger.hpp"
#include "../newton_mixture.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

// Experts of a PocketClassifier behind the widths: ring and ferns, functions of columns or slow linear, last labels.
constexpr bool knows_labels(const Config& c) {
    return c.kernel_count > 1 && family_of(c, c.kernel_count - 1) == Family::linear;
}
constexpr bool has_additive(const Config& c) {
    const std::size_t count = c.kernel_count - knows_labels(c);
    return parts::has(Family::matern32) && count > 1 && family_of(c, count - 1) == Family::matern32;
}
constexpr bool shares_block(const Config& c) {
    const std::size_t count = c.kernel_count - knows_labels(c) - has_additive(c);
    return parts::has(Family::laplacian) && count > 2 && family_of(c, count - 2) == Family::laplacian &&
           family_of(c, count - 1) == Family::polynomial;
}
constexpr bool has_slow(const Config& c) {
    const std::size_t count = c.kernel_count - knows_labels(c);
    return parts::has(Family::polynomial) && count > 2 && family_of(c, count - 1) == Family::polynomial &&
           family_of(c, count - 2) == Family::gaussian;
}
constexpr std::size_t widths_of(const Config& c) {
    return c.kernel_count - 1 - (shares_block(c) ? 2 : 0) - has_additive(c) - has_slow(c) - knows_labels(c);
}

template <class T>
class PocketClassifier : public Learner<T> {
  public:
    using Element = T;
    static constexpr const char* name = "pocket_classifier";
    static constexpr std::uint32_t revision = 11;  // 10 counted rows of columns that move on, and named no column
    static constexpr bool multiclass = true;

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, true, true, 0);
        if (status != Status::ok) return status;
        if (c.loss != Loss::logistic) return Status::loss_not_logistic;
        if (c.storage != Storage::full) return Status::storage_unsuited;
        const std::size_t widths = widths_of(c);
        const bool suited = is_linear_and_halving(c, widths) && (!shares_block(c) || widths > 0) &&
                            (!has_additive(c) || c.features < sparse_from) &&
                            (!has_slow(c) || (c.features >= sparse_from && c.classes == 2));
        return suited ? Status::ok : Status::kernels_not_halving;
    }

    POCKETKERNEL_ONCE PocketClassifier(const Config& c, Arena& arena)
        : Learner<T>(c, arena, {false, sparse_from, rows_of(c), values_of(c)}),
          R_(functions_of(c)),
          widths_(static_cast<std::uint32_t>(widths_of(c))),
          slow_(has_slow(c)) {
        const bool may_be_sparse = c.features >= sparse_from;
        // One piece, as each begins with a pack of its own, and of a small model all of them hardly fill one.
        constexpr std::size_t course = sizeof(Course) / sizeof(double), expert = sizeof(Expert) / sizeof(double);
        double* numbers = arena.take<double>(course + K_ * expert + place_of_sums() + sums() +
                                             (R_ > 1           ? widths_ * R_
                                              : one_function() ? 1 + widths_
                                                               : 0));
        if (numbers) {  // else the arena only counts
            course_ = reinterpret_cast<Course*>(numbers);
            experts_ = reinterpret_cast<Expert*>(numbers + course);
            bias_ = numbers + course + K_ * expert;
            mixture_ = NewtonMixture(K_, bias_ + lines());
            lags_ = LabelLags(R_, bias_ + lines() + NewtonMixture::doubles(K_));
        }
        origin_ = may_be_sparse ? arena.take<Origin>(1) : nullptr;
        scale_ = ColumnScale<T>(arena, c.features, may_be_sparse, course_ ? &course_->pace : nullptr);
        if (widths_ > 0) relevance_ = ColumnRelevance<T>(arena, c.features, {1.0, 0.9999, 0.0001});
        linear_ = Coefficients<T>(arena, lines() + 1, c.features);
        if (has_additive(c)) knots_ = arena.take<T>(c.features, R_, AdditiveTables<T>::knots);
        if (has_block())
            lay_out_block(arena, may_be_sparse);
        else
            pool_ = FeaturePool<T>(arena, widths_ > 0 ? c.budget : std::size_t(0), c.features, R_, may_be_sparse);
        this->end_of_state(arena, widths_ == 0 ? 0 : R_ == 1 ? 1 + widths_ : 2 * R_);
        if (has_block()) {
            scale_.plan(arena);
        } else {
            pool_.plan(arena);
        }
        const std::size_t leaves = has_block() ? block_bytes() / fern_bytes() : 0;
        scratch_ = arena.take<double>(numbers_in_scratch() + (leaves + sizeof(double) - 1) / sizeof(double));
    }

    void reset() {
        common_->rng = draw_constants();
        mixture_.reset();
        if (has_lags()) lags_.reset();
        scale_.reset();
        relevance_.reset();
        if (has_block()) {
            const double whole = static_cast<double>(block_bytes());
            const double ferns = whole * first_share_of_ferns(), waves = whole * (1.0 - first_share_of_ring()) - ferns;
            block_->tiles = static_cast<std::uint64_t>(waves / static_cast<double>(tile_bytes()) + 0.5);
            ferns_.resize(static_cast<std::size_t>(ferns / static_cast<double>(fern_bytes())));
            ring_.reset();
            ring_.resize(pages_left());
        }
        if (!pool_.is_constant()) pool_.draw(common_->rng);
        if (widths_ > 0) pool_.reset(owners());
        for (std::size_t i = 0; i < K_; ++i) {
            experts_[i].squares = 1.0;
            experts_[i].tiles = pool_.tiles_of(i);
        }
        for (std::size_t k = 0; k < config_.features; ++k) squares()[k] = T(1);
        course_->next_review = first_review;
        measure_steps();
        measure();
    }

    // The frequencies, unless they are in the block: there they come and go with its shares.
    Constants constants() const { return pool_.constants(); }
    Rng draw_constants() {
        Rng rng(config_.seed);
        if (pool_.is_constant()) pool_.draw(rng);
        return rng;
    }

    // How many there are now. A linear model alone has none, whatever the budget.
    std::size_t frequency_count() const { return has_block() ? pool_.tiles() * lanes_of<T> : config_.budget; }
    double frequency(std::size_t j, std::size_t k) const { return widths_ > 0 ? pool_.frequency(j, k) : 0.0; }

    // e^rho_k; of a linear model alone all columns count alike.
    double relevance(std::size_t k) const { return widths_ > 0 ? static_cast<double>(relevance_.factors()[k]) : 1.0; }

    static constexpr bool reads_rows = true;     // by itself: a row is scaled in double precision before it is rounded
    static constexpr bool takes_missing = true;  // z = 0, the usual value
    static double largest_value(Storage) { return ColumnScale<T>::value_limit; }

    // `continues` says whether the row follows the one that was learned last: otherwise the last labels say nothing.
    static constexpr bool knows_last_labels = true;
    template <class U>
    void score(const Row<U>& row, Workspace<T>& work, double* F, bool continues = true) const {
        if (has_block()) ferns_.read(row, raw(work));
        (void)evaluate(scale_.read(row, work.query, needs_dense()), work, false);
        mix(work, F, continues);
        answer(F);
    }

    // The scores of all classes, made before it learned, are left in F; those of the linear expert alone in `linear`,
    // those without the last labels in `apart`, and the loss in `loss`, unless they are null.
    static constexpr bool tells_linear = true;
    template <class U>
    void learn(const Row<U>& row, std::size_t y, double weight, double* F, double* linear = nullptr,
               double* loss = nullptr, double* apart = nullptr) {
        if (weight == 0.0) {
            score(row, work_, F);
            if (loss && R_ > 1) *loss = lesson(F, y, slope());
            return tell_parts(linear, apart);
        }
        const std::uint64_t rounds = this->clock() + 1;
        if (has_block()) ferns_.read(row, raw(work_));
        learn(scale_.learn(row, work_.query, rounds, needs_dense()), rounds, y, weight, F, linear, loss, apart);
    }
    void learn(const Query<T>& z, std::uint64_t rounds, std::size_t y, double weight, double* F, double* linear,
               double* told, double* apart) {
        const Found found = evaluate(z, work_, true);
        mix(work_, F);
        for (std::size_t r = 0; r < R_; ++r) f()[r] = F[r];
        answer(F);
        tell_parts(linear, apart);
        const std::size_t target = course_->turned ? 1 - y : y;
        const bool mistake = largest(F, config_.classes) != y;
        const double loss = lesson(f(), target, slope());
        if (told) *told = loss;
        this->record(mistake, weight * loss);
        if (!repeats_)
            ledger().observe(weight, target, slope(), R_,
                             [&](std::size_t n) { return n == 0 ? f() : scores_of(n - 1); });
        const double times = course_->weights.times(weight, rounds);
        const bool weigh = widths_ > 0 && weighs_columns(rounds);
        if (has_block() && !repeats_) gather_evidence(target, found, mistake, loss, rounds, weigh);
        teach_experts(z, target, found, weight, times, rounds, weigh);
        if (!repeats_) teach_mixture(times);
        if (has_lags()) lags_.push(target);
        if (has_block()) {
            ring_.store(rounded(work_), target);
            ferns_.grow(ferns_at(), raw(work_), common_->rng, rounds == 1);
        }
        if (!repeats_) watch(target, times, loss, rounds);
        lists(z) ? scale_.observe_square(square_of(z), rounds) : scale_.observe_square(work_.query.row(), rounds);
        if (weigh) weigh_columns(z, times);
        if (parts::sparse_rows && origin_) approach(origin_->crowded, z.sparse ? 0.0 : 1.0, recent_rows(rounds));
        if (scale_.is_due(rounds)) {
            move_origin(-1.0);
            scale_.refresh(rounds);
            refresh();
            move_origin(1.0);
        } else {
            scale_.refresh_moved(z, [&](std::size_t k, T change) { refresh_column(k, change); });
        }
        if (has_block())
            scale_.for_each_started([&](std::size_t k, double mean) { ferns_.restart(ferns_at(), k, mean); });
        const auto restart = scale_.take_restarted();
        if (restart.change != ColumnScale<T>::unchanged) note(EventLog::column_changed, restart.column, restart.change);
        if (has_block() && rounds % 64 == 0) ring_.weigh(relevance_.factors());
        if (owners() > 0 && !repeats_ && rounds >= course_->next_review) review(rounds);
    }

    const EventLog& events() const { return course_->events; }
    // Bytes of the block that the frequencies, the ring and the ferns have.
    std::size_t waves_bytes() const { return (has_block() ? pool_.tiles() : pool_.most_tiles()) * tile_bytes(); }
    std::size_t ferns_bytes() const { return has_block() ? ferns_.room() * fern_bytes() : 0; }
    std::size_t ring_bytes() const { return has_block() ? block_bytes() - waves_bytes() - ferns_bytes() : 0; }

    // On rows that were learned before, experts learn, but the mixture, the shares of memory and the tests for change
    // stay as they are. The ring begins anew, else each row would be its own nearest neighbour.
    void repeat(bool again) {
        repeats_ = again;
        if (again && has_block()) ring_.forget();
    }
    void forget_lags() {
        if (has_lags()) lags_.forget();
    }

    // An expert's weight is its share in the mixture's norm.
    KernelReport report(std::size_t i) const {
        KernelReport all[max_kernels];
        report_all(all);
        return all[i];
    }
    // Of all experts: each norm is a sum over all that an expert has.
    void report_all(KernelReport* all) const {
        double total = 0.0, pull[max_kernels];
        for (std::size_t i = 0; i < K_; ++i) {
            all[i] = {0.0, std::sqrt(norm2(i)), 0.0, stored(i), 0, 0, 0};
            total += pull[i] = absolute(mixture_.weight(i)) * all[i].norm;
        }
        for (std::size_t i = 0; i < K_; ++i)
            all[i].weight = total > 0.0 ? pull[i] / total : 1.0 / static_cast<double>(K_);
    }

    // What MixtureLedger keeps, in its order.
    template <class Visit>
    void for_each_evidence(Visit&& visit) const {
        ledger().for_each(visit);
    }

    // The shared block has words of several sizes, and its shares move: what an Arena cannot know. Swaps the bytes of
    // its words, in a state at `to` that is laid out as the learner's own, which is at `from`.
    void convert_block(const unsigned char* from, unsigned char* to) const {
        if (!has_block()) return;
        const std::size_t tile = tile_bytes(), fern = fern_bytes();
        const std::size_t tiles = smaller(pool_.tiles(), pool_.most_tiles());
        const std::size_t thresholds = fern - Ferns<T>::tests * sizeof(std::uint16_t);
        const std::size_t ferns = smaller(ferns_.size(), (block_bytes() - tiles * tile) / fern);
        unsigned char* at = to + (pool_.begin() - from);
        for (std::size_t n = 0; n < tiles; ++n, at += tile)
            swap_words(at, tile - config_.features * lanes_of<T>, sizeof(T));
        for (std::size_t n = 0; n < ferns; ++n, at += fern) {
            swap_words(at, thresholds, sizeof(T));
            swap_words(at + thresholds, fern - thresholds, sizeof(std::uint16_t));
        }
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = this->common_valid() && mixture_.valid() && ledger().valid() && scale_.valid(this->clock()) &&
                    relevance_.valid() && (!has_lags() || lags_.valid()) &&
                    (!has_additive(config_) || additive().valid()) &&
                    course_->events.valid(common_->tally.rounds, config_.features) && (!has_block() || block_valid()) &&
                    pool_.valid(owners(), ColumnScale<T>::farthest * ColumnRelevance<T>::largest_factor) &&
                    linear_.finite(beyond_all * beyond_all) && within(course_->reversal, 0.0, 100.0) &&
                    (!one_function() || within(wrong_labels(), -1.0, 1.0)) && within(course_->surprise, 0.0, 100.0) &&
                    (!origin_ || origin_valid()) && course_->weights.valid() && course_->turned <= (R_ == 1);
        for (std::size_t i = 1; i <= widths_; ++i) {
            if (R_ == 1)
                good = good && within(step_of_width(i), step_at_rate(i, least_rate), step_at_rate(i, greatest_rate));
            for (std::size_t r = 0; R_ > 1 && r < R_; ++r)
                good = good && within(squares_of(i)[r], 0.0, beyond_all * beyond_all);
        }
        for (std::size_t r = 0; r < lines(); ++r) {
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
    using Learner<T>::repeats_;
    using Learner<T>::work_;

    static constexpr double most = 8.0;
    static constexpr T least_rate = T(0.5), greatest_rate = T(0.75);  // of a width's steps, of two classes
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
        EventLog events;
    };
    static_assert(part_of_state<Expert, 32> && part_of_state<Course, 136>);

    // Where rows may be sparse.
    struct Origin {
        double crowded;           // share of the last rows in which more than a quarter of the columns are not 0
        double zero_square;       // |z'|^2 of a row of zeros, if `from_zero`
        std::uint64_t from_zero;  // 1 if the linear expert counts from the z of a row of zeros, see `lists`
    };
    static_assert(part_of_state<Origin, 24>);

    // What the shares of the block follow: running means over `memory_of_loss` rows or so.
    struct Block {
        std::uint64_t tiles;                   // of the pool
        double worth_of_waves, worth_of_ring;  // by how much the mixture's loss is larger without them
        double worth_of_ferns, loss;           // likewise; and the mixture's loss
        double mistakes, near, nearest;        // of the mixture; of the nearest row in the middle window, and in all
    };
    static_assert(part_of_state<Block, 64>);

    static std::uint32_t values_of(const Config& c) {
        return static_cast<std::uint32_t>(c.kernel_count * functions_of(c));
    }
    static std::size_t functions_of(const Config& c) { return c.classes == 2 ? std::size_t(1) : c.classes; }
    bool has_lags() const { return knows_labels(config_); }
    bool has_slow_expert() const { return parts::kernels == 0 ? slow_ : has_slow(Config{}); }
    // Linear functions: those of the first expert, and the slow one.
    std::size_t lines() const { return R_ + (has_slow_expert() ? 1 : 0); }

    // Numbers: biases, those of the mixture and of the last labels; the ledger's sums, unless there is a lone expert;
    // and, if widths have one function each, the share of labels that are wrong whatever the row, and their steps;
    // else the squares of their functions.
    std::size_t place_of_sums() const {
        return lines() + NewtonMixture::doubles(K_) + (has_lags() ? LabelLags::doubles(R_) : 0);
    }
    std::size_t sums() const { return K_ > 1 ? MixtureLedger::doubles(K_) : 0; }
    MixtureLedger ledger() const { return MixtureLedger(K_, K_ > 1 ? bias_ + place_of_sums() : nullptr); }
    bool one_function() const { return R_ == 1 && widths_ > 0; }  // of each width: of two classes
    double& wrong_labels() const { return bias_[place_of_sums() + sums()]; }
    double& step_of_width(std::size_t i) const { return bias_[place_of_sums() + sums() + i]; }
    double* squares_of(std::size_t i) const { return bias_ + place_of_sums() + sums() + (i - 1) * R_; }
    bool has_block() const { return shares_block(config_); }
    bool is_ring(std::size_t i) const { return has_block() && i == 1 + widths_; }
    bool is_ferns(std::size_t i) const { return has_block() && i == 2 + widths_; }
    bool is_additive(std::size_t i) const { return has_additive(config_) && i + 1 + has_lags() == K_; }
    bool is_slow(std::size_t i) const { return has_slow_expert() && i + 1 + has_lags() == K_; }
    bool is_lags(std::size_t i) const { return has_lags() && i == K_ - 1; }

    using Found = typename LabelRing<T>::Found;
    // A workspace has room for x as the ferns see it, for z as the ring does, and for z as functions of columns do.
    static std::uint32_t rows_of(const Config& c) { return (shares_block(c) ? 2u : 0u) + has_additive(c); }
    static T* raw(const Workspace<T>& work) { return work.rows; }
    std::uint8_t* rounded(const Workspace<T>& work) const {
        return reinterpret_cast<std::uint8_t*>(work.rows + padded<T>(config_.features));
    }
    T* unweighed(const Workspace<T>& work) const {
        return work.rows + (has_block() ? 2 : 0) * padded<T>(config_.features);
    }

    // Scratch: slopes of all experts; scores of the mixture, its slopes, and two more such rows; one number for each
    // expert and, behind it, room for the mixture's; then leaves.
    double* slopes_of(std::size_t i) { return scratch_ + i * R_; }
    double* f() { return scratch_ + K_ * R_; }
    double* slope() { return f() + R_; }
    double* blend() { return slope() + R_; }
    double* spare() { return blend() + R_; }
    double* u() { return spare() + R_; }
    std::size_t numbers_in_scratch() const { return (K_ + 4) * R_ + K_ + NewtonMixture::doubles(K_); }
    // Of the ferns, that this row falls into.
    std::uint8_t* leaves() const { return reinterpret_cast<std::uint8_t*>(scratch_ + numbers_in_scratch()); }
    AdditiveTables<T> additive() const { return {config_.features, R_, knots_}; }

    // Where most rows are sparse the linear expert sees z less the z of a row of zeros, which is 0 in every column
    // where x is: its steps, the scale of rows and the relevance then cost as much as a row has values that are not 0.
    // Where most are not, z itself is the better coordinate, as its mean is 0. The bias makes up for the difference,
    // and takes a quarter of each step: then a step acts as one in a coordinate on the way between the two. With half
    // of them, steps of many columns would carry a bias away that has to be far from 0, as of rare classes.
    static constexpr double share_of_bias = 0.25;
    bool lists(const Query<T>& z) const { return counts_from_zero() && z.sparse; }
    bool counts_from_zero() const { return parts::sparse_rows && origin_ && origin_->from_zero; }
    bool needs_dense() const { return has_block() || !counts_from_zero(); }
    static double recent_rows(std::uint64_t rounds) {
        return static_cast<double>(rounds < memory_of_loss ? rounds : memory_of_loss);
    }

    T* squares() { return linear_.of(lines()); }
    const T* squares() const { return linear_.of(lines()); }

    // ---- scores -----------------------------------------------------------------------------------------------------

    // Leaves s_ir in work.values[iR + r], and z' in the place of z; answers what the ring has found.
    Found evaluate(const Query<T>& z, Workspace<T>& work, bool to_learn) const {
        Found found{};
        if (has_block()) {
            ring_.round(z.dense, rounded(work));
            found = ring_.find(rounded(work));
            double* s = work.values + (1 + widths_) * R_;
            ring_.scores(found, s);
            ferns_.evaluate(ferns_at(), raw(work), s + R_, to_learn ? leaves() : nullptr);
        }
        if (has_additive(config_)) {
            std::memcpy(unweighed(work), z.dense, config_.features * sizeof(T));
            additive().evaluate(z.dense, work.values + (K_ - 1 - has_lags()) * R_);
        }
        if (has_lags()) lags_.scores(work.values + (K_ - 1) * R_);
        for (std::size_t r = 0; r < R_; ++r) work.values[r] = linear_score(z, r);
        if (has_slow_expert()) work.values[K_ - 1 - has_lags()] = linear_score(z, R_);
        for (std::size_t n = R_; n < (1 + widths_) * R_; ++n) work.values[n] = 0.0;
        if (widths_ > 0) {
            if (!lists(z)) relevance_.apply(z.dense, work.query.row());
            for (std::size_t n = 0; parts::sparse_rows && n < z.nonzeros; ++n)
                work.query.values()[n] *= relevance_.factors()[work.query.columns()[n]];
            if (R_ == 1) {
                for (std::size_t i = 1; i <= widths_; ++i) work.partial[i] = Pack<T>(T(0));
                pool_.evaluate(z, [&](std::size_t i) { return experts_[i].inverse_width; }, work.partial, to_learn);
                for (std::size_t i = 1; i <= widths_; ++i) work.values[i] = sum(work.partial[i]);
            }
            // Sums of all widths and classes would take much room, so it is one owner after the other.
            for (std::size_t i = 1; R_ > 1 && i <= owners(); ++i) {
                for (std::size_t n = 0; n < 2 * R_; ++n) work.partial[n] = Pack<T>(T(0));
                pool_.evaluate(i, z, experts_[i].inverse_width, work.partial, to_learn);
                for (std::size_t n = 0; n < 2 * R_; ++n) work.values[i * R_ + n] += sum(work.partial[n]);
            }
        }
        for (std::size_t n = 0; n < K_ * R_; ++n) work.values[n] = larger(-most, smaller(most, work.values[n]));
        return found;
    }
    double linear_score(const Query<T>& z, std::size_t r) const {
        const T* a = linear_.of(r);
        if (lists(z)) {
            double total = 0.0;
            for (std::size_t n = 0; n < z.nonzeros; ++n)
                total += static_cast<double>(a[z.columns[n]]) * static_cast<double>(z.values[n]);
            return total + bias_[r];
        }
        Pack<T> product(T(0));
        for (std::size_t tile = 0; tile < packs_for<T>(config_.features); ++tile)
            product += linear_.pack(r, tile) * from_origin(Pack<T>::load(z.dense + tile * lanes_of<T>), tile);
        return sum(product) + bias_[r];
    }
    // A tile of z as the linear expert sees it.
    POCKETKERNEL_INLINE Pack<T> from_origin(const Pack<T>& z, std::size_t tile) const {
        return counts_from_zero() ? z - zero_pack(tile) : z;
    }
    // A tile of the z of a row of zeros.
    Pack<T> zero_pack(std::size_t tile) const {
        alignas(pack_bytes) T zero[lanes_of<T>] = {};
        const std::size_t begin = tile * lanes_of<T>;
        std::memcpy(zero, scale_.zero() + begin, smaller(config_.features - begin, lanes_of<T>) * sizeof(T));
        return Pack<T>::load(zero);
    }
    const double* scores_of(std::size_t i) const { return work_.values + i * R_; }

    void mix(const Workspace<T>& work, double* F, bool with_labels = true) const {
        const std::size_t experts = K_ - (has_lags() && !with_labels ? 1 : 0);
        for (std::size_t r = 0; r < R_; ++r) F[r] = 0.0;
        for (std::size_t i = 0; i < experts; ++i)
            for (std::size_t r = 0; r < R_; ++r) F[r] += mixture_.weight(i) * work.values[i * R_ + r];
    }

    // From the R scores within to one for each class.
    void answer(double* F) const {
        if (R_ > 1) return;
        const double half = course_->turned ? -0.5 * F[0] : 0.5 * F[0];
        F[0] = -half;
        F[1] = half;
    }

    void tell_parts(double* linear, double* apart) const {
        if (apart) {
            mix(work_, apart, false);
            answer(apart);
        }
        if (!linear) return;
        for (std::size_t r = 0; r < R_; ++r) linear[r] = work_.values[r];
        answer(linear);
    }

    // ---- lessons ----------------------------------------------------------------------------------------------------

    // The loss of R scores, and its slopes, unless one of them is not wanted; then there is something in its place.
    double lesson(const double* scores, std::size_t y, double* slopes, bool wanted = true, bool loss = true) const {
        if (R_ == 1) {
            const LossPoint point = Logistic::at(scores[0], y == 1 ? 1.0 : -1.0, loss);
            slopes[0] = point.derivative;
            return point.value;
        }
        const double most_score = greatest(scores, R_);
        exponentials(scores, most_score, slopes, R_);
        double total = 0.0;
        for (std::size_t r = 0; r < R_; ++r) total += slopes[r];
        for (std::size_t r = 0; wanted && r < R_; ++r) slopes[r] /= total;
        slopes[y] -= 1.0;
        return loss ? logarithm(total) + (most_score - scores[y]) : 0.0;
    }

    // A step allows for the row's whole slope, so that none is longer than a row's of weight 1 could be; what stays in
    // the accumulators is as if the row had come that many times.
    POCKETKERNEL_APART void teach_experts(const Query<T>& z, std::size_t y, const Found& found, double weight,
                                          double times, std::uint64_t rounds, bool weigh) {
        const double recent = recent_rows(rounds);
        for (std::size_t i = 0; i < K_; ++i) {
            const double* s = scores_of(i);
            double* g = slopes_of(i);
            const double own = lesson(s, y, g, false);
            if (!repeats_) {
                ledger().charge(i, weight * own);
                approach(experts_[i].loss, own, recent);
            }
            const double share = share_of_mixture(i);
            for (std::size_t r = 0; r < R_; ++r) blend()[r] = s[r] + share * (f()[r] - s[r]);
            lesson(blend(), y, g, true, false);
            if (R_ == 1 && i > 0 && i <= widths_) g[0] *= chance_of_right_label(1.0 - absolute(g[0]));
            double square = 0.0;
            for (std::size_t r = 0; r < R_; ++r) square += g[r] * g[r];
            const double whole = experts_[i].squares + times * times * square;
            experts_[i].squares += times * square;
            if (is_ring(i)) ring_.step(found, g, times);
            if (is_lags(i)) lags_.step(g, times);
            for (std::size_t r = 0; r < R_; ++r) g[r] *= times;
            if (i == 0 || is_slow(i)) step_linear(z, is_slow(i), g, times, square, whole);
            const double step = (is_ferns(i)      ? step_of_ferns()
                                 : is_additive(i) ? step_of_additive()
                                                  : step_of_waves(i));
            const bool apart = R_ > 1 && i > 0 && i <= widths_;
            for (std::size_t r = 0; r < R_; ++r)
                g[r] *= step / std::sqrt(apart ? 0.5 * (whole + own_squares(squares_of(i)[r], g[r], times)) : whole);
            if (is_ferns(i)) ferns_.step(ferns_at(), leaves(), g);
            if (is_additive(i)) additive().step(unweighed(work_), g);
        }
        if (weigh)
            pool_.step(
                scratch_, [&](std::size_t i) { return experts_[i].inverse_width; },
                [&](std::size_t i, std::size_t r) { return mixture_.weight(i) * slope()[r]; });
        else
            pool_.step(scratch_);
    }

    // Where slopes are taken. Of many classes a single expert tells few well, and does more by mending the mixture. Of
    // two, widths and ring do so more than others, and the linear experts not at all: where a plane is right, what the
    // mixture has learned already must not keep them from finding it.
    double share_of_mixture(std::size_t i) const {
        if (R_ > 1) return 0.75;
        if (i == 0 || is_slow(i)) return widths_ > 0 ? 0.0 : 0.3;
        return i <= widths_ || is_ring(i) ? 0.6 : 0.3;
    }

    // Of several functions of a width each has squares of its own, which count half: those of rare classes are smaller,
    // so their steps are longer. As `whole`, if all classes were alike; g is the slope times `times`.
    double own_squares(double& kept, double g, double times) const {
        const double all = kept + g * g;
        kept += g * g / times;
        return 1.0 + static_cast<double>(R_) * all;
    }

    // How likely a label is right to which a score gives chance p, if some are wrong whatever the row. Without this,
    // the steps of such rows are the longest of all. While the stream may be changing, labels are believed.
    double chance_of_right_label(double p) const {
        const double wrong = course_->surprise > 2.0 ? 0.0 : smaller(wrong_labels(), 0.1);
        return wrong > 0.0 ? (1.0 - wrong) * p / ((1.0 - wrong) * p + wrong * (1.0 - p)) : 1.0;
    }

    // A step changes a score in proportion to the root of the number of features, up to 2048 of them; more of them make
    // a function finer, not rasher. Of many classes most slopes are small, and each function has few rows of its own.
    double step_of_waves(std::size_t i) const {
        if (R_ > 1) return step_at_rate(i, T(2));
        return i > 0 && i <= widths_ ? step_of_width(i) : 0.0;
    }
    double step_at_rate(std::size_t i, T rate) const {
        const T n = larger(static_cast<T>(frequencies(i)), T(1));
        return static_cast<double>(rate * std::sqrt(smaller(n, T(2048))) / n);
    }

    // AdaGrad's best rate is the distance from the start to the best coefficients. The distance that they have come
    // tells it, within bounds (as in Ivgi, Hinder & Carmon 2023: distance over gradients).
    void measure_steps() {
        for (std::size_t i = 1; one_function() && i <= widths_; ++i) {
            const T come = std::sqrt(pool_.template norm2<T>(i));
            step_of_width(i) = step_at_rate(i, larger(least_rate, smaller(come, greatest_rate)));
        }
    }

    double step_of_ferns() const {
        return static_cast<double>((R_ == 1 ? T(1) : T(2)) / std::sqrt(larger(static_cast<T>(ferns_.room()), T(1))));
    }

    // A score moves by as much times the slope.
    double step_of_additive() const { return static_cast<double>(T(-2) * std::sqrt(static_cast<T>(config_.features))); }

    // A step of the linear functions of an expert: slopes, how much the row adds to the sums of squares for it, and how
    // much of that is kept. Both experts share those sums, which the first one keeps.
    struct Lines {
        bool slow;
        T rate;
        const double* g;
        T square, kept;
    };
    std::size_t first_of(const Lines& these) const { return has_slow_expert() && these.slow ? std::size_t(R_) : 0; }
    std::size_t end_of(const Lines& these) const { return has_slow_expert() && these.slow ? lines() : std::size_t(R_); }
    void step_linear(const Query<T>& z, bool slow, const double* g, double times, double square, double whole) {
        const T kept = slow ? T(0) : static_cast<T>(times * square);
        const Lines these{slow, slow ? T(0.03) : T(0.1), g, static_cast<T>(times * times * square), kept};
        if (lists(z))
            for (std::size_t n = 0; n < z.nonzeros; ++n) step_column(z, n, these);
        else
            step_columns(these);
        for (std::size_t r = first_of(these), n = 0; r < end_of(these); ++r, ++n)
            bias_[r] -= static_cast<double>(these.rate) * g[n] / std::sqrt(whole);
    }
    void step_column(const Query<T>& z, std::size_t n, const Lines& these) {
        const auto k = static_cast<std::size_t>(z.columns[n]);
        const T x = widths_ > 0 ? z.values[n] / relevance_.factors()[k] : z.values[n];  // what stands there is weighed
        const T before = squares()[k], total = before + these.square * (x * x);
        squares()[k] = before + these.kept * (x * x);
        const T step = these.rate * x / std::sqrt(larger(total, T(1)));
        for (std::size_t r = first_of(these), g = 0; r < end_of(these); ++r, ++g) {
            const T down = step * static_cast<T>(these.g[g]);
            linear_.of(r)[k] -= down;
            bias_[r] -= static_cast<double>(T(share_of_bias) * (down * scale_.zero()[k]));
        }
    }
    void step_columns(const Lines& these) {
        const T* z = work_.query.row();
        const T rate = these.rate, square = these.square, kept = these.kept;
        for (std::size_t tile = 0; tile < packs_for<T>(config_.features); ++tile) {
            Pack<T> x = Pack<T>::load(z + tile * lanes_of<T>);
            if (widths_ > 0)
                x = x / Pack<T>::load(relevance_.factors() + tile * lanes_of<T>);  // what stands there is z'
            x = from_origin(x, tile);
            Pack<T> total = linear_.pack(lines(), tile);
            lanewise(
                [=](auto& step, auto& sum) POCKETKERNEL_FLAT {
                    using V = std::decay_t<decltype(step)>;
                    const V x2 = step * step, whole = sum + V(square) * x2;
                    sum = sum + V(kept) * x2;
                    step = V(rate) * step / square_root(larger(whole, V(T(1))));
                },
                x, total);
            total.store(squares() + tile * lanes_of<T>);
            for (std::size_t r = first_of(these), n = 0; r < end_of(these); ++r, ++n) {
                Pack<T> a = linear_.pack(r, tile);
                const T slope = static_cast<T>(these.g[n]);
                lanewise([=](auto& t, const auto& step)
                             POCKETKERNEL_FLAT { t = t - step * std::decay_t<decltype(t)>(slope); },
                         a, x);
                a.store(linear_.of(r) + tile * lanes_of<T>);
                if (counts_from_zero())
                    bias_[r] -= sum(Pack<T>(T(share_of_bias)) * (x * Pack<T>(slope) * zero_pack(tile)));
            }
        }
    }

    // One row in four, by the fractional part of rounds times the golden section: evenly, but in step with no period
    // that a stream may have.
    static bool weighs_columns(std::uint64_t rounds) { return rounds * 0x9e3779b97f4a7c15ULL < std::uint64_t(1) << 62; }

    // The mixture's slope in rho_k is that in z'_k times z'_k. Of a sparse row only columns that are not 0 are asked,
    // at a cost that grows with their number. Takes the place of z'.
    void weigh_columns(const Query<T>& z, double times) {
        constexpr std::size_t at_once = FeaturePool<T>::slopes_at_once;
        const std::size_t d = config_.features;
        const auto counted = static_cast<T>(times);
        T* row = work_.query.row();
        T* values = work_.query.values();
        T slopes[at_once];
        const bool sparse = parts::sparse_rows && z.sparse;
        for (std::size_t k = 0, n = 1; !sparse && k < d; k += n) {
            n = k + at_once <= d ? at_once : 1;
            n == 1 ? pool_.template slopes<1>(k, slopes) : pool_.template slopes<at_once>(k, slopes);
            for (std::size_t l = 0; l < n; ++l) row[k + l] *= counted * slopes[l];
        }
        for (std::size_t n = 0; sparse && n < z.nonzeros; ++n) {
            const auto k = static_cast<std::size_t>(z.columns[n]);
            pool_.template slopes<1>(k, slopes);
            values[n] = (zero_at(k) + values[n]) * (counted * slopes[0]);
        }
        const T rate = R_ == 1 ? T(0.1) : T(0.2);
        if (sparse) return relevance_.step(z.columns, values, z.nonzeros, rate);
        relevance_.step(row, rate);
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
    void watch(std::size_t y, double times, double loss, std::uint64_t rounds) {
        if (one_function()) count_wrong_label(rounds);
        if (R_ == 1) {
            const double margin = times * (y == 1 ? f()[0] : -f()[0]);
            course_->reversal = larger(course_->reversal - larger(-2.0, smaller(2.0, margin)), 0.0);
            if (course_->reversal > 20.0) {
                course_->turned = 1 - course_->turned;
                course_->reversal = 0.0;
                believe_labels();
                note(EventLog::classes_exchanged);
                return;
            }
        }
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = 0.5 * f()[r];
        const double relief = times * (loss - lesson(blend(), y, slope(), false));
        course_->surprise = larger(course_->surprise + smaller(relief, 1.0), 0.0);
        if (course_->surprise > 12.0) {
            believe_labels();
            note(EventLog::confidence_lost);
            hurry();
        }
    }

    // The row is counted among those that were new: in a later pass it has no number.
    void note(EventLog::Kind kind, std::size_t column = 0, std::uint64_t change = 0) {
        if (!repeats_) course_->events.add(common_->tally.rounds, kind, column, change);
    }

    // Where scores are confident, labels that are wrong more often than those say are wrong whatever the row. The slope
    // is the chance of the other label, with the sign of the score if that one is right.
    void count_wrong_label(std::uint64_t rounds) {
        const double score = f()[0];
        if (absolute(score) < 3.0) return;
        approach(wrong_labels(), score > 0.0 ? slope()[0] : -slope()[0], recent_rows(rounds));
    }
    // It was the stream that has changed.
    void believe_labels() {
        course_->surprise = 0.0;
        if (one_function()) wrong_labels() = 0.0;
    }

    // Forgets how much was learned, but not what: steps are long again.
    void hurry() {
        constexpr double keep = 0.02;
        mixture_.forget(keep);
        for (std::size_t i = 0; i < K_; ++i) experts_[i].squares = larger(keep * experts_[i].squares, 1.0);
        for (std::size_t k = 0; k < config_.features; ++k) squares()[k] = larger(T(keep) * squares()[k], T(1));
        for (std::size_t n = 0; R_ > 1 && n < widths_ * R_; ++n) squares_of(1)[n] *= keep;
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    // The scale has been measured anew. Where rows may be sparse, so is all that is kept of a row of zeros.
    void refresh() {
        if (parts::sparse_rows && scale_.zero()) {
            if (widths_ > 0) {
                relevance_.centre();
                relevance_.refresh();
                refresh_zero();
            }
            origin_->from_zero = origin_->crowded < 0.5;
            origin_->zero_square = 0.0;
            for (std::size_t k = 0; origin_->from_zero && k < config_.features; ++k)
                origin_->zero_square += static_cast<double>(zero_at(k)) * static_cast<double>(zero_at(k));
        }
        measure();
    }
    void refresh_zero() {
        if (!scale_.zero()) return;
        for (std::size_t k = 0; k < config_.features; ++k) work_.query.row()[k] = scale_.zero()[k];
        relevance_.apply(work_.query.row(), work_.query.row());
        pool_.refresh(work_.query.row());
    }
    // The same for one column.
    void refresh_column(std::size_t k, T change) {
        const T weighed = widths_ > 0 ? change * relevance_.factors()[k] : change;
        pool_.refresh_column(k, weighed);
        if (!counts_from_zero()) return;
        const auto now = static_cast<double>(zero_at(k)), before = now - static_cast<double>(weighed);
        origin_->zero_square = larger(origin_->zero_square + (now * now - before * before), 0.0);
        for (std::size_t r = 0; r < lines(); ++r)
            bias_[r] += static_cast<double>(linear_.of(r)[k]) * static_cast<double>(change);
    }
    // The bias takes over what the linear expert makes of a row of zeros (sign -1), or hands it back (1).
    void move_origin(double sign) {
        for (std::size_t r = 0; counts_from_zero() && r < lines(); ++r)
            for (std::size_t k = 0; k < config_.features; ++k)
                bias_[r] += sign * (static_cast<double>(linear_.of(r)[k]) * static_cast<double>(scale_.zero()[k]));
    }
    // z'_k of a row of zeros.
    T zero_at(std::size_t k) const {
        return widths_ > 0 ? scale_.zero()[k] * relevance_.factors()[k] : scale_.zero()[k];
    }
    // |z'|^2 of a row that lists what it adds to a row of zeros.
    double square_of(const Query<T>& z) const {
        double square = origin_->zero_square;
        for (std::size_t n = 0; n < z.nonzeros; ++n) {
            const auto more = static_cast<double>(z.values[n]);
            square += more * (more + 2.0 * static_cast<double>(zero_at(static_cast<std::size_t>(z.columns[n]))));
        }
        return larger(square, 0.0);
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
        if (i > widths_) return 0;
        return static_cast<std::size_t>(experts_[i].tiles + (i > 0 ? experts_[i - 1].tiles : 0)) * lanes_of<T>;
    }

    // Rows of the ring, ferns, functions of columns, or the frequencies that serve an expert.
    std::size_t stored(std::size_t i) const {
        if (is_ring(i)) return ring_.rows();
        if (is_ferns(i)) return ferns_.size();
        return is_additive(i) ? config_.features : frequencies(i);
    }

    void review(std::uint64_t rounds) {
        course_->next_review = rounds + 1 + smaller(rounds / 10, longest_pause);
        if (has_block()) share(rounds);
        if (owners() > 1)
            pool_.review(
                owners(), T(0.05) + T(1) / std::sqrt(static_cast<T>(rounds)), T(1e-3),
                [&](std::size_t i) { return experts_[i].loss; },
                [&](std::size_t i) -> std::uint64_t& { return experts_[i].tiles; }, u());
        measure_steps();
    }

    // The block: waves | ferns | ring.
    void lay_out_block(Arena& arena, bool may_be_sparse) {
        const std::size_t unit = FeaturePool<T>::bytes_per_frequency(config_.features, R_, may_be_sparse);
        block_ = arena.take<Block>(1);
        unsigned char* memory = arena.take<unsigned char>(config_.budget, unit);
        pool_ = FeaturePool<T>(arena, memory, block_ ? &block_->tiles : nullptr, config_.budget / lanes_of<T>,
                               config_.features, R_, may_be_sparse);
        ferns_ = Ferns<T>(arena, config_.features, R_);
        ring_ =
            LabelRing<T>(arena, memory ? memory + config_.budget * unit : nullptr, config_.features, config_.classes);
    }
    std::size_t block_bytes() const {
        return config_.budget *
               FeaturePool<T>::bytes_per_frequency(config_.features, R_, config_.features >= sparse_from);
    }
    std::size_t tile_bytes() const {
        return FeaturePool<T>::tile_bytes(config_.features, R_, config_.features >= sparse_from);
    }
    std::size_t fern_bytes() const { return Ferns<T>::bytes(R_); }
    unsigned char* ferns_at() const { return pool_.end(); }
    std::size_t pages_left() const { return pages_beside(waves_bytes() + ferns_bytes()); }
    // Of the ring, if others have so many bytes of the block.
    std::size_t pages_beside(std::size_t bytes) const {
        return (block_bytes() - bytes) / LabelRing<T>::page_bytes(config_.features, config_.classes);
    }

    double first_share_of_ring() const { return R_ == 1 ? 0.10 : 0.25; }
    double first_share_of_ferns() const { return R_ == 1 ? 0.20 : 0.15; }

    void gather_evidence(std::size_t y, const Found& found, bool mistake, double loss, std::uint64_t rounds,
                         bool one_in_four) {
        Block& b = *block_;
        const double recent = recent_rows(rounds);
        const auto label = static_cast<std::int32_t>(y);
        approach(b.loss, loss, recent);
        approach(b.mistakes, mistake ? 1.0 : 0.0, recent);
        approach(b.near, found.first(1) == label ? 0.0 : 1.0, recent);
        approach(b.nearest, found.first(2) == label ? 0.0 : 1.0, recent);
        if (!one_in_four) return;
        ring_.try_other_distance(found, rounded(work_), y);
        const auto without = [&](std::size_t from, std::size_t to, double& worth) {
            for (std::size_t r = 0; r < R_; ++r) {
                blend()[r] = f()[r];
                for (std::size_t i = from; i < to; ++i) blend()[r] -= mixture_.weight(i) * scores_of(i)[r];
            }
            approach(worth, lesson(blend(), y, spare(), false) - loss, larger(1.0, 0.25 * recent));
        };
        without(1, 1 + widths_, b.worth_of_waves);
        without(1 + widths_, 2 + widths_, b.worth_of_ring);
        without(2 + widths_, 3 + widths_, b.worth_of_ferns);
    }

    // Moves the shares of the block towards what the evidence says, by at most an eighth of it.
    //
    // What an expert is worth now says little about what it would be worth with other memory: whoever has memory has
    // worth. So nothing but the ring moves in the first rows, ferns have at most a quarter, and the ring grows beyond a
    // quarter by a forecast: if 8 times as many rows have cut its mistakes by more than a tenth, what would they be in
    // the largest ring? It may grow if they would be about as few as the mixture's. Computed in T, since chips have no
    // doubles in hardware, and functions for them are long.
    void share(std::uint64_t rounds) {
        constexpr T largest_ring = T(0.75);
        const Block& b = *block_;
        const T whole = static_cast<T>(block_bytes()), ring = static_cast<T>(ring_bytes());
        const bool full = ring_.rows() == ring_.capacity();
        if (rounds < 400 || ring_.capacity() == 0) return;
        const T nearest = static_cast<T>(b.nearest), good_enough = T(1.1) * static_cast<T>(b.mistakes);
        const T gain = larger(nearest, T(1e-3)) / larger(static_cast<T>(b.near), T(1e-3));
        const double eights = logarithm(static_cast<double>(largest_ring * whole / ring)) / 2.0794415416798357;  // ln 8
        const bool pays = gain < T(0.9);
        const auto forecast = static_cast<T>(exponential(eights * logarithm(static_cast<double>(gain))));
        const bool grows = full && pays && nearest * forecast <= good_enough;
        const bool stays = 8 * ring_bytes() >= 3 * block_bytes() && pays && nearest <= good_enough;
        if (rounds < 1000 && !grows) return;

        const auto worth = [](double of) { return larger(static_cast<T>(of), T(0)); };
        const T waves = worth(b.worth_of_waves), rows = worth(b.worth_of_ring), tables = worth(b.worth_of_ferns),
                some = T(0.002) * static_cast<T>(b.loss) + T(1e-9);
        T fair_ring = ring, fair_ferns = static_cast<T>(ferns_bytes());
        if (grows || stays)
            fair_ring = largest_ring * whole;
        else if (full)
            fair_ring = whole * larger(T(0.03), smaller(rows / (waves + rows + tables + T(1e-9)), T(0.25)));
        if (rounds >= 1000) {
            const T share = (whole - fair_ring) * (tables + some) / (waves + tables + T(2) * some);
            fair_ferns = larger((R_ == 1 ? T(0.03) : T(0.12)) * whole, smaller(share, T(0.25) * whole));
        }
        const T fair_waves = larger(whole - fair_ring - fair_ferns, T(0.1) * whole);
        const std::size_t tile = tile_bytes(), fern = fern_bytes();
        const auto step = [&](std::size_t had, T fair, std::size_t unit) {
            const auto wanted = static_cast<std::size_t>(fair / static_cast<T>(unit) + T(0.5));
            const std::size_t most_moved = larger(block_bytes() / 8 / unit, std::size_t(1));
            return wanted > had ? smaller(wanted, had + most_moved) : had - smaller(had - wanted, most_moved);
        };
        const std::size_t tiles =
            larger(step(pool_.tiles(), fair_waves, tile), smaller(pool_.most_tiles(), std::size_t(1)));
        const std::size_t had = ferns_.room(), ferns = step(had, fair_ferns, fern);
        if ((ferns > had ? ferns - had : had - ferns) * fern < tile && tiles == pool_.tiles()) return;
        if (tiles * tile > block_bytes()) return;
        rearrange(tiles, smaller(ferns, (block_bytes() - tiles * tile) / fern));
    }

    void rearrange(std::size_t tiles, std::size_t ferns) {
        const auto loss_of = [&](std::size_t i) { return 2.0 * experts_[i].loss + experts_[i + 1].loss; };
        // First the ring, which may have to save rows from where others grow.
        ring_.resize(pages_beside(tiles * tile_bytes() + ferns * fern_bytes()));
        const unsigned char* before = ferns_at();
        const bool more = pool_.tiles() < tiles;
        TilesOf search(pool_.tiles());
        while (pool_.tiles() > tiles) {
            // Of the owner that predicts worst, but rather of one that has several.
            std::size_t giver = 0;
            for (std::uint64_t at_least = 2; giver == 0; --at_least)
                for (std::size_t i = 1; i <= owners(); ++i)
                    if (experts_[i].tiles >= at_least && (giver == 0 || loss_of(i) > loss_of(giver))) giver = i;
            search.found(giver, pool_.drop(giver, search.next(giver)));
            --experts_[giver].tiles;
        }
        ferns_.resize(ferns);
        // All at once, not tile by tile: so the cost is linear in the block.
        std::memmove(ferns_at() + (tiles - pool_.tiles()) * tile_bytes(), before, ferns_.size() * fern_bytes());
        while (pool_.tiles() < tiles) {
            std::size_t taker = 1;
            for (std::size_t i = 2; i <= owners(); ++i)
                if (loss_of(i) < loss_of(taker)) taker = i;
            pool_.add(common_->rng, taker);
            ++experts_[taker].tiles;
        }
        // What nobody uses is 0: words that are left there would have the byte order of the machine in a saved state.
        unsigned char* unused = ferns_at() + ferns_.size() * fern_bytes();
        std::memset(unused, 0, static_cast<std::size_t>(ring_.begin() - unused));
        if (more) refresh_zero();
    }

    bool origin_valid() const {
        return origin_->crowded >= 0.0 && origin_->crowded <= 1.0 && origin_->zero_square >= 0.0 &&
               origin_->zero_square <= beyond_all * beyond_all && origin_->from_zero <= 1;
    }

    bool block_valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        const Block& b = *block_;
        bool good = b.tiles <= pool_.most_tiles() && ferns_.counts_valid() &&
                    ferns_.room() <= (block_bytes() - waves_bytes()) / fern_bytes();
        for (double worth : {b.worth_of_waves, b.worth_of_ring, b.worth_of_ferns})
            good = good && within(worth, -beyond_all, beyond_all);
        good = good && within(b.loss, 0.0, beyond_all);
        for (double share : {b.mistakes, b.near, b.nearest}) good = good && within(share, 0.0, 1.0);
        return good && ring_.valid(pages_left()) && ferns_.valid(ferns_at(), ColumnScale<T>::value_limit);
    }

    double norm2(std::size_t i) const {
        if (is_ring(i)) return ring_.norm2();
        if (is_ferns(i)) return ferns_.norm2(ferns_at());
        if (is_additive(i)) return additive().norm2();
        if (is_lags(i)) return lags_.norm2();
        if (i > 0 && !is_slow(i)) return pool_.norm2(i);
        double total = 0.0;
        for (std::size_t r = i == 0 ? 0 : R_, end = i == 0 ? R_ : lines(); r < end; ++r) {
            total += bias_[r] * bias_[r];
            for (std::size_t k = 0; k < config_.features; ++k)
                total += static_cast<double>(linear_.of(r)[k]) * static_cast<double>(linear_.of(r)[k]);
        }
        return total;
    }

    Known<parts::functions> R_;                                                   // functions of each expert
    Known<parts::kernels == 0 ? 0 : widths_of(Config{}), std::uint32_t> widths_;  // experts that have one, from 1 on
    bool slow_;  // whether there is a slow linear expert; beside a short number it takes no room
    Course* course_ = nullptr;
    Expert* experts_ = nullptr;
    Origin* origin_ = nullptr;  // null if rows are not sparse
    double* bias_ = nullptr;
    NewtonMixture mixture_;
    LabelLags lags_;
    ColumnScale<T> scale_;
    ColumnRelevance<T> relevance_;
    Coefficients<T> linear_;  // a row for each linear function; the last row: sums of squares
    T* knots_ = nullptr;      // of the functions of columns
    FeaturePool<T> pool_;
    Block* block_ = nullptr;  // that pool, ferns and ring share; without those two the pool has its own memory
    Ferns<T> ferns_;
    LabelRing<T> ring_;
    double* scratch_ = nullptr;
};

POCKETKERNEL_END
