// One level and precision of the core behind the Engine interface. Compiled with
//   POCKETKERNEL_ELEMENT   float or double
//   POCKETKERNEL_TABLE     the name of the function that returns the Table
// and the flags of its level.
#include "engine.hpp"

#define POCKETKERNEL_WATCH binding::Watch
#include "pocketkernel/fleet.hpp"
#include "pocketkernel/learners/list.hpp"

namespace pocketkernel::binding {
namespace {

using T = POCKETKERNEL_ELEMENT;

template <class U>
Row<U> row_at(const Rows& rows, std::size_t r) {
    const U* values = static_cast<const U*>(rows.values);
    if (!rows.columns) return {values + r * rows.features, nullptr, 0};
    const std::size_t end = smaller(static_cast<std::size_t>(read_once(rows.starts + r + 1)), rows.stored);
    const std::size_t begin = smaller(static_cast<std::size_t>(read_once(rows.starts + r)), end);
    return {values + begin, rows.columns + begin, smaller(end - begin, rows.features)};
}

// Calls f(r, row) for the rows, in order.
template <class U, class F>
void for_each_row(const Rows& rows, F&& f) {
    for (std::size_t r = 0; r < rows.count; ++r) f(r, row_at<U>(rows, r));
}
template <class F>
void for_each_row(const Rows& rows, F&& f) {
    if (rows.doubles)
        for_each_row<double>(rows, f);
    else
        for_each_row<float>(rows, f);
}

// Counts numbers, and writes them if there is room.
struct Counting {
    double* out;
    std::size_t& count;
    void operator()(double number) const {
        if (out) out[count] = number;
        ++count;
    }
};

// The status of the first row that cannot be learned, and its position.
template <bool Missing, class U>
Status check_rows(const Rows& rows, double limit, Fault& fault) {
    const U* values = static_cast<const U*>(rows.values);
    std::size_t place = 0;
    if (!rows.columns) {
        const Status status = check_values<Missing>(values, rows.count * rows.features, limit, place);
        if (status != Status::ok) fault = {place / rows.features, place % rows.features};
        return status;
    }
    // All values at once, and of the columns no more than that they ascend: another look only if something is wrong.
    const std::size_t end = smaller(static_cast<std::size_t>(rows.starts[rows.count]), rows.stored);
    const std::size_t begin = smaller(static_cast<std::size_t>(rows.starts[0]), end);
    Status status = check_values<Missing>(values + begin, end - begin, limit, place);
    bool ascend = true;
    for_each_row<U>(rows, [&](std::size_t, const Row<U>& row) {
        if (row.nonzeros == 0) return;
        ascend &= row.columns[0] >= 0;
        for (std::size_t i = 1; i < row.nonzeros; ++i) ascend &= row.columns[i - 1] < row.columns[i];
        ascend &= row.columns[row.nonzeros - 1] < static_cast<std::int64_t>(rows.features);
    });
    if (status == Status::ok && ascend) return status;
    status = Status::ok;
    for_each_row<U>(rows, [&](std::size_t r, const Row<U>& row) {
        if (status != Status::ok) return;
        status = check_values<Missing>(row.values, row.nonzeros, limit, place);
        std::int64_t last = -1;
        for (std::size_t i = 0; status == Status::ok && i < row.nonzeros; ++i) {
            const std::int64_t column = read_once(row.columns + i);
            if (column <= last || column >= static_cast<std::int64_t>(rows.features)) {
                status = Status::columns_not_canonical;
                place = i;
            }
            last = column;
        }
        if (status != Status::ok) fault = {r, static_cast<std::size_t>(read_once(row.columns + place))};
    });
    return status;
}

// The probability of the first n of all classes, from log sum exp(s) over all: the sum over those or over the others,
// whichever are fewer.
double probability_of_first(const double* scores, std::size_t n, std::size_t classes, double log_sum, double* spare) {
    const bool few = 2 * n <= classes;
    const std::size_t count = few ? n : classes - n;
    exponentials(few ? scores : scores + n, log_sum, spare, count);
    double sum = 0.0;
    for (std::size_t r = 0; r < count; ++r) sum += spare[r];
    return few ? sum : 1.0 - sum;
}

// From the loss, log sum exp(s) - s_y over all classes, to the probability of the largest score of the known ones. What
// the linear part says is overwritten.
Answer answer_of(const double* scores, double* linear, const double* apart, std::size_t known, std::size_t classes,
                 std::size_t y, double loss) {
    const std::size_t place = place_of_greatest(scores, known), linear_place = place_of_greatest(linear, known);
    if (known < classes) loss += logarithm(probability_of_first(scores, known, classes, loss + scores[y], linear));
    return {static_cast<double>(y),
            static_cast<double>(place),
            static_cast<double>(linear_place),
            static_cast<double>(place_of_greatest(apart, known)),
            smaller(exponential(scores[place] - scores[y] - loss), 1.0),
            larger(loss, 0.0)};
}

template <class L>
class EngineOf final : public Engine {
  public:
    explicit EngineOf(L* learner) : learner_(*learner) {}
    explicit EngineOf(Fleet<L>* fleet) : learner_(fleet->learner()), fleet_(fleet) {}

    Status check(const Rows& rows, Fault& fault) const override {
        const double limit = L::largest_value(learner_.config().storage);
        return rows.doubles ? check_rows<L::takes_missing, double>(rows, limit, fault)
                            : check_rows<L::takes_missing, float>(rows, limit, fault);
    }
    std::size_t outputs() const override { return L::multiclass ? learner_.config().classes : 1; }
    bool is_regressor() const override { return L::task == Task::regression; }
    bool tells_linear() const override { return L::tells_linear; }
    bool tells_apart() const override { return L::knows_last_labels; }
    void learn(const Rows& rows, const Lessons& lessons, double* scores, const Slots* slots, Watch* watch,
               double* linear, Answer* answers, std::size_t known, double* apart) override {
        visit(rows, slots, [&](std::size_t r, const auto& row) {
            if (watch && watch->stopped()) return;
            const double weight = lessons.weights ? lessons.weights[r] : 1.0;
            const std::size_t place = answers ? 0 : r * outputs();
            double *own = scores + place, *part = linear ? linear + place : nullptr;
            [[maybe_unused]] double* rest = apart ? apart + place : nullptr;
            if constexpr (L::task == Task::regression)
                learner_.learn(row, lessons.targets + r * outputs(), weight, own, part);
            else if constexpr (L::knows_last_labels) {
                const auto y = static_cast<std::size_t>(lessons.labels[r]);
                double loss = 0.0;
                learner_.learn(row, y, weight, own, part, &loss, rest);
                if (answers) answers[r] = answer_of(own, part, rest, known, outputs(), y, loss);
            } else if constexpr (L::multiclass)
                learner_.learn(row, static_cast<std::size_t>(lessons.labels[r]), weight, own);
            else
                *own = learner_.learn(row, lessons.labels[r] > 0 ? 1.0 : -1.0, weight);
            if (watch) watch->end_row();
        });
    }
    std::size_t scratch_bytes() const override {
        Arena counter;
        (void)learner_.workspace_on(counter);
        return counter.used();
    }
    void score(const Rows& rows, double* scores, void* scratch, const Slots* slots, bool continues) override {
        with_workspace(scratch, [&](Workspace<T>& work) { score_with(work, rows, scores, slots, continues); });
    }
    void kernel_scores(const Rows& rows, double* scores, void* scratch) override {
        if constexpr (!L::multiclass)
            with_workspace(scratch, [&](Workspace<T>& work) {
                for_each_row(rows, [&](std::size_t, const auto& row) {
                    double mixed;
                    score_query(work.query.read(row), work, &mixed);
                    for (std::size_t i = 0; i < learner_.config().kernel_count; ++i)
                        *scores++ = learner_.kernel_score(work, i);
                });
            });
    }
    std::size_t coefficients(std::size_t kernel, double* out) const override {
        std::size_t count = 0;
        learner_.for_each_coefficient(kernel, Counting{out, count});
        return count;
    }
    std::size_t evidence(double* out) const override {
        std::size_t count = 0;
        learner_.for_each_evidence(Counting{out, count});
        return count;
    }
    const Tally& tally() const override { return learner_.tally(); }
    std::uint64_t repeats() const override { return learner_.repeats(); }
    const Milestones& milestones() const override { return learner_.milestones(); }
    void report(KernelReport* all) const override {
        if constexpr (std::is_same_v<L, PocketClassifier<typename L::Element>>)
            learner_.report_all(all);
        else
            for (std::size_t i = 0; i < learner_.config().kernel_count; ++i) all[i] = learner_.report(i);
    }
    bool frequencies(double* out) const override {
        if constexpr (has_frequencies<L>) {
            const std::size_t features = learner_.config().features;
            for (std::size_t j = 0; j < frequency_count(); ++j)
                for (std::size_t k = 0; k < features; ++k) out[j * features + k] = learner_.frequency(j, k);
            return true;
        }
        return false;
    }
    std::size_t constants(unsigned char* out) const override {
        if (out) give_constants(learner_, out);
        return learner_.constants().bytes;
    }
    std::size_t frequency_count() const override { return learner_.frequency_count(); }
    bool relevance(double* out) const override {
        if constexpr (has_relevance<L>) {
            for (std::size_t k = 0; k < learner_.config().features; ++k) out[k] = learner_.relevance(k);
            return true;
        }
        return false;
    }
    bool margins(double share, double* out) const override {
        if constexpr (L::task == Task::regression) {
            for (std::size_t r = 0; r < outputs(); ++r) {
                out[2 * r] = learner_.margin_below(r, share);
                out[2 * r + 1] = learner_.margin_above(r, share);
            }
            return true;
        }
        return false;
    }
    bool shares(double* out) const override {
        if constexpr (has_events<L>) {
            out[0] = static_cast<double>(learner_.waves_bytes());
            out[1] = static_cast<double>(learner_.ring_bytes());
            out[2] = static_cast<double>(learner_.ferns_bytes());
            return true;
        }
        return false;
    }
    bool events(std::uint64_t& count, std::uint64_t* out) const override {
        if constexpr (has_events<L>) {
            const EventLog& log = learner_.events();
            count = log.count;
            for (std::uint64_t n = log.first_kept(); n < count; ++n) {
                *out++ = log.row_of(n);
                *out++ = log.kind_of(n);
                *out++ = log.column_of(n);
                *out++ = log.change_of(n);
            }
            return true;
        }
        return false;
    }
    void forget_lags() override { learner_.forget_lags(); }
    void repeat(bool again) override { learner_.repeat(again); }
    bool valid() const override { return learner_.valid(); }
    std::size_t state_bytes() const override { return pocketkernel::state_bytes(learner_); }
    void save(unsigned char* to) const override { pocketkernel::save(learner_, to); }
    Status load(const unsigned char* from, std::size_t size) override {
        return pocketkernel::load<L, true>(learner_, from, size);
    }
    void attach(unsigned char* slot) override { (void)fleet_->at(slot); }
    const unsigned char* newborn() const override { return fleet_->newborn(); }

  private:
    // Calls f(r, row) for the rows, in order; of a fleet, attached to each row's slot.
    template <class F>
    void visit(const Rows& rows, const Slots* slots, F&& f) {
        if (!slots) return for_each_row(rows, f);
        fleet_->for_each_row(
            rows.count, slots->part, slots->parts, [&](std::size_t r) { return slots->of[r]; },
            [&](std::size_t slot) { return slots->state(slot); },
            [&](L&, std::size_t r) { rows.doubles ? f(r, row_at<double>(rows, r)) : f(r, row_at<float>(rows, r)); });
    }
    template <class F>
    void with_workspace(void* scratch, F&& f) {
        if (!scratch) return f(learner_.workspace());
        Arena arena(scratch);
        Workspace<T> work = learner_.workspace_on(arena);
        f(work);
    }
    void score_with(Workspace<T>& work, const Rows& rows, double* scores, const Slots* slots, bool continues) {
        visit(rows, slots, [&](std::size_t r, const auto& row) {
            if constexpr (L::knows_last_labels)
                learner_.score(row, work, scores + r * outputs(), continues);
            else if constexpr (L::reads_rows)
                learner_.score(row, work, scores + r * outputs());
            else
                score_query(work.query.read(row), work, scores + r * outputs());
        });
    }
    // Not inlined: rows of either type share it.
    [[gnu::noinline]] void score_query(const Query<T>& x, Workspace<T>& work, double* scores) const {
        if constexpr (L::multiclass)
            learner_.score(x, work, scores);
        else
            *scores = learner_.score(x, work);
    }

    L& learner_;
    Fleet<L>* fleet_ = nullptr;
};

// The engine itself is in front of its learner, in the same block.
template <class L>
constexpr std::size_t front_bytes = (sizeof(EngineOf<L>) + pack_bytes - 1) / pack_bytes * pack_bytes;

const char* learner_name(std::size_t place) {
    const char* name = nullptr;
    (void)any_learner<T>([&](auto kind) {
        if (place-- > 0) return false;
        name = decltype(kind)::type::name;
        return true;
    });
    return name;
}

bool engine_size(const char* learner, const Config& config, bool fleet, std::size_t& bytes, std::size_t& state_bytes,
                 Status& status) {
    return with_learner<T>(learner, [&](auto kind) {
        using L = typename decltype(kind)::type;
        status = L::check(config);
        if (status != Status::ok) return;
        const Size size = size_of<L>(config);
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max() - front_bytes<L>;
        bytes = front_bytes<L> + smaller(fleet ? Fleet<L>::size_of(config).bytes : size.bytes, most);
        state_bytes = size.state_bytes;
    });
}

bool engine_make(const char* learner, const Config& config, bool fleet, void* block, std::size_t size, Engine*& engine,
                 Status& status) {
    return with_learner<T>(learner, [&](auto kind) {
        using L = typename decltype(kind)::type;
        unsigned char* place = static_cast<unsigned char*>(block) + front_bytes<L>;
        const auto build = [&](auto maker, auto* made) {
            status =
                size < front_bytes<L> ? Status::block_too_small : maker(config, place, size - front_bytes<L>, made);
            if (status == Status::ok) engine = new (block) EngineOf<L>(made);
        };
        if (fleet)
            build(Fleet<L>::make, static_cast<Fleet<L>*>(nullptr));
        else
            build(make<L>, static_cast<L*>(nullptr));
    });
}

template <class F>
void map_lanes(const double* in, double* out, std::size_t n, F&& f) {
    for (std::size_t i = 0; i < n; i += lanes_of<T>) {
        T lane[lanes_of<T>] = {};
        for (std::size_t l = 0; l < lanes_of<T> && i + l < n; ++l) lane[l] = static_cast<T>(in[i + l]);
        const Pack<T> answer = f(Pack<T>::load(lane));
        answer.store(lane);
        for (std::size_t l = 0; l < lanes_of<T> && i + l < n; ++l) out[i + l] = static_cast<double>(lane[l]);
    }
}

bool elementary(const char* function, const double* in, double* out, std::size_t n) {
    if (same_name(function, "exp"))
        map_lanes(in, out, n, [](const Pack<T>& x) { return exponential(x); });
    else if (same_name(function, "complement"))
        map_lanes(in, out, n, [](const Pack<T>& x) { return exponential_complement(x); });
    else if (same_name(function, "cos") || same_name(function, "sin"))
        map_lanes(in, out, n, [&](const Pack<T>& x) {
            Pack<T> cosine, sine;
            cosine_sine(x, cosine, sine);
            return same_name(function, "cos") ? cosine : sine;
        });
    else if (same_name(function, "sqrt"))
        map_lanes(in, out, n, [](const Pack<T>& x) { return square_root(x); });
    else if (same_name(function, "log"))
        for (std::size_t i = 0; i < n; ++i) out[i] = logarithm(in[i]);
    else if (same_name(function, "log1p"))
        for (std::size_t i = 0; i < n; ++i) out[i] = log_one_plus(in[i]);
    else
        return false;
    return true;
}

// The values of all kernels of a configuration at given metrics (the same number for every metric), kernel by kernel.
void kernel_values(const Config& config, const double* metric, double* out, std::size_t n) {
    alignas(pack_bytes) unsigned char memory[8192];
    Arena arena(memory);
    const KernelBank<T> bank(arena, config);
    for (std::size_t i = 0; i < config.kernel_count * n; ++i) out[i] = 0.0;
    for (std::size_t j = 0; j < n; j += lanes_of<T>) {
        T lane[lanes_of<T>] = {};
        for (std::size_t l = 0; l < lanes_of<T> && j + l < n; ++l) lane[l] = static_cast<T>(metric[j + l]);
        Metrics<T, 1> metrics;
        for (auto& m : metrics.of) m[0] = Pack<T>::load(lane);
        bank.evaluate(metrics, [&](std::size_t i, const auto& k) {
            k(0).store(lane);
            for (std::size_t l = 0; l < lanes_of<T> && j + l < n; ++l)
                out[i * n + j + l] = static_cast<double>(lane[l]);
        });
    }
}

// For every row: its distances to the first `stored` rows and one exponential of each, summed. Nothing else.
double bare_pass(const Rows& rows, std::size_t stored, void* block, std::size_t size) {
    Arena counter;
    MetricSet wanted;
    wanted.add(Metric::squared_distance);
    const RowNorms norms = norms_for(wanted, rows.features);
    const auto lay_out = [&](Arena& arena, Buffer<T>& buffer, QueryScratch<T>& scratch) {
        buffer = Buffer<T>(arena, stored, rows.features, norms, Storage::full);
        scratch = QueryScratch<T>(arena, rows.features, norms, Storage::full);
    };
    Buffer<T> buffer;
    QueryScratch<T> scratch;
    lay_out(counter, buffer, scratch);
    if (counter.used() > size) return -static_cast<double>(counter.used());
    Arena arena(block);
    lay_out(arena, buffer, scratch);
    for_each_row(rows, [&](std::size_t r, const auto& row) {
        if (r < stored) buffer.append(scratch.read(row));
    });
    Pack<T> total(T(0));
    for_each_row(rows, [&](std::size_t, const auto& row) {
        buffer.for_each_tile(wanted, scratch.read(row), stored, [&](std::size_t, const auto& metrics) {
            Pack<T> part(T(0));
            for (const Pack<T>& m : metrics.of[0]) part += exponential(m * Pack<T>(T(-0.1)));
            total += part;
        });
    });
    return sum(total);
}

}  // namespace

const Table& POCKETKERNEL_TABLE() {
    static const Table table{learner_name, engine_size, engine_make, elementary, kernel_values, bare_pass};
    return table;
}

}  // namespace pocketkernel::binding
