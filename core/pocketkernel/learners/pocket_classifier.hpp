// PocketClassifier: several small experts on one block of memory, mixed by a Newton step.
//
//   z      the row, its columns brought to one scale; z' the same, weighed by how much they matter (Columns)
//   s_i    expert i's score, within +-8:  the first is linear in z; then some that have a width in z' (Waves); one that
//          asks the nearest of the last rows (Ring); tables along the axes (Ferns); a sum of functions of one column
//          each (Additive), or of wide rows a linear one again, which learns slowly; and one that knows only the last
//          labels (Lag)
//   F      sum_i w_i s_i, mixed by NewtonMixture
//   l      logistic loss; g_i is its slope between s_i and F, so that experts also mend what the mixture gets wrong
//
// Experts are in experts/list.hpp, which config has which in experts/roster.hpp. They take AdaGrad steps. Waves, ring
// and ferns share one block, in which memory follows the evidence (SharedBlock, `review`). Tests on the side tell when
// the stream has changed (ChangeWatch), and the last events are kept. Of two classes one function is learned, of more
// one for each.
//
// Widths are in units of the data's own scale, the root of the mean |z'|^2. budget is D: as many frequencies would fit
// into the block if all of it were theirs.
#pragma once

#include "../change_watch.hpp"
#include "../columns/columns.hpp"
#include "../event_log.hpp"
#include "../experts/list.hpp"
#include "../mixture_ledger.hpp"
#include "../newton_mixture.hpp"
#include "../shared_block.hpp"
#include "learner.hpp"

POCKETKERNEL_BEGIN

template <class T>
class PocketClassifier : public Learner<T> {
  public:
    using Element = T;
    using Linear = experts::Linear<T>;
    using Waves = experts::Waves<T>;
    using Ring = experts::Ring<T>;
    using Ferns = experts::Ferns<T>;
    using Additive = experts::Additive<T>;
    using SlowLinear = experts::SlowLinear<T>;
    using Lag = experts::Lag<T>;
    using Experts = ExpertList<Linear, Waves, Ring, Ferns, Additive, SlowLinear, Lag>;

    static constexpr const char* name = "pocket_classifier";
    static constexpr std::uint32_t revision = 10;  // 9 kept differences to means, and one unit of weights
    static constexpr bool multiclass = true;
    static constexpr std::size_t object_bytes = Learner<T>::pocket_bytes;

    [[nodiscard]] static Status check(const Config& c) {
        const Status status = check_common<T>(c, true, true, 0);
        if (status != Status::ok) return status;
        if (c.loss != Loss::logistic) return Status::loss_not_logistic;
        if (c.storage != Storage::full) return Status::storage_unsuited;
        const Roster roster = roster_of(c);
        const bool wide = c.features >= Tuning::wide_from;
        const bool suited = is_linear_and_halving(c, roster.widths) && (!roster.block || roster.widths > 0) &&
                            (!roster.additive || !wide) && (!roster.slow || (wide && c.classes == 2));
        return suited ? Status::ok : Status::kernels_not_halving;
    }

    POCKETKERNEL_ONCE PocketClassifier(const Config& c, Arena& arena)
        : Learner<T>(c, arena, {false, Tuning::wide_from, rows_of(c), values_of(c)}),
          R_(functions_of(c)),
          experts_(roster_of(c)),
          course_(take_numbers(arena)),
          mixture_(K_, course_ ? mixture_numbers() : nullptr),
          columns_(arena, c.features, is_wide(), widths() > 0, course_ ? &course_->pace : nullptr),
          lines_(arena, lines_count(), c.features, course_ ? biases() : nullptr) {
        if (has<Lag>()) get<Lag>() = Lag(R_, course_ ? lag_numbers() : nullptr);
        if (has<Additive>()) get<Additive>() = Additive(arena, c.features, R_);
        double* numbers = course_ ? wave_numbers() : nullptr;
        if (has_block())
            block_ = SharedBlock<T>(arena, c, R_, numbers, waves(), ferns(), ring());
        else
            waves() = {FeaturePool<T>(arena, widths() > 0 ? std::size_t(c.budget) : 0, c.features, R_, is_wide()),
                       numbers};
        this->end_of_state(arena, Waves::partials(widths(), R_));
        if (has_block())
            columns_.plan(arena);
        else
            waves().pool().plan(arena);
        const std::size_t leaves = has_block() ? block_.bytes(*this) / block_.fern_bytes(*this) : 0;
        scratch_ = arena.take<double>(numbers_in_scratch() + (leaves + sizeof(double) - 1) / sizeof(double));
    }

    void reset() {
        common_->rng = draw_constants();
        mixture_.reset();
        if (has<Lag>()) get<Lag>().reset();
        columns_.reset();
        lines_.reset();
        if (has_block()) block_.reset(*this);
        waves().reset(*this);
        for (std::size_t i = 0; i < K_; ++i) {
            place(i).squares = 1.0;
            place(i).tiles = waves().pool().tiles_of(i);
        }
        course_->next_review = Tuning::first_review;
        waves().measure_steps(*this);
        measure();
    }

    // The frequencies, unless they are in the block: there they come and go with its shares.
    Constants constants() const { return waves().pool().constants(); }
    Rng draw_constants() {
        Rng rng(config_.seed);
        if (waves().pool().is_constant()) waves().pool().draw(rng);
        return rng;
    }

    // How many there are now. A linear model alone has none, whatever the budget.
    std::size_t frequency_count() const {
        return has_block() ? waves().pool().tiles() * lanes_of<T> : std::size_t(config_.budget);
    }
    double frequency(std::size_t j, std::size_t k) const { return widths() > 0 ? waves().pool().frequency(j, k) : 0.0; }

    // e^rho_k; of a linear model alone all columns count alike.
    double relevance(std::size_t k) const { return widths() > 0 ? static_cast<double>(columns_.factors()[k]) : 1.0; }

    static constexpr bool reads_rows = true;     // by itself: a row is scaled in double precision before it is rounded
    static constexpr bool takes_missing = true;  // z = 0, the usual value
    static double largest_value(Storage = Storage::full) { return ColumnScale<T>::value_limit; }

    template <class U>
    void score(const Row<U>& row, Workspace<T>& work, double* F) const {
        if (has_block()) ferns().read(row, kept<Ferns>(work));
        typename Experts::Notes notes;
        evaluate({columns_.read(row, work.query, has_block()), work, false, false}, notes);
        mix(work, F);
        answer(F);
    }

    // The scores of all classes, made before it learned, are left in F; those of the linear expert alone in `linear`
    // and the loss in `loss`, unless they are null.
    static constexpr bool tells_linear = true;
    template <class U>
    void learn(const Row<U>& row, std::size_t y, double weight, double* F, double* linear = nullptr,
               double* loss = nullptr) {
        if (weight == 0.0) {
            score(row, work_, F);
            if (loss && R_ > 1) *loss = lesson(F, y, slope());
            return tell_linear(linear);
        }
        const std::uint64_t rounds = this->clock() + 1;
        if (has_block()) ferns().read(row, kept<Ferns>(work_));
        learn(columns_.learn(row, work_.query, rounds, has_block()), rounds, y, weight, F, linear, loss);
    }
    void learn(const Query<T>& z, std::uint64_t rounds, std::size_t y, double weight, double* F, double* linear,
               double* told) {
        const Seen<T> seen{z, work_, true, widths() > 0 && weighs_columns(rounds)};
        typename Experts::Notes notes;
        evaluate(seen, notes);
        mix(work_, F);
        for (std::size_t r = 0; r < R_; ++r) f()[r] = F[r];
        answer(F);
        tell_linear(linear);
        const Round row = judge(F, y, weight, rounds);
        if (told) *told = row.loss;
        if (has_block() && !repeats_) gather_evidence(seen, notes, row);
        teach_experts(seen, notes, row);
        if (!repeats_) teach_mixture(row.times);
        experts_.for_each([&](auto& expert, auto)
                              POCKETKERNEL_FOLD { expert.learned(*this, seen, row.y, rounds == 1); });
        if (!repeats_) watch(row);
        columns_.measure(z, work_.query.row(), rounds);
        if (seen.to_weigh)
            columns_.learn_relevance(z, work_.query, waves().pool(), static_cast<T>(row.times),
                                     T(R_ == 1 ? Tuning::Relevance::OfClasses::rate_two_classes
                                               : Tuning::Relevance::OfClasses::rate_several));
        if (columns_.refresh(z, work_.query, rounds, lines_, waves().pool())) measure();
        if (has_block())
            columns_.for_each_started([&](std::size_t k, double mean) { ferns().started(*this, k, mean); });
        if (columns_.take_restarted()) note(EventLog::column_changed);
        if (has_block() && rounds % 64 == 0) ring().weigh(columns_.factors());
        if (Waves::owners(*this) > 0 && !repeats_ && rounds >= course_->next_review) review(rounds);
    }

    const EventLog& events() const { return course_->events; }
    // Bytes of the block that the frequencies, the ring and the ferns have.
    std::size_t waves_bytes() const {
        return (has_block() ? waves().pool().tiles() : waves().pool().most_tiles()) * block_.tile_bytes(*this);
    }
    std::size_t ferns_bytes() const { return has_block() ? block_.ferns_bytes(*this) : 0; }
    std::size_t ring_bytes() const { return has_block() ? block_.ring_bytes(*this) : 0; }

    // On rows that were learned before, experts learn, but the mixture, the shares of memory and the tests for change
    // stay as they are.
    void repeat(bool again) {
        repeats_ = again;
        if (again) experts_.for_each([](auto& expert, auto) { expert.repeats(); });
    }
    void forget_lags() {
        experts_.for_each([](auto& expert, auto) { expert.interrupted(); });
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
        experts_.for_each([&](const auto& expert, auto at) {
            for (std::size_t n = 0; n < at.count; ++n) {
                const std::size_t i = at.first + n;
                all[i] = {0.0, std::sqrt(expert.norm2(*this, n)), 0.0, expert.stored(*this, n), 0, 0, 0};
                total += pull[i] = absolute(mixture_.weight(i)) * all[i].norm;
            }
        });
        for (std::size_t i = 0; i < K_; ++i)
            all[i].weight = total > 0.0 ? pull[i] / total : 1.0 / static_cast<double>(K_);
    }

    // What MixtureLedger keeps, in its order.
    template <class Visit>
    void for_each_evidence(Visit&& visit) const {
        ledger().for_each(visit);
    }

    void convert_block(const unsigned char* from, unsigned char* to) const {
        if (has_block()) block_.convert(*this, from, to);
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        const auto within = [](double value, double low, double high) { return value >= low && value <= high; };
        bool good = this->common_valid() && mixture_.valid() && ledger().valid() && columns_.valid(this->clock()) &&
                    course_->events.valid(common_->tally.rounds) && (!has_block() || block_.valid(*this)) &&
                    course_->watch.valid() && (!one_function() || wrong_labels().valid()) && course_->weights.valid() &&
                    course_->turned <= (R_ == 1);
        experts_.for_each([&](const auto& expert, auto) { good = good && expert.valid(*this); });
        for (std::size_t i = 0; i < K_; ++i)
            good = good && within(place(i).squares, 1.0, beyond_all * beyond_all) &&
                   within(place(i).loss, 0.0, beyond_all) && place(i).tiles == waves().pool().tiles_of(i) &&
                   place(i).inverse_width == inverse_width(i);
        return good;
    }

    // ---- the frame of the experts -----------------------------------------------------------------------------------

    struct Place {
        double squares;        // 1 + sum of g_i^2; of the linear one, for its bias
        double loss;           // mean of its own loss over the recent rows
        double inverse_width;  // in the units of z
        std::uint64_t tiles;   // that it owns
    };
    static constexpr double beyond_all = 1e12;

    const Known<parts::functions>& functions() const { return R_; }
    std::size_t features() const { return config_.features; }
    std::size_t widths() const { return experts_.template count<Waves>(); }
    Place& place(std::size_t i) const { return reinterpret_cast<Place*>(course_ + 1)[i]; }
    Rng& rng() { return common_->rng; }
    const Columns<T>& columns() const { return columns_; }
    Lines<T>& lines() { return lines_; }
    const Lines<T>& lines() const { return lines_; }
    Waves& waves() { return get<Waves>(); }
    const Waves& waves() const { return get<Waves>(); }
    Ring& ring() { return get<Ring>(); }
    const Ring& ring() const { return get<Ring>(); }
    Ferns& ferns() { return get<Ferns>(); }
    const Ferns& ferns() const { return get<Ferns>(); }
    unsigned char* ferns_at() const { return waves().pool().end(); }
    std::size_t pages_left() const { return block_.pages_left(*this); }
    // Of the ferns, that this row falls into.
    std::uint8_t* leaves() const { return reinterpret_cast<std::uint8_t*>(scratch_ + numbers_in_scratch()); }
    template <class E>
    T* kept(const Workspace<T>& work) const {
        return work.rows + experts_.template row<E>() * padded<T>(config_.features);
    }
    // Slope of the loss in function r of an expert, through the mixture.
    double mixed_slope(std::size_t i, std::size_t r) { return mixture_.weight(i) * slope()[r]; }

  private:
    using Learner<T>::K_;
    using Learner<T>::common_;
    using Learner<T>::config_;
    using Learner<T>::repeats_;
    using Learner<T>::work_;

    struct Course {
        typename Columns<T>::Pace pace;
        RelativeWeights weights;
        ChangeWatch watch;
        std::uint64_t next_review;
        std::uint64_t turned;  // 1 if the two classes have changed places
        EventLog events;
    };
    static_assert(part_of_state<Place, 32> && part_of_state<Course, 136>);

    // A row while it is learned: its class, as it is inside; its weight, how many times that counts; the mixture's
    // loss.
    struct Round {
        std::size_t y;
        double weight, times, loss;
        bool mistake;
        std::uint64_t rounds;
    };

    template <class E>
    E& get() {
        return experts_.template get<E>();
    }
    template <class E>
    const E& get() const {
        return experts_.template get<E>();
    }
    template <class E>
    bool has() const {
        return experts_.template has<E>();
    }
    bool has_block() const { return has<Ring>(); }
    bool is_wide() const { return config_.features >= Tuning::wide_from; }
    bool one_function() const { return R_ == 1 && widths() > 0; }  // of each width: of two classes

    static std::size_t functions_of(const Config& c) { return c.classes == 2 ? std::size_t(1) : c.classes; }
    static std::uint32_t rows_of(const Config& c) { return static_cast<std::uint32_t>(Experts::rows(roster_of(c))); }
    static std::uint32_t values_of(const Config& c) {
        return static_cast<std::uint32_t>(c.kernel_count * functions_of(c));
    }

    // The doubles of the state are one piece, as each begins with a pack of its own, and of a small model all of them
    // hardly fill one: course, places; biases; the mixture's; those of the last labels; the ledger's sums, unless there
    // is a lone expert; of two classes the share of wrong labels; those of the waves.
    Course* take_numbers(Arena& arena) const {
        constexpr std::size_t course = sizeof(Course) / sizeof(double);
        return reinterpret_cast<Course*>(
            arena.take<double>(course + place_of_waves() + (widths() > 0 ? Waves::doubles(widths(), R_) : 0)));
    }
    double* numbers() const { return reinterpret_cast<double*>(course_ + 1); }
    double* biases() const { return numbers() + K_ * (sizeof(Place) / sizeof(double)); }
    std::size_t lines_count() const { return R_ + has<SlowLinear>(); }
    double* mixture_numbers() const { return biases() + lines_count(); }
    double* lag_numbers() const { return mixture_numbers() + NewtonMixture::doubles(K_); }
    std::size_t place_of_sums() const {
        return K_ * (sizeof(Place) / sizeof(double)) + lines_count() + NewtonMixture::doubles(K_) +
               (has<Lag>() ? Lag::doubles(R_) : 0);
    }
    std::size_t place_of_wrong() const { return place_of_sums() + (K_ > 1 ? MixtureLedger::doubles(K_) : 0); }
    std::size_t place_of_waves() const { return place_of_wrong() + one_function(); }
    MixtureLedger ledger() const { return MixtureLedger(K_, K_ > 1 ? numbers() + place_of_sums() : nullptr); }
    WrongLabels& wrong_labels() const { return *reinterpret_cast<WrongLabels*>(numbers() + place_of_wrong()); }
    double* wave_numbers() const { return numbers() + place_of_waves(); }

    // Scratch: slopes of all experts; scores of the mixture, its slopes, and two more such rows; one number for each
    // expert and, behind it, room for the mixture's, or for the squares of slopes; then leaves.
    double* slopes_of(std::size_t i) { return scratch_ + i * R_; }
    double* f() { return scratch_ + K_ * R_; }
    double* slope() { return f() + R_; }
    double* blend() { return slope() + R_; }
    double* spare() { return blend() + R_; }
    double* u() { return spare() + R_; }
    std::size_t numbers_in_scratch() const { return (K_ + 4) * R_ + K_ + NewtonMixture::doubles(K_); }

    // ---- scores -----------------------------------------------------------------------------------------------------

    // Leaves s_ir in work.values[iR + r], and z' in the place of z.
    void evaluate(const Seen<T>& seen, typename Experts::Notes& notes) const {
        evaluate_those<false>(seen, notes);
        if (widths() > 0) {
            columns_.weigh(seen.z, seen.work.query);
            evaluate_those<true>(seen, notes);
        }
        double* values = seen.work.values;
        for (std::size_t n = 0; n < K_ * R_; ++n)
            values[n] = larger(-Tuning::score_limit, smaller(Tuning::score_limit, values[n]));
    }
    template <bool ReadWeighed>
    POCKETKERNEL_FOLD void evaluate_those(const Seen<T>& seen, typename Experts::Notes& notes) const {
        experts_.for_each([&](const auto& expert, auto at) POCKETKERNEL_FOLD {
            using E = std::decay_t<decltype(expert)>;
            if constexpr ((E::reads == Reads::weighed) == ReadWeighed)
                expert.evaluate(*this, seen, static_cast<typename E::Note&>(notes), seen.work.values + at.first * R_);
        });
    }
    const double* scores_of(std::size_t i) const { return work_.values + i * R_; }

    void mix(const Workspace<T>& work, double* F) const {
        for (std::size_t r = 0; r < R_; ++r) F[r] = 0.0;
        for (std::size_t i = 0; i < K_; ++i)
            for (std::size_t r = 0; r < R_; ++r) F[r] += mixture_.weight(i) * work.values[i * R_ + r];
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

    // What the mixture makes of the row, by the answers F and the scores f: its loss, and its slopes.
    POCKETKERNEL_FOLD Round judge(const double* F, std::size_t y, double weight, std::uint64_t rounds) {
        Round row{course_->turned ? 1 - y : y, weight, 0.0, 0.0, largest(F, config_.classes) != y, rounds};
        row.loss = lesson(f(), row.y, slope());
        this->record(row.mistake, weight * row.loss);
        if (!repeats_)
            ledger().observe(weight, row.y, slope(), R_,
                             [&](std::size_t n) { return n == 0 ? f() : scores_of(n - 1); });
        row.times = course_->weights.times(weight, rounds);
        return row;
    }

    void gather_evidence(const Seen<T>& seen, const typename Experts::Notes& notes, const Round& row) {
        const typename Ring::Found& found = notes;
        block_.gather(*this, found, Ring::rounded(*this, seen.work), row.y, row.mistake, row.loss,
                      recent_rows(row.rounds), seen.to_weigh, [&](std::size_t from, std::size_t to) {
                          for (std::size_t r = 0; r < R_; ++r) {
                              blend()[r] = f()[r];
                              for (std::size_t i = from; i < to; ++i)
                                  blend()[r] -= mixture_.weight(i) * scores_of(i)[r];
                          }
                          return lesson(blend(), row.y, spare(), false);
                      });
    }

    // First all slopes, then all steps.
    POCKETKERNEL_APART void teach_experts(const Seen<T>& seen, const typename Experts::Notes& notes, const Round& row) {
        for (std::size_t i = 0; i < K_; ++i) take_slopes(i, row);
        experts_.for_each([&](auto& expert, auto at) POCKETKERNEL_FOLD {
            using E = std::decay_t<decltype(expert)>;
            expert.step(*this, seen, static_cast<const typename E::Note&>(notes),
                        {slopes_of(at.first), row.times, squares() + at.first, wholes() + at.first});
        });
    }
    double* wholes() { return u(); }
    double* squares() { return u() + K_; }

    // The slopes of place i, part of the way from its own score to the mixture's. What stays in the squares is as if
    // the row had come as many times as it counts; a step allows for its whole slope.
    POCKETKERNEL_FOLD void take_slopes(std::size_t i, const Round& row) {
        const Manner manner = manner_of(i);
        const double* s = scores_of(i);
        double* g = slopes_of(i);
        const double own = lesson(s, row.y, g, false), times = row.times;
        if (!repeats_) {
            ledger().charge(i, row.weight * own);
            approach(place(i).loss, own, recent_rows(row.rounds));
        }
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = s[r] + manner.share_of_mixture * (f()[r] - s[r]);
        lesson(blend(), row.y, g, true, false);
        if (R_ == 1 && manner.doubts_labels && !course_->watch.is_suspicious())
            g[0] *= wrong_labels().chance_of_right(1.0 - absolute(g[0]));
        double square = 0.0;
        for (std::size_t r = 0; r < R_; ++r) square += g[r] * g[r];
        squares()[i] = square;
        wholes()[i] = place(i).squares + times * times * square;
        place(i).squares += times * square;
        for (std::size_t r = 0; r < R_ && !manner.counts; ++r) g[r] *= times;
    }

    POCKETKERNEL_FOLD Manner manner_of(std::size_t i) const {
        Manner manner;
        experts_.for_each([&](const auto& expert, auto at) POCKETKERNEL_FOLD {
            if (i - at.first < at.count) manner = expert.manner(*this);
        });
        if (R_ > 1) manner.share_of_mixture = Tuning::MixtureShare::several_classes;
        return manner;
    }

    // One row in four, by the fractional part of rounds times the golden section: evenly, but in step with no period
    // that a stream may have.
    static bool weighs_columns(std::uint64_t rounds) { return rounds * 0x9e3779b97f4a7c15ULL < std::uint64_t(1) << 62; }

    void teach_mixture(double times) {
        for (std::size_t i = 0; i < K_; ++i) {
            u()[i] = 0.0;
            for (std::size_t r = 0; r < R_; ++r) u()[i] += slope()[r] * scores_of(i)[r];
        }
        mixture_.update(u(), times, u() + K_);
    }

    // ---- change -----------------------------------------------------------------------------------------------------

    void watch(const Round& row) {
        if (one_function()) wrong_labels().count(f()[0], slope()[0], recent_rows(row.rounds));
        if (R_ == 1 && course_->watch.exchanged(row.times * (row.y == 1 ? f()[0] : -f()[0]))) {
            course_->turned = 1 - course_->turned;
            believe_labels();
            note(EventLog::classes_exchanged);
            return;
        }
        for (std::size_t r = 0; r < R_; ++r) blend()[r] = Tuning::Watch::confidence * f()[r];
        if (!course_->watch.lost_confidence(row.times * (row.loss - lesson(blend(), row.y, slope(), false)))) return;
        believe_labels();
        note(EventLog::confidence_lost);
        hurry();
    }

    // The row is counted among those that were new: in a later pass it has no number.
    void note(EventLog::Kind kind) {
        if (!repeats_) course_->events.add(common_->tally.rounds, kind);
    }

    // It was the stream that has changed.
    void believe_labels() {
        course_->watch.surprise = 0.0;
        if (one_function()) wrong_labels().share = 0.0;
    }

    // Forgets how much was learned, but not what: steps are long again.
    void hurry() {
        constexpr double keep = Tuning::kept_after_change;
        mixture_.forget(keep);
        for (std::size_t i = 0; i < K_; ++i) place(i).squares = larger(keep * place(i).squares, 1.0);
        experts_.for_each([&](auto& expert, auto) { expert.hurry(*this, keep); });
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    void measure() {
        for (std::size_t i = 0; i < K_; ++i) place(i).inverse_width = inverse_width(i);
    }
    double inverse_width(std::size_t i) const {
        return i > 0 && i <= widths() ? 1.0 / (config_.kernels[i].parameter * std::sqrt(columns_.square())) : 0.0;
    }

    void review(std::uint64_t rounds) {
        course_->next_review = rounds + 1 + smaller(rounds / Tuning::rows_between_reviews, Tuning::longest_pause);
        if (has_block() && block_.share(*this, rounds)) columns_.refresh_zero(work_.query, waves().pool());
        if (Waves::owners(*this) > 1)
            waves().pool().review(
                Waves::owners(*this), T(Tuning::Waves::tolerance) + T(1) / std::sqrt(static_cast<T>(rounds)),
                T(Tuning::Waves::least_loss), [&](std::size_t i) { return place(i).loss; },
                [&](std::size_t i) -> std::uint64_t& { return place(i).tiles; }, u());
        waves().measure_steps(*this);
    }

    Known<parts::functions> R_;  // functions of each expert
    Experts experts_;
    Course* course_;  // and, behind it, all numbers of the state
    NewtonMixture mixture_;
    Columns<T> columns_;
    Lines<T> lines_;
    SharedBlock<T> block_;
    double* scratch_ = nullptr;
};

static_assert(sizeof(void*) != 8 || (sizeof(PocketClassifier<float>) <= PocketClassifier<float>::object_bytes &&
                                     sizeof(PocketClassifier<double>) <= PocketClassifier<double>::object_bytes));

POCKETKERNEL_END
