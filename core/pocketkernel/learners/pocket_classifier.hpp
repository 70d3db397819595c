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
#include "../mixture/class_mixture.hpp"
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
    static constexpr std::uint32_t revision = 11;  // 10 counted rows of columns that move on, and named no column
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
          experts_(roster_of(c)),
          course_(reinterpret_cast<Course*>(arena.take<double>(layout().end))),
          mixture_(functions_of(c), K_, reinterpret_cast<Place*>(number(layout().places)), number(layout().newton),
                   K_ > 1 ? number(layout().sums) : nullptr),
          columns_(arena, c.features, is_wide(), widths() > 0, course_ ? &course_->pace : nullptr),
          lines_(arena, functions() + has<SlowLinear>(), c.features, number(layout().biases)) {
        if (has<Lag>()) get<Lag>() = Lag(functions(), number(layout().lag));
        if (has<Additive>()) get<Additive>() = Additive(arena, c.features, functions());
        double* numbers = number(layout().waves);
        if (has_block())
            block_ = SharedBlock<T>(arena, c, functions(), numbers, waves(), ferns(), ring());
        else
            waves() = {
                FeaturePool<T>(arena, widths() > 0 ? std::size_t(c.budget) : 0, c.features, functions(), is_wide()),
                numbers};
        this->end_of_state(arena, Waves::partials(widths(), functions()));
        if (has_block())
            columns_.plan(arena);
        else
            waves().pool().plan(arena);
        const std::size_t leaves = has_block() ? block_.bytes(*this) / block_.fern_bytes(*this) : 0;
        const std::size_t scratch = ClassMixture::numbers_in_scratch(functions(), K_);
        mixture_.plan(arena.take<double>(scratch + (leaves + sizeof(double) - 1) / sizeof(double)));
    }

    void reset() {
        common_->rng = draw_constants();
        mixture_.reset();
        if (has<Lag>()) get<Lag>().reset();
        columns_.reset();
        lines_.reset();
        if (has_block()) block_.reset(*this);
        waves().reset(*this);
        for (std::size_t i = 0; i < K_; ++i) place(i).tiles = waves().pool().tiles_of(i);
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

    // `continues` says whether the row follows the one that was learned last: otherwise the last labels say nothing.
    static constexpr bool knows_last_labels = true;
    template <class U>
    void score(const Row<U>& row, Workspace<T>& work, double* F, bool continues = true) const {
        read(row, work);
        typename Experts::Notes notes{};
        evaluate({columns_.read(row, work.query, has_block()), work, false, false}, notes);
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
            if (loss && functions() > 1) *loss = mixture_.lesson(F, y, mixture_.slope());
            return tell_parts(linear, apart);
        }
        const std::uint64_t rounds = this->clock() + 1;
        read(row, work_);
        learn(columns_.learn(row, work_.query, rounds, has_block()), rounds, y, weight, F, linear, loss, apart);
    }
    void learn(const Query<T>& z, std::uint64_t rounds, std::size_t y, double weight, double* F, double* linear,
               double* told, double* apart) {
        const Seen<T> seen{z, work_, true, widths() > 0 && weighs_columns(rounds)};
        typename Experts::Notes notes{};
        evaluate(seen, notes);
        mix(work_, F);
        for (std::size_t r = 0; r < functions(); ++r) mixture_.f()[r] = F[r];
        answer(F);
        tell_parts(linear, apart);
        const Round row = judge(F, y, weight, rounds);
        if (told) *told = row.loss;
        if (has_block() && !repeats_) gather_evidence(seen, notes, row);
        teach_experts(seen, notes, row);
        if (!repeats_) mixture_.learn(work_.values, row.times);
        experts_.for_each([&](auto& expert, auto)
                              POCKETKERNEL_FOLD { expert.learned(*this, seen, row.y, rounds == 1); });
        if (!repeats_) watch(row);
        columns_.measure(z, work_.query.row(), rounds);
        if (seen.to_weigh)
            columns_.learn_relevance(z, work_.query, waves().pool(), static_cast<T>(row.times),
                                     T(functions() == 1 ? Tuning::Relevance::OfClasses::rate_two_classes
                                                        : Tuning::Relevance::OfClasses::rate_several));
        if (columns_.refresh(z, work_.query, rounds, lines_, waves().pool())) measure();
        if (has_block())
            columns_.for_each_started([&](std::size_t k, double mean) {
                experts_.for_each([&](auto& expert, auto) POCKETKERNEL_FOLD { expert.started(*this, k, mean); });
            });
        if (const std::uint32_t restart = columns_.take_restarted()) note(EventLog::column_changed, restart);
        if (has_block() && rounds % Tuning::Ring::weighed == 0) ring().weigh(columns_.factors());
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
        mixture_.ledger().for_each(visit);
    }

    void convert_block(const unsigned char* from, unsigned char* to) const {
        if (has_block()) block_.convert(*this, from, to);
    }

    // Whether every number is within what arithmetic bears: far beyond what any stream leads to, far below what
    // overflows.
    bool valid() const {
        bool good = this->common_valid() && mixture_.valid(beyond_all) && columns_.valid(this->clock()) &&
                    course_->events.valid(common_->tally.rounds, config_.features) &&
                    (!has_block() || block_.valid(*this)) && course_->watch.valid() &&
                    (!one_function() || wrong_labels().valid()) && course_->weights.valid() &&
                    course_->turned <= (functions() == 1);
        experts_.for_each([&](const auto& expert, auto) { good = good && expert.valid(*this); });
        for (std::size_t i = 0; i < K_; ++i)
            good = good && place(i).tiles == waves().pool().tiles_of(i) && place(i).inverse_width == inverse_width(i);
        return good;
    }

    // ---- the frame of the experts -----------------------------------------------------------------------------------

    using Place = ClassMixture::Place;
    static constexpr double beyond_all = 1e12;

    const Known<parts::functions>& functions() const { return mixture_.functions(); }
    std::size_t features() const { return config_.features; }
    std::size_t widths() const { return experts_.template count<Waves>(); }
    Place& place(std::size_t i) const { return mixture_.place(i); }
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
    std::uint8_t* leaves() const {
        return reinterpret_cast<std::uint8_t*>(mixture_.slopes_of(0) +
                                               ClassMixture::numbers_in_scratch(functions(), K_));
    }
    template <class E>
    T* kept(const Workspace<T>& work) const {
        return work.rows + experts_.template row<E>() * padded<T>(config_.features);
    }
    // Slope of the loss in function r of an expert, through the mixture.
    double mixed_slope(std::size_t i, std::size_t r) { return mixture_.weight(i) * mixture_.slope()[r]; }

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
    static_assert(part_of_state<Course, 136>);

    using Round = ClassMixture::Round;

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
    bool one_function() const { return functions() == 1 && widths() > 0; }  // of each width: of two classes

    static std::size_t functions_of(const Config& c) { return c.classes == 2 ? std::size_t(1) : c.classes; }
    static std::uint32_t rows_of(const Config& c) { return static_cast<std::uint32_t>(Experts::rows(roster_of(c))); }
    static std::uint32_t values_of(const Config& c) {
        return static_cast<std::uint32_t>(c.kernel_count * functions_of(c));
    }

    // The doubles of the state are one piece, as each begins with a pack of its own, and of a small model all of them
    // hardly fill one. Where in it, behind the course, each part begins: places, biases, the mixture's weights, what is
    // known of the last labels, the ledger's sums, unless there is a lone expert, the share of wrong labels, if each
    // width has one function, and the numbers of the waves.
    struct Layout {
        std::size_t places, biases, newton, lag, sums, wrong, waves, end;
    };
    POCKETKERNEL_FOLD Layout layout() const {
        const std::size_t R = functions_of(config_);
        Layout at{};
        at.places = sizeof(Course) / sizeof(double);
        at.biases = at.places + K_ * (sizeof(Place) / sizeof(double));
        at.newton = at.biases + R + has<SlowLinear>();
        at.lag = at.newton + NewtonMixture::doubles(K_);
        at.sums = at.lag + (has<Lag>() ? Lag::doubles(R) : 0);
        at.wrong = at.sums + (K_ > 1 ? MixtureLedger::doubles(K_) : 0);
        at.waves = at.wrong + (R == 1 && widths() > 0);
        at.end = at.waves + Waves::doubles(widths(), R);
        return at;
    }
    double* number(std::size_t at) const { return course_ ? reinterpret_cast<double*>(course_) + at : nullptr; }
    WrongLabels& wrong_labels() const { return *reinterpret_cast<WrongLabels*>(waves().numbers() - 1); }

    // ---- scores -----------------------------------------------------------------------------------------------------

    // What experts read of the row itself.
    template <class U>
    POCKETKERNEL_FOLD void read(const Row<U>& row, const Workspace<T>& work) const {
        experts_.for_each([&](const auto& expert, auto) POCKETKERNEL_FOLD {
            using E = std::decay_t<decltype(expert)>;
            if constexpr (E::reads == Reads::raw && E::keeps_row) expert.read(row, kept<E>(work));
        });
    }

    // Leaves s_ir in work.values[iR + r], and z' in the place of z.
    void evaluate(const Seen<T>& seen, typename Experts::Notes& notes) const {
        evaluate_those<false>(seen, notes);
        if (widths() > 0) {
            columns_.weigh(seen.z, seen.work.query);
            evaluate_those<true>(seen, notes);
        }
        double* values = seen.work.values;
        for (std::size_t n = 0; n < K_ * functions(); ++n)
            values[n] = larger(-Tuning::score_limit, smaller(Tuning::score_limit, values[n]));
    }
    template <bool ReadWeighed>
    POCKETKERNEL_FOLD void evaluate_those(const Seen<T>& seen, typename Experts::Notes& notes) const {
        experts_.for_each([&](const auto& expert, auto at) POCKETKERNEL_FOLD {
            using E = std::decay_t<decltype(expert)>;
            if constexpr ((E::reads == Reads::weighed) == ReadWeighed)
                expert.evaluate(*this, seen, static_cast<typename E::Note&>(notes),
                                seen.work.values + at.first * functions());
        });
    }

    // The mixture's score; of a row that does not continue the stream without the last expert, if that is on labels.
    void mix(const Workspace<T>& work, double* F, bool with_labels = true) const {
        mixture_.mix(work.values, K_ - (has<Lag>() && !with_labels ? 1 : 0), F);
    }

    // From the R scores within to one for each class.
    void answer(double* F) const {
        if (functions() > 1) return;
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
        for (std::size_t r = 0; r < functions(); ++r) linear[r] = work_.values[r];
        answer(linear);
    }

    // ---- lessons ----------------------------------------------------------------------------------------------------

    // What the mixture makes of the row, by its answers F: its loss, and its slopes.
    POCKETKERNEL_FOLD Round judge(const double* F, std::size_t y, double weight, std::uint64_t rounds) {
        Round row{course_->turned ? 1 - y : y, weight, 0.0, 0.0, largest(F, config_.classes) != y, rounds};
        row.loss = mixture_.judge(work_.values, row.y, weight, !repeats_);
        this->record(row.mistake, weight * row.loss);
        row.times = course_->weights.times(weight, rounds);
        return row;
    }

    POCKETKERNEL_FOLD void gather_evidence(const Seen<T>& seen, const typename Experts::Notes& notes,
                                           const Round& row) {
        if constexpr (Experts::template may_have<Ring>) {
            const typename Ring::Found& found = notes;
            block_.gather(*this, found, Ring::rounded(*this, seen.work), row.y, row.mistake, row.loss,
                          recent_rows(row.rounds), seen.to_weigh, [&](std::size_t from, std::size_t to) {
                              return mixture_.loss_without(work_.values, from, to, row.y);
                          });
        }
    }

    // First all slopes, then all steps.
    POCKETKERNEL_APART void teach_experts(const Seen<T>& seen, const typename Experts::Notes& notes, const Round& row) {
        const bool believed = course_->watch.is_suspicious();
        for (std::size_t i = 0; i < K_; ++i)
            mixture_.take_slopes(i, work_.values + i * functions(), manner_of(i), row, !repeats_,
                                 [&](double p) { return believed ? 1.0 : wrong_labels().chance_of_right(p); });
        experts_.for_each([&](auto& expert, auto at) POCKETKERNEL_FOLD {
            using E = std::decay_t<decltype(expert)>;
            expert.step(
                *this, seen, static_cast<const typename E::Note&>(notes),
                {mixture_.slopes_of(at.first), row.times, mixture_.squares() + at.first, mixture_.wholes() + at.first});
        });
    }
    POCKETKERNEL_FOLD Manner manner_of(std::size_t i) const {
        Manner manner;
        experts_.for_each([&](const auto& expert, auto at) POCKETKERNEL_FOLD {
            if (i - at.first < at.count) manner = expert.manner(*this);
        });
        return manner;
    }

    // One row in four, by the fractional part of rounds times the golden section: evenly, but in step with no period
    // that a stream may have.
    static bool weighs_columns(std::uint64_t rounds) { return rounds * 0x9e3779b97f4a7c15ULL < std::uint64_t(1) << 62; }

    // ---- change -----------------------------------------------------------------------------------------------------

    POCKETKERNEL_FOLD void watch(const Round& row) {
        const double score = mixture_.f()[0];
        if (one_function()) wrong_labels().count(score, mixture_.slope()[0], recent_rows(row.rounds));
        if (functions() == 1 && course_->watch.exchanged(row.times * (row.y == 1 ? score : -score))) {
            course_->turned = 1 - course_->turned;
            believe_labels();
            note(EventLog::classes_exchanged);
            return;
        }
        if (!course_->watch.lost_confidence(row.times * mixture_.relief(row))) return;
        believe_labels();
        note(EventLog::confidence_lost);
        hurry();
    }

    // The row is counted among those that were new: in a later pass it has no number.
    void note(EventLog::Kind kind, std::uint32_t column_and_change = 0) {
        if (!repeats_) course_->events.add(common_->tally.rounds, kind, column_and_change);
    }

    // It was the stream that has changed.
    void believe_labels() {
        course_->watch.surprise = 0.0;
        if (one_function()) wrong_labels().share = 0.0;
    }

    // Forgets how much was learned, but not what: steps are long again.
    void hurry() {
        constexpr double keep = Tuning::kept_after_change;
        mixture_.hurry(keep);
        experts_.for_each([&](auto& expert, auto) { expert.hurry(*this, keep); });
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    void measure() {
        for (std::size_t i = 0; i < K_; ++i) place(i).inverse_width = inverse_width(i);
    }
    double inverse_width(std::size_t i) const {
        return i > 0 && i <= widths() ? 1.0 / (config_.kernels[i].parameter * std::sqrt(columns_.square())) : 0.0;
    }

    POCKETKERNEL_FOLD void review(std::uint64_t rounds) {
        course_->next_review = rounds + 1 + smaller(rounds / Tuning::rows_between_reviews, Tuning::longest_pause);
        if (has_block() && block_.share(*this, rounds)) columns_.refresh_zero(work_.query, waves().pool());
        if (Waves::owners(*this) > 1)
            waves().pool().review(
                Waves::owners(*this), T(Tuning::Waves::tolerance) + T(1) / std::sqrt(static_cast<T>(rounds)),
                T(Tuning::Waves::least_loss), [&](std::size_t i) { return place(i).loss; },
                [&](std::size_t i) -> std::uint64_t& { return place(i).tiles; }, mixture_.room());
        waves().measure_steps(*this);
    }

    Experts experts_;
    Course* course_;  // and, behind it, all numbers of the state
    ClassMixture mixture_;
    Columns<T> columns_;
    Lines<T> lines_;
    SharedBlock<T> block_;
};

static_assert(sizeof(void*) != 8 || (sizeof(PocketClassifier<float>) <= PocketClassifier<float>::object_bytes &&
                                     sizeof(PocketClassifier<double>) <= PocketClassifier<double>::object_bytes));

POCKETKERNEL_END
