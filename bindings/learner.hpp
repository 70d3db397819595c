// PyLearner: one learner, its checks of what it is given, its threads, and Ctrl-C. One class, so one file.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "arithmetic.hpp"
#include "engine.hpp"
#include "interrupt.hpp"
#include "named.hpp"
#include "pocketkernel/event_log.hpp"
#include "pocketkernel/row.hpp"
#include "pocketkernel/simd.hpp"
#include "pocketkernel/target_scale.hpp"
#include "settings.hpp"
#include "turns.hpp"
#include "view.hpp"

namespace nb = nanobind;
namespace pk = pocketkernel;

namespace pocketkernel::binding {
namespace {

// ---- labels ---------------------------------------------------------------------------------------------------------

template <class U>
bool to_places_as(const View& y, const std::vector<double>& classes, std::int32_t* places, std::size_t& fault) {
    const U* labels = y.data<const U>();
    for (fault = 0; fault < y.size(0); ++fault) {
        if (fault % rows_between_signals == rows_between_signals - 1) stop_if_asked();
        const auto label = static_cast<double>(labels[fault]);
        const auto found = std::lower_bound(classes.begin(), classes.end(), label);
        if (found == classes.end() || *found != label) return false;
        places[fault] = static_cast<std::int32_t>(found - classes.begin());
    }
    return true;
}

// Indices of the labels in the classes, which are in ascending order; false at a label that is not one of them.
bool to_places(const View& y, const std::vector<double>& classes, std::int32_t* places, std::size_t& fault) {
    switch (y.format()) {
        case '?': return to_places_as<std::uint8_t>(y, classes, places, fault);
        case 'b': return to_places_as<std::int8_t>(y, classes, places, fault);
        case 'i': return to_places_as<std::int32_t>(y, classes, places, fault);
        case 'f': return to_places_as<float>(y, classes, places, fault);
        case 'd': return to_places_as<double>(y, classes, places, fault);
        default: return to_places_as<std::int64_t>(y, classes, places, fault);  // 'l' and 'q', of 8 bytes
    }
}
constexpr const char* label_formats = sizeof(long) == 8 ? "?bifdlq" : "?bifdq";

// ---- memory and rows ------------------------------------------------------------------------------------------------

int code(pk::Status status) { return static_cast<int>(status); }

struct AlignedDelete {
    void operator()(unsigned char* block) const { ::operator delete(block, std::align_val_t(pk::pack_bytes)); }
};
using Block = std::unique_ptr<unsigned char, AlignedDelete>;

Block new_block(std::size_t size) {
    return Block(static_cast<unsigned char*>(::operator new(size, std::align_val_t(pk::pack_bytes))));
}

// Rows first .. first + count - 1.
Rows part(const Rows& rows, std::size_t first, std::size_t count) {
    Rows some = rows;
    some.count = count;
    if (rows.columns)
        some.starts += first;
    else
        some.values = static_cast<const char*>(rows.values) +
                      first * rows.features * (rows.doubles ? sizeof(double) : sizeof(float));
    return some;
}

// Calls f(rows, first) for slices of some rows each, in order.
template <class F>
void for_each_slice(const Rows& rows, std::size_t size, F&& f) {
    for (std::size_t first = 0; first < rows.count; first += size)
        f(part(rows, first, std::min(size, rows.count - first)), first);
}

// ---- turns ----------------------------------------------------------------------------------------------------------

// A turn that begins with the GIL. Waiting releases it, and answers Ctrl-C.
class Guard : public Turns::Hold {
  public:
    Guard(Turns& turns, Turns::Use use, Turns::Lends lends = Turns::nothing) : Hold(turns, use, lends) {
        if (has_begun()) return;
        const WithoutGil release;
        wait(answer_signals);
    }
    // Without the GIL, between two rows.
    void let_readers_in() { let_in(answer_signals); }

  private:
    static void answer_signals() {
        if (Interpreter::is_over()) return;
        const WithGil acquire;
        stop_if_asked();
    }

    const Arithmetic arithmetic_;
};

// What is known of a thread's last call that was refused, the row and column; and of its last call to learn that was
// interrupted, the rows that were learned before.
struct LastCall {
    Fault fault;
    std::size_t learned = 0;

    static LastCall& here() {
        static thread_local LastCall call;
        return call;
    }
};

// ---- learner --------------------------------------------------------------------------------------------------------

class PyLearner {
  public:
    static constexpr int unsuited = -1;

    PyLearner(const std::string& learner, bool doubles, const std::string& level, const Settings& settings)
        : PyLearner(table_of(level, doubles), learner, settings, false) {}

    std::size_t nbytes() const { return size_; }
    // What a prediction takes while others are under way, for the time of its call; the first one has the learner's.
    std::size_t scratch_bytes() const { return engine_->scratch_bytes(); }
    // The labels as numbers in ascending order; any other label gives label_unknown. Who learns names the same list.
    void set_labels(nb::list numbers) {
        classes_ = nb::cast<std::vector<double>>(numbers);
        labels_ = std::move(numbers);
    }
    // Of this thread: see LastCall.
    std::tuple<std::size_t, std::size_t> fault() const {
        const Fault& fault = LastCall::here().fault;
        return {fault.row, fault.column};
    }
    std::size_t learned() const { return LastCall::here().learned; }
    void set_learned(std::size_t count) { LastCall::here().learned = count; }

    Turns& turns() { return turns_; }

    // Score, then learn, every row. 0, or a status with nothing learned, or `unsuited` if the arrays must be converted
    // first, or if `labels` is given and is not the list that was set last: another thread has come first. `linear` is
    // None, or has room for the scores of the linear part; `apart` likewise for those without the last labels.
    // `answers` is None, or has room for an Answer of each row; then no scores are told.
    int learn_dense(nb::handle X, nb::handle y, nb::handle weights, nb::handle scores, nb::handle labels,
                    nb::handle linear, nb::handle answers, nb::handle apart) {
        return with_dense(
            X, [&](const Rows& rows) { return learn(rows, y, weights, scores, labels, linear, answers, apart); });
    }
    int learn_sparse(nb::handle values, nb::handle columns, nb::handle starts, nb::handle y, nb::handle weights,
                     nb::handle scores, nb::handle labels, nb::handle linear, nb::handle answers, nb::handle apart) {
        return with_sparse(values, columns, starts, [&](const Rows& rows) {
            return learn(rows, y, weights, scores, labels, linear, answers, apart);
        });
    }
    // Uses at most `threads` threads; the scores do not depend on how many. `continues`: see Engine::score.
    int score_dense(nb::handle X, nb::handle scores, std::size_t threads, bool continues) {
        return with_dense(X, [&](const Rows& rows) { return score(rows, scores, threads, continues); });
    }
    int score_sparse(nb::handle values, nb::handle columns, nb::handle starts, nb::handle scores, std::size_t threads,
                     bool continues) {
        return with_sparse(values, columns, starts,
                           [&](const Rows& rows) { return score(rows, scores, threads, continues); });
    }
    // Score, then learn, a dict of features; how many of its values share a column, or -1 if that needs Python code.
    int learn_named(const nb::dict& columns, const nb::dict& shared, const nb::dict& features, nb::handle y,
                    nb::handle weights) {
        Copied<double> values(settings_.config.features), scores(engine_->outputs());
        const int count = fill(columns, shared, features, values.data(), settings_.config.features);
        if (count < 0) return count;
        const Rows row = row_of(values.data());
        const int status = learn_with(row, y, weights, nb::none(), [&](const Lessons& lessons, Guard& guard) {
            return teach(row, guard, [&](const Rows& slice, std::size_t, LongRow& long_row) {
                engine_->learn(slice, lessons, scores.data(), nullptr, &long_row, nullptr);
            });
        });
        return status == 0 ? count : -1;
    }
    // The score of a dict of features, or a list of several; None if that needs Python code: see `fill`. The row is of
    // the names that were known at the moment of the score.
    nb::object score_named(const nb::dict& columns, const nb::dict& shared, const nb::dict& features) {
        const std::size_t width = settings_.config.features, outputs = engine_->outputs();
        Copied<double> values(width), scores(outputs);
        const Py_ssize_t names = PyDict_Size(columns.ptr());
        if (fill(columns, shared, features, values.data(), width) < 0) return nb::none();
        const Rows row = row_of(values.data());
        const Guard guard(turns_, Turns::reading);
        if (PyDict_Size(columns.ptr()) != names) return nb::none();
        const Block scratch = scratch_for(guard);
        const auto ask = [&] { return score_slices(row, scores.data(), 1, scratch.get(), true); };
        if (without_lock(row, ask) != 0) return nb::none();
        if (outputs == 1) return nb::float_(*scores.data());
        nb::list all;
        for (std::size_t r = 0; r < outputs; ++r) all.append(scores.data()[r]);
        return all;
    }

    // The score of each kernel for the rows of x, before the kernels are weighted.
    int kernel_scores(nb::handle X, nb::handle scores) {
        const View x(X, false), out(scores, true);
        Rows rows;
        if (!dense(x, rows) || engine_->outputs() != 1) return unsuited;
        if (!out.has(2, "d") || out.size(0) != rows.count || out.size(1) != settings_.kernels.size()) return unsuited;
        const Guard guard(turns_, Turns::reading);
        const Block scratch = scratch_for(guard);
        return run(rows, [&](const Rows& slice, std::size_t first) {
            engine_->kernel_scores(slice, out.data<double>() + first * settings_.kernels.size(), scratch.get());
        });
    }
    std::vector<double> coefficients(std::size_t kernel) {
        const Guard guard(turns_, Turns::reading);
        if (kernel >= settings_.kernels.size()) throw nb::index_error("no such kernel");
        std::vector<double> all(engine_->coefficients(kernel, nullptr));
        (void)engine_->coefficients(kernel, all.data());
        return all;
    }

    std::vector<double> evidence() {
        const Guard guard(turns_, Turns::reading);
        std::vector<double> all(engine_->evidence(nullptr));
        (void)engine_->evidence(all.data());
        return all;
    }

    nb::dict tally() {
        const Guard guard(turns_, Turns::reading);
        const pk::Tally& t = engine_->tally();
        nb::dict d;
        d["rounds"] = t.rounds;
        d["mistakes"] = t.mistakes;
        d["cumulative_loss"] = t.loss;
        d["additions"] = t.additions;
        d["proxies"] = t.proxies;
        d["removals"] = t.removals;
        d["archived"] = t.archived;
        d["overflowed"] = t.overflowed;
        d["repeats"] = engine_->repeats();
        d["rounds_before"] = engine_->milestones().rounds_before();
        d["mistakes_before"] = engine_->milestones().mistakes_before();
        return d;
    }
    nb::list report() {
        const Guard guard(turns_, Turns::reading);
        nb::list kernels;
        std::vector<pk::KernelReport> all(settings_.kernels.size());
        engine_->report(all.data());
        for (const pk::KernelReport& r : all) {
            nb::dict d;
            d["weight"] = r.weight;
            d["norm"] = r.norm;
            d["alignment"] = r.alignment;
            d["stored"] = r.stored;
            d["additions"] = r.additions;
            d["proxies"] = r.proxies;
            d["removals"] = r.removals;
            kernels.append(d);
        }
        return kernels;
    }
    std::size_t frequency_count() {
        const Guard guard(turns_, Turns::reading);
        return engine_->frequency_count();
    }
    bool frequencies(nb::handle out) {
        const View o(out, true);
        const Guard guard(turns_, Turns::reading);
        if (!o.has(2, "d") || o.size(0) != engine_->frequency_count() || o.size(1) != settings_.config.features)
            return false;
        return engine_->frequencies(o.data<double>());
    }
    std::vector<double> relevance() {
        return numbers(settings_.config.features, [&](double* out) { return engine_->relevance(out); });
    }
    std::vector<double> margins(double share) {
        return numbers(2 * engine_->outputs(), [&](double* out) { return engine_->margins(share, out); });
    }
    std::vector<double> shares() {
        return numbers(3, [&](double* out) { return engine_->shares(out); });
    }
    // How many there were, and the last ones: row, kind, column, change.
    nb::tuple events() {
        const Guard guard(turns_, Turns::reading);
        std::uint64_t count = 0, told[4 * pk::EventLog::most];
        nb::list last;
        if (engine_->events(count, told))
            for (std::size_t n = 0; n < std::min<std::uint64_t>(count, pk::EventLog::most); ++n)
                last.append(nb::make_tuple(told[4 * n], told[4 * n + 1], told[4 * n + 2], told[4 * n + 3]));
        return nb::make_tuple(count, last);
    }
    void forget_lags() {
        const Guard guard(turns_, Turns::changing);
        engine_->forget_lags();
    }
    void repeat(bool again) {
        const Guard guard(turns_, Turns::changing);
        engine_->repeat(again);
    }

    std::size_t state_bytes() const { return engine_->state_bytes(); }
    // What the seed alone decides, which is not in the state.
    nb::bytes constants() {
        const Guard guard(turns_, Turns::reading);
        std::vector<unsigned char> bytes(engine_->constants(nullptr));
        if (!bytes.empty()) (void)engine_->constants(bytes.data());
        return nb::bytes(bytes.data(), bytes.size());
    }
    nb::bytes save() {
        const Guard guard(turns_, Turns::reading);
        return saved(*engine_);
    }
    int load(const nb::bytes& bytes) {
        const Guard guard(turns_, Turns::changing);
        return code(engine_->load(static_cast<const unsigned char*>(bytes.data()), bytes.size()));
    }

  protected:
    static nb::bytes saved(const Engine& engine) {
        if (!engine.valid())
            throw std::overflow_error(
                "this learner has diverged (its numbers are no longer finite): use a smaller step, norm_bound or rate");
        stop_if_asked();
        auto bytes =
            nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(engine.state_bytes())));
        if (!bytes.is_valid()) throw std::bad_alloc();
        engine.save(reinterpret_cast<unsigned char*>(PyBytes_AsString(bytes.ptr())));
        return bytes;
    }
    PyLearner(const Table& table, const std::string& learner, const Settings& settings, bool fleet)
        : settings_(settings) {
        std::size_t state_bytes = 0;
        pk::Status status = pk::Status::ok;
        if (!table.size(learner.c_str(), settings_.get(), fleet, size_, state_bytes, status))
            throw nb::value_error("unknown learner");
        if (status != pk::Status::ok) throw nb::value_error(pk::describe(status).sentence);
        engine_ = new_engine(table, learner, fleet, block_);
    }
    Engine* new_engine(const Table& table, const std::string& learner, bool fleet, Block& block) const {
        Engine* engine = nullptr;
        pk::Status status = pk::Status::ok;
        block = new_block(size_);
        const Arithmetic arithmetic;
        const LongBuild build;
        {
            const WithoutGil release;
            (void)table.make(learner.c_str(), settings_.get(), fleet, block.get(), size_, engine, status);
        }
        build.stop_if_asked();
        if (status != pk::Status::ok) throw nb::value_error(pk::describe(status).sentence);
        return engine;
    }

    // Scratch of a reader; null means the learner's own.
    Block scratch_for(const Guard& guard) const {
        return guard.is_first() ? Block() : new_block(engine_->scratch_bytes());
    }

    // What ask(out) writes; nothing if the learner has no such numbers.
    template <class Ask>
    std::vector<double> numbers(std::size_t count, Ask&& ask) {
        const Guard guard(turns_, Turns::reading);
        std::vector<double> all(count);
        if (!ask(all.data())) all.clear();
        return all;
    }

    // Calls use(rows), while their arrays are held.
    template <class F>
    int with_dense(nb::handle X, F&& use) const {
        const View x(X, false);
        Rows rows;
        return dense(x, rows) ? use(rows) : unsuited;
    }
    template <class F>
    int with_sparse(nb::handle values, nb::handle columns, nb::handle starts, F&& use) const {
        const View v(values, false), c(columns, false), s(starts, false);
        Rows rows;
        return sparse(v, c, s, rows) ? use(rows) : unsuited;
    }
    Rows row_of(const double* values) const {
        Rows row;
        row.values = values;
        row.doubles = true;
        row.count = 1;
        row.features = settings_.config.features;
        return row;
    }
    bool dense(const View& x, Rows& rows) const {
        if (!x.has(2, "fd") || x.size(0) == 0 || x.size(1) != settings_.config.features) return false;
        rows.values = x.data<const void>();
        rows.doubles = x.format() == 'd';
        rows.count = x.size(0);
        rows.features = x.size(1);
        return true;
    }
    bool sparse(const View& v, const View& c, const View& s, Rows& rows) const {
        if (!v.has(1, "fd") || !c.has(1, "il") || c.item() != 4 || !s.has(1, "lq") || s.item() != 8) return false;
        rows.values = v.data<const void>();
        rows.doubles = v.format() == 'd';
        rows.columns = c.data<const std::int32_t>();
        rows.starts = s.data<const std::int64_t>();
        if (s.size(0) < 1 || rows.starts[0] != 0 || v.size(0) != c.size(0)) return false;
        rows.count = s.size(0) - 1;
        rows.stored = v.size(0);
        rows.features = settings_.config.features;
        for (std::size_t r = 0; r < rows.count; ++r)
            if (rows.starts[r] > rows.starts[r + 1]) return false;
        // An empty CSR matrix may have no columns array; its rows are still sparse.
        static const std::int32_t none = 0;
        if (!rows.columns) rows.columns = &none;
        return static_cast<std::size_t>(rows.starts[rows.count]) <= rows.stored;
    }

    // One score for each row, or a row of them.
    bool has_room(const View& out, const Rows& rows) const {
        const std::size_t outputs = engine_->outputs();
        if (outputs == 1) return out.has(1, "d") && out.size(0) == rows.count;
        return out.has(2, "d") && out.size(0) == rows.count && out.size(1) == outputs;
    }

    int learn(const Rows& rows, nb::handle y, nb::handle sample_weight, nb::handle scores, nb::handle labels,
              nb::handle linear, nb::handle answers, nb::handle apart) {
        if (!answers.is_none()) return learn_and_answer(rows, y, sample_weight, labels, answers);
        const View parts(linear, true), rest(apart, true);
        const bool told = !linear.is_none(), told_apart = !apart.is_none();
        if (told && !(engine_->tells_linear() && has_room(parts, rows))) return unsuited;
        if (told_apart && !(engine_->tells_apart() && has_room(rest, rows))) return unsuited;
        const View out(scores, true);
        if (!has_room(out, rows)) return unsuited;
        return learn_with(rows, y, sample_weight, labels, [&](const Lessons& lessons, Guard& guard) {
            return teach(rows, guard, [&](const Rows& slice, std::size_t first, LongRow& row) {
                const std::size_t place = first * engine_->outputs();
                engine_->learn(slice, from(lessons, first), out.data<double>() + place, nullptr, &row,
                               told ? parts.data<double>() + place : nullptr, nullptr, 0,
                               told_apart ? rest.data<double>() + place : nullptr);
            });
        });
    }
    int learn_and_answer(const Rows& rows, nb::handle y, nb::handle sample_weight, nb::handle labels,
                         nb::handle answers) {
        const View told(answers, true);
        const std::size_t outputs = engine_->outputs(), known = classes_.size();
        const bool suited = engine_->tells_apart() && known > 1 && known <= outputs;
        if (!suited || outputs < 3) return unsuited;
        constexpr std::size_t numbers = sizeof(Answer) / sizeof(double);
        if (!told.has(2, "d") || told.size(0) != rows.count || told.size(1) != numbers) return unsuited;
        // Of one row, which stay in the processor's cache.
        std::vector<double> scores(outputs), linear(outputs), apart(outputs);
        return learn_with(rows, y, sample_weight, labels, [&](const Lessons& lessons, Guard& guard) {
            return teach(rows, guard, [&](const Rows& slice, std::size_t first, LongRow& row) {
                engine_->learn(slice, from(lessons, first), scores.data(), nullptr, &row, linear.data(),
                               told.data<Answer>() + first, known, apart.data());
            });
        });
    }
    // Learns the rows slice by slice, between which readers may come in. Ctrl-C leaves how many were learned.
    template <class F>
    int teach(const Rows& rows, Guard& guard, F&& f) {
        const std::uint64_t before = engine_->tally().rounds;
        std::uint64_t now = before;
        LongRow row;
        try {
            return run(rows, [&](const Rows& slice, std::size_t first) {
                if (first > 0) guard.let_readers_in();
                f(slice, first, row);
                now = engine_->tally().rounds;
                row.stop_if_asked();
            });
        } catch (...) {
            LastCall::here().learned = now - before;
            throw;
        }
    }
    // Lessons of the rows from `first` on.
    Lessons from(const Lessons& lessons, std::size_t first) const {
        return {lessons.labels ? lessons.labels + first : nullptr,
                lessons.targets ? lessons.targets + first * engine_->outputs() : nullptr,
                lessons.weights ? lessons.weights + first : nullptr};
    }
    // Calls teach(lessons, guard) with copies of the labels or targets and the weights.
    template <class Teach>
    int learn_with(const Rows& rows, nb::handle y, nb::handle sample_weight, nb::handle labels, Teach&& teach) {
        LastCall::here().learned = 0;
        const View given(y, false), weights(sample_weight, false);
        const bool to_numbers = engine_->is_regressor();
        if (!(to_numbers ? has_targets(given, rows) : has_labels(given, rows))) return unsuited;
        const bool weighted = !sample_weight.is_none();
        if (weighted && (!weights.has(1, "d") || weights.size(0) != rows.count)) return unsuited;
        Guard guard(turns_, Turns::changing);
        if (!labels.is_none() && !labels.is(labels_)) return unsuited;
        Fault& fault = LastCall::here().fault;
        const std::size_t outputs = engine_->outputs();
        Copied<std::int32_t> places(to_numbers ? 0 : rows.count);
        Copied<double> targets(to_numbers ? rows.count * outputs : 0), copies(weighted ? rows.count : 0);
        if (to_numbers) {
            const double most = pk::TargetScale::value_limit;
            if (!copy(given, -most, most, rows.count * outputs, outputs, targets.data()))
                return code(pk::Status::target_out_of_range);
        } else if (!to_places(given, classes_, places.data(), fault.row)) {
            return code(pk::Status::label_unknown);
        }
        if (weighted && !copy(weights, 0.0, 1e9, rows.count, 1, copies.data()))
            return code(pk::Status::weight_out_of_range);
        const Lessons lessons{to_numbers ? nullptr : places.data(), to_numbers ? targets.data() : nullptr,
                              weighted ? copies.data() : nullptr};
        return teach(lessons, guard);
    }
    static bool has_labels(const View& y, const Rows& rows) {
        return y.has(1, label_formats) && y.size(0) == rows.count;
    }
    // One number for each row, or a row of them, as the scores.
    bool has_targets(const View& y, const Rows& rows) const { return has_room(y, rows); }

    // Numbers within two bounds, some for each row; false at one that is not, and its place is the fault.
    bool copy(const View& from, double low, double high, std::size_t count, std::size_t for_each_row, double* to) {
        for (std::size_t n = 0; n < count; ++n) {
            if (n % rows_between_signals == rows_between_signals - 1) stop_if_asked();
            to[n] = pk::read_once(from.data<const double>() + n);
            if (!(to[n] >= low && to[n] <= high)) {
                LastCall::here().fault = {n / for_each_row, n % for_each_row};
                return false;
            }
        }
        return true;
    }
    // Space for one number per row; for a few rows without allocating memory.
    template <class U>
    class Copied {
      public:
        explicit Copied(std::size_t rows) : many_(rows > 16 ? rows : 0) {}
        U* data() { return many_.empty() ? few_ : many_.data(); }

      private:
        U few_[16];
        std::vector<U> many_;
    };

    int score(const Rows& rows, nb::handle scores, std::size_t threads, bool continues) {
        const View out(scores, true);
        if (!has_room(out, rows)) return unsuited;
        const Guard guard(turns_, Turns::reading);
        const Block scratch = scratch_for(guard);
        return without_lock(rows,
                            [&] { return score_slices(rows, out.data<double>(), threads, scratch.get(), continues); });
    }

    // Checks the whole block, then calls f(slice, first) for its slices. Ctrl-C takes effect between two slices, or in
    // a row that takes long: what was learned before stays learned.
    template <class F>
    int run(const Rows& rows, F&& f) {
        return run(rows, rows_at_once(), f);
    }
    template <class F>
    int run(const Rows& rows, std::size_t at_once, F&& f) {
        return without_lock(rows, [&] {
            Pulse pulse;
            pk::Status status = pk::Status::ok;
            for_each_slice(rows, values_at_once / rows.features + 1, [&](const Rows& slice, std::size_t first) {
                if (status != pk::Status::ok) return;
                if (first > 0) pulse.beat();
                Fault fault;
                status = engine_->check(slice, fault);
                if (status != pk::Status::ok) LastCall::here().fault = {fault.row + first, fault.column};
            });
            if (status != pk::Status::ok) return status;
            for_each_slice(rows, at_once, [&](const Rows& slice, std::size_t first) {
                if (first > 0) pulse.beat();
                f(slice, first);
            });
            return status;
        });
    }

    // Rows of a slice: few enough to take only some milliseconds and to stay in the cache while they are checked.
    std::size_t rows_at_once() const {
        return std::max<std::size_t>(1, std::min<std::size_t>(256, bytes_at_once / size_));
    }
    static constexpr std::size_t values_at_once = std::size_t(1) << 20, bytes_at_once = std::size_t(1) << 24;

    // A single row is finished before another thread could get the GIL, unless the learner is large.
    template <class F>
    int without_lock(const Rows& rows, F&& f) const {
        if (rows.count <= 1 && size_ <= bytes_at_once / 16) return code(f());
        const WithoutGil release;
        return code(f());
    }

    // Processes slices in order, until none are left or one has an error.
    struct Slices {
        const Rows& rows;
        double* scores;
        bool continues;
        std::size_t size;  // rows of a slice: some for every thread, and few enough to stay in its cache
        std::atomic<std::size_t> next{0};
    };
    struct Verdict {
        pk::Status status = pk::Status::ok;
        Fault fault;
    };
    template <class Beat>
    void score_some(Slices& slices, void* scratch, Verdict& verdict, Beat&& beat) {
        for (std::size_t first; (first = slices.next.fetch_add(slices.size)) < slices.rows.count;) {
            const Rows slice = part(slices.rows, first, std::min(slices.size, slices.rows.count - first));
            verdict.status = engine_->check(slice, verdict.fault);
            if (verdict.status != pk::Status::ok) {
                verdict.fault.row += first;
                slices.next = slices.rows.count;
                return;
            }
            engine_->score(slice, slices.scores + first * engine_->outputs(), scratch, nullptr, slices.continues);
            beat();
        }
    }

    // Every thread takes the next slice, with its own scratch; this thread is one of them. If the system cannot start a
    // thread, there are fewer.
    pk::Status score_slices(const Rows& rows, double* scores, std::size_t threads, void* own_scratch, bool continues) {
        const std::size_t count = std::max<std::size_t>(1, std::min(threads, rows.count));
        Slices slices{rows, scores, continues, std::min(rows_at_once(), rows.count / (4 * count) + 1)};
        Verdict own;
        std::vector<Verdict> theirs(count - 1);
        std::vector<Block> scratch;
        for (std::size_t p = 1; p < count; ++p) scratch.push_back(new_block(engine_->scratch_bytes()));
        std::vector<std::thread> others;
        others.reserve(count - 1);
        try {
            for (std::size_t p = 1; p < count; ++p)
                others.emplace_back([&, p] { score_some(slices, scratch[p - 1].get(), theirs[p - 1], [] {}); });
        } catch (const std::system_error&) {
        }
        const auto finish = [&] {
            slices.next = rows.count;
            for (std::thread& other : others) other.join();
        };
        Pulse pulse;
        try {
            score_some(slices, own_scratch, own, [&] { pulse.beat(); });
        } catch (...) {
            finish();
            throw;
        }
        finish();
        const Verdict* first = &own;
        for (const Verdict& other : theirs) {
            const bool earlier = first->status == pk::Status::ok || other.fault.row < first->fault.row;
            if (other.status != pk::Status::ok && earlier) first = &other;
        }
        if (first->status != pk::Status::ok) LastCall::here().fault = first->fault;
        return first->status;
    }

    Settings settings_;
    std::size_t size_ = 0;
    Block block_;
    Engine* engine_ = nullptr;
    std::vector<double> classes_{-1.0, 1.0};
    nb::object labels_;  // the list of them
    Turns turns_;
};

}  // namespace
}  // namespace pocketkernel::binding
