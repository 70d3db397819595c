// The Python module pocketkernel._core: arrays to spans, status to numbers that Python turns into exceptions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "engine.hpp"
#include "keys.hpp"
#include "pocketkernel/event_log.hpp"
#include "pocketkernel/kernels/list.hpp"
#include "pocketkernel/losses/list.hpp"
#include "pocketkernel/row.hpp"
#include "pocketkernel/simd.hpp"
#include "pocketkernel/state.hpp"
#include "pocketkernel/target_scale.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace pk = pocketkernel;
using namespace pocketkernel::binding;

thread_local pocketkernel::binding::Watch* pocketkernel::binding::Watch::current = nullptr;

namespace {

// ---- levels ---------------------------------------------------------------------------------------------------------

std::vector<std::string> levels() {
    std::vector<std::string> names{"base"};
#if defined(POCKETKERNEL_WITH_AVX2)
    if (__builtin_cpu_supports("avx2")) names.push_back("avx2");
#endif
    return names;
}

// The level of this name, or the best one if the name is empty.
const Table& table_of(const std::string& level, bool doubles) {
    const std::vector<std::string> known = levels();
    const std::string name = level.empty() ? known.back() : level;
    for (const std::string& k : known) {
        if (k != name) continue;
#if defined(POCKETKERNEL_WITH_AVX2)
        if (k == "avx2") return doubles ? avx2_double() : avx2_float();
#endif
        return doubles ? base_double() : base_float();
    }
    std::string text = "level '" + name + "' is not available on this machine; choose from:";
    for (const std::string& k : known) text += " " + k;
    throw nb::value_error(text.c_str());
}

// ---- arguments ------------------------------------------------------------------------------------------------------

// A C-contiguous buffer of a Python object, held as long as this exists; None has no buffer.
class View {
  public:
    View(nb::handle object, bool writable) {
        if (object.is_none()) return;
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        held_ = PyObject_GetBuffer(object.ptr(), &buffer_, flags) == 0;
        if (!held_) PyErr_Clear();
    }
    ~View() {
        if (held_) PyBuffer_Release(&buffer_);
    }
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    bool has(int dimensions, const char* formats) const {
        if (!held_ || buffer_.ndim != dimensions || !buffer_.format) return false;
        const char* f = buffer_.format;
        if (*f == '@' || *f == '=' || *f == '<') ++f;
        if (f[0] == '\0' || f[1] != '\0' || item() != item_of(f[0])) return false;
        if (reinterpret_cast<std::uintptr_t>(buffer_.buf) % item() != 0) return false;
        for (const char* g = formats; *g; ++g)
            if (*g == f[0]) return true;
        return false;
    }
    // Bytes of an item as it is read here; on other systems a format may have another size.
    static std::size_t item_of(char format) {
        switch (format) {
            case '?':
            case 'B':
            case 'b': return 1;
            case 'i':
            case 'f': return 4;
            case 'd':
            case 'q': return 8;
            case 'l': return sizeof(long);
            default: return 0;
        }
    }
    char format() const {
        const char* f = buffer_.format;
        return (*f == '@' || *f == '=' || *f == '<') ? f[1] : f[0];
    }
    std::size_t size(int dimension) const { return static_cast<std::size_t>(buffer_.shape[dimension]); }
    template <class U>
    U* data() const {
        return static_cast<U*>(buffer_.buf);
    }
    std::size_t item() const { return static_cast<std::size_t>(buffer_.itemsize); }

  private:
    Py_buffer buffer_{};
    bool held_ = false;
};

// ---- Ctrl-C ---------------------------------------------------------------------------------------------------------

// Runs Python's signal handlers, if any are pending for this thread, and throws what they raise. Needs the GIL.
void stop_if_asked() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}
constexpr std::size_t rows_between_signals = std::size_t(1) << 20;  // of labels and weights, some milliseconds

// Checks for signals periodically during work without the GIL: often enough that Ctrl-C takes effect at once, rarely
// enough that waiting for the GIL costs nothing.
class Pulse {
  public:
    void beat() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        const nb::gil_scoped_acquire acquire;
        stop_if_asked();
        last_ = std::chrono::steady_clock::now();
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Ctrl-C in the middle of something that takes long; it is thrown afterwards, with the GIL.
class Long : public Watch {
  public:
    void stop_if_asked() const {
        if (error_) std::rethrow_exception(error_);
    }

  protected:
    ~Long() = default;

  private:
    bool is_over() override {
        if (stopped_) return true;
        try {
            pulse_.beat();
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = true;
        }
        return stopped_;
    }

    Pulse pulse_;
    std::exception_ptr error_;
};

// A row. The state is copied before one that takes long, in memory that is freed after the call; without memory for
// that it runs to its end.
class LongRow final : public Long {
    void keep(unsigned char* state, std::size_t size) override {
        if (!copy_) copy_.reset(new (std::nothrow) unsigned char[size]);
        kept_ = copy_ != nullptr;
        if (!kept_) return;
        state_ = state;
        size_ = size;
        std::memcpy(copy_.get(), state, size);
    }
    void put_back() override {
        if (stopped_) std::memcpy(state_, copy_.get(), size_);
        kept_ = false;
    }

    std::unique_ptr<unsigned char[]> copy_;
    unsigned char* state_ = nullptr;
    std::size_t size_ = 0;
};

// The building of a learner, which is then not used.
class LongBuild final : public Long {
  public:
    LongBuild() { kept_ = true; }

  private:
    void keep(unsigned char*, std::size_t) override {}
    void put_back() override {}
};

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

// The position of a name in a list of the core.
template <std::size_t N>
std::uint32_t place_of(const char* what, const std::string& name, const char* const (&names)[N]) {
    for (std::uint32_t place = 0; place < N; ++place)
        if (name == names[place]) return place;
    throw nb::value_error((std::string(what) + " '" + name + "' is unknown").c_str());
}
pk::Loss loss_of(const std::string& name) { return pk::Loss(place_of("loss", name, pk::loss_names)); }

template <std::size_t N>
std::vector<std::string> listed(const char* const (&names)[N]) {
    return {names, names + N};
}

// Settings: a Config that owns its kernels.
struct Settings {
    pk::Config config;
    std::vector<pk::KernelSpec> kernels;

    pk::Config get() const {
        pk::Config c = config;
        c.kernel_count = kernels.size();
        c.kernels = kernels.data();
        return c;
    }
    void add_kernel(const std::string& family, double parameter, std::uint32_t order) {
        kernels.emplace_back(pk::Family(place_of("kernel family", family, pk::family_names)), parameter, order);
    }
    void set_name(const std::string& field, const std::string& name) {
        if (field == "loss")
            config.loss = loss_of(name);
        else if (field == "removal")
            config.removal = pk::Removal(place_of("removal", name, pk::removal_names));
        else if (field == "storage")
            config.storage = pk::Storage(place_of("storage", name, pk::storage_names));
        else
            throw nb::value_error(("setting '" + field + "' is unknown").c_str());
    }
    void set_number(const std::string& name, nb::handle value) {
        bool found = false;
        const auto assign = [&](const char* known, auto& field) {
            if (name != known) return;
            field = nb::cast<std::decay_t<decltype(field)>>(value);
            found = true;
        };
        assign("seed", config.seed);
        pk::for_each_size(config, assign);
        pk::for_each_parameter(config, assign);
        if (!found) throw nb::value_error(("setting '" + name + "' is unknown").c_str());
    }
};

std::vector<std::string> learners() {
    std::vector<std::string> names;
    while (const char* name = base_float().learner(names.size())) names.emplace_back(name);
    return names;
}

// The parameters of all learners with their defaults.
nb::dict parameters() {
    nb::dict all;
    const pk::Config config;
    pk::for_each_parameter(config, [&](const char* name, const auto& value) { all[name] = value; });
    return all;
}

// ---- learner --------------------------------------------------------------------------------------------------------

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

// ---- forks ----------------------------------------------------------------------------------------------------------

// The number of forks between the first process and this one. A thread that was running in the parent does not exist
// here, so it would never release a learner that it was using.
std::atomic<std::uint32_t> forks{0};

void count_forks() {
#if !defined(_WIN32)
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
#endif
}

class PyLearner {
  public:
    static constexpr int unsuited = -1;

    PyLearner(const std::string& learner, bool doubles, const std::string& level, const Settings& settings)
        : PyLearner(table_of(level, doubles), learner, settings, false) {}

    std::size_t nbytes() const { return size_; }
    // The labels as numbers in ascending order; any other label gives label_unknown.
    void set_labels(const std::vector<double>& classes) { classes_ = classes; }
    std::tuple<std::size_t, std::size_t> fault() const { return {fault_.row, fault_.column}; }

    // Score, then learn, every row. 0, or a status with nothing learned, or `unsuited` if the arrays must be converted
    // first. `linear` is None, or has room for the scores of the linear part. `answers` is None, or has room for an
    // Answer of each row; then no scores are told.
    int learn_dense(nb::handle X, nb::handle y, nb::handle weights, nb::handle scores, nb::handle linear,
                    nb::handle answers) {
        const View x(X, false);
        Rows rows;
        if (!dense(x, rows)) return unsuited;
        return answers.is_none() ? learn(rows, y, weights, scores, linear)
                                 : learn_and_answer(rows, y, weights, answers);
    }
    int learn_sparse(nb::handle values, nb::handle columns, nb::handle starts, nb::handle y, nb::handle weights,
                     nb::handle scores, nb::handle linear, nb::handle answers) {
        const View v(values, false), c(columns, false), s(starts, false);
        Rows rows;
        if (!sparse(v, c, s, rows)) return unsuited;
        return answers.is_none() ? learn(rows, y, weights, scores, linear)
                                 : learn_and_answer(rows, y, weights, answers);
    }
    // Uses at most `threads` threads; the scores do not depend on how many.
    int score_dense(nb::handle X, nb::handle scores, std::size_t threads) {
        const View x(X, false);
        Rows rows;
        if (!dense(x, rows)) return unsuited;
        return score(rows, scores, threads);
    }
    int score_sparse(nb::handle values, nb::handle columns, nb::handle starts, nb::handle scores, std::size_t threads) {
        const View v(values, false), c(columns, false), s(starts, false);
        Rows rows;
        if (!sparse(v, c, s, rows)) return unsuited;
        return score(rows, scores, threads);
    }

    // The score of each kernel for the rows of x, before the kernels are weighted.
    int kernel_scores(nb::handle X, nb::handle scores) {
        const View x(X, false), out(scores, true);
        Rows rows;
        if (!dense(x, rows) || engine_->outputs() != 1) return unsuited;
        if (!out.has(2, "d") || out.size(0) != rows.count || out.size(1) != settings_.kernels.size()) return unsuited;
        const Guard guard(*this, reading);
        return run(rows, [&](const Rows& slice, std::size_t first) {
            engine_->kernel_scores(slice, out.data<double>() + first * settings_.kernels.size());
        });
    }
    std::vector<double> coefficients(std::size_t kernel) {
        const Guard guard(*this, reading);
        if (kernel >= settings_.kernels.size()) throw nb::index_error("no such kernel");
        std::vector<double> all(engine_->coefficients(kernel, nullptr));
        (void)engine_->coefficients(kernel, all.data());
        return all;
    }

    std::vector<double> evidence() {
        const Guard guard(*this, reading);
        std::vector<double> all(engine_->evidence(nullptr));
        (void)engine_->evidence(all.data());
        return all;
    }

    nb::dict tally() {
        const Guard guard(*this, reading);
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
        d["rounds_before"] = engine_->milestones().rounds_before();
        d["mistakes_before"] = engine_->milestones().mistakes_before();
        return d;
    }
    nb::list report() {
        const Guard guard(*this, reading);
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
        const Guard guard(*this, reading);
        return engine_->frequency_count();
    }
    bool frequencies(nb::handle out) {
        const View o(out, true);
        const Guard guard(*this, reading);
        if (!o.has(2, "d") || o.size(0) != engine_->frequency_count() || o.size(1) != settings_.config.features)
            return false;
        return engine_->frequencies(o.data<double>());
    }
    std::vector<double> relevance() {
        const Guard guard(*this, reading);
        std::vector<double> factors(settings_.config.features);
        if (!engine_->relevance(factors.data())) factors.clear();
        return factors;
    }
    std::vector<double> margins(double share) {
        const Guard guard(*this, reading);
        std::vector<double> bounds(2 * engine_->outputs());
        if (!engine_->margins(share, bounds.data())) bounds.clear();
        return bounds;
    }

    std::vector<double> shares() {
        const Guard guard(*this, reading);
        std::vector<double> bytes(3);
        if (!engine_->shares(bytes.data())) bytes.clear();
        return bytes;
    }
    // How many there were, and the last ones: row, kind.
    nb::tuple events() {
        const Guard guard(*this, reading);
        std::uint64_t count = 0, pairs[2 * pk::EventLog::most];
        nb::list last;
        if (engine_->events(count, pairs))
            for (std::size_t n = 0; n < std::min<std::uint64_t>(count, pk::EventLog::most); ++n)
                last.append(nb::make_tuple(pairs[2 * n], pairs[2 * n + 1]));
        return nb::make_tuple(count, last);
    }
    void forget_lags() {
        const Guard guard(*this, changing);
        engine_->forget_lags();
    }
    void repeat(bool again) {
        const Guard guard(*this, changing);
        engine_->repeat(again);
    }

    std::size_t state_bytes() const { return engine_->state_bytes(); }
    // What the seed alone decides, which is not in the state.
    nb::bytes constants() {
        const Guard guard(*this, reading);
        std::vector<unsigned char> bytes(engine_->constants(nullptr));
        if (!bytes.empty()) (void)engine_->constants(bytes.data());
        return nb::bytes(bytes.data(), bytes.size());
    }
    nb::bytes save() {
        const Guard guard(*this, reading);
        if (!engine_->valid())
            throw std::overflow_error(
                "this learner has diverged (its numbers are no longer finite): use a smaller step, norm_bound or rate");
        stop_if_asked();
        auto bytes =
            nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(engine_->state_bytes())));
        if (!bytes.is_valid()) throw std::bad_alloc();
        engine_->save(reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes.ptr())));
        return bytes;
    }
    int load(const nb::bytes& bytes) {
        const Guard guard(*this, changing);
        return code(engine_->load(static_cast<const unsigned char*>(bytes.data()), bytes.size()));
    }

  protected:
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
        const LongBuild build;
        {
            const nb::gil_scoped_release release;
            (void)table.make(learner.c_str(), settings_.get(), fleet, block.get(), size_, engine, status);
        }
        build.stop_if_asked();
        if (status != pk::Status::ok) throw nb::value_error(pk::describe(status).sentence);
        return engine;
    }

    // One caller at a time: a learner must not be shared between threads, and silent corruption is worse than an error.
    enum Use : std::uint64_t { reading = 1, changing = 2 };
    class Guard {
      public:
        Guard(PyLearner& owner, Use use) : holder_(owner.holder_) {
            const std::uint64_t here = forks.load(std::memory_order_relaxed);
            std::uint64_t found = 0;
            while (!holder_.compare_exchange_weak(found, here << 2 | use, std::memory_order_acquire)) {
                if (found == 0) continue;
                if (found >> 2 == here)
                    throw std::runtime_error(
                        "this learner is in use by another thread: give each thread its own, or use a lock");
                if ((found & 3) == changing)
                    throw std::runtime_error(
                        "this learner was learning in another thread when the process forked, so its copy here is "
                        "incomplete: load it from its file, or fork while it is idle");
                // A reader in the parent at the time of the fork: it changed nothing, so replace it.
            }
        }
        ~Guard() { holder_.store(0, std::memory_order_release); }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        std::atomic<std::uint64_t>& holder_;
    };

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

    int learn(const Rows& rows, nb::handle y, nb::handle sample_weight, nb::handle scores, nb::handle linear) {
        const View parts(linear, true);
        const bool told = !linear.is_none();
        if (told && !(engine_->tells_linear() && has_room(parts, rows))) return unsuited;
        const View out(scores, true);
        if (!has_room(out, rows)) return unsuited;
        return learn_with(rows, y, sample_weight, [&](const Lessons& lessons) {
            LongRow row;
            return run(rows, [&](const Rows& slice, std::size_t first) {
                const std::size_t place = first * engine_->outputs();
                engine_->learn(slice, from(lessons, first), out.data<double>() + place, nullptr, &row,
                               told ? parts.data<double>() + place : nullptr);
                row.stop_if_asked();
            });
        });
    }
    int learn_and_answer(const Rows& rows, nb::handle y, nb::handle sample_weight, nb::handle answers) {
        const View told(answers, true);
        const std::size_t outputs = engine_->outputs(), known = classes_.size();
        const bool suited = engine_->tells_linear() && !engine_->is_regressor() && known > 1 && known <= outputs;
        if (!suited || outputs < 3) return unsuited;
        constexpr std::size_t numbers = sizeof(Answer) / sizeof(double);
        if (!told.has(2, "d") || told.size(0) != rows.count || told.size(1) != numbers) return unsuited;
        std::vector<double> scores(outputs), linear(outputs);  // of one row, which stay in the processor's cache
        return learn_with(rows, y, sample_weight, [&](const Lessons& lessons) {
            LongRow row;
            return run(rows, [&](const Rows& slice, std::size_t first) {
                engine_->learn(slice, from(lessons, first), scores.data(), nullptr, &row, linear.data(),
                               told.data<Answer>() + first, known);
                row.stop_if_asked();
            });
        });
    }
    // Lessons of the rows from `first` on.
    Lessons from(const Lessons& lessons, std::size_t first) const {
        return {lessons.labels ? lessons.labels + first : nullptr,
                lessons.targets ? lessons.targets + first * engine_->outputs() : nullptr,
                lessons.weights ? lessons.weights + first : nullptr};
    }
    // Calls teach(lessons) with copies of the labels or targets and the weights.
    template <class Teach>
    int learn_with(const Rows& rows, nb::handle y, nb::handle sample_weight, Teach&& teach) {
        const View given(y, false), weights(sample_weight, false);
        const bool to_numbers = engine_->is_regressor();
        if (!(to_numbers ? has_targets(given, rows) : has_labels(given, rows))) return unsuited;
        const bool weighted = !sample_weight.is_none();
        if (weighted && (!weights.has(1, "d") || weights.size(0) != rows.count)) return unsuited;
        const Guard guard(*this, changing);
        const std::size_t outputs = engine_->outputs();
        Copied<std::int32_t> places(to_numbers ? 0 : rows.count);
        Copied<double> targets(to_numbers ? rows.count * outputs : 0), copies(weighted ? rows.count : 0);
        if (to_numbers) {
            const double most = pk::TargetScale::value_limit;
            if (!copy(given, -most, most, rows.count * outputs, outputs, targets.data()))
                return code(pk::Status::target_out_of_range);
        } else if (!to_places(given, classes_, places.data(), fault_.row)) {
            return code(pk::Status::label_unknown);
        }
        if (weighted && !copy(weights, 0.0, 1e9, rows.count, 1, copies.data()))
            return code(pk::Status::weight_out_of_range);
        const Lessons lessons{to_numbers ? nullptr : places.data(), to_numbers ? targets.data() : nullptr,
                              weighted ? copies.data() : nullptr};
        return teach(lessons);
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
                fault_ = {n / for_each_row, n % for_each_row};
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

    int score(const Rows& rows, nb::handle scores, std::size_t threads) {
        const View out(scores, true);
        if (!has_room(out, rows)) return unsuited;
        const Guard guard(*this, reading);
        return without_lock(rows, [&] { return score_slices(rows, out.data<double>(), threads); });
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
                status = engine_->check(slice, fault_);
                if (status != pk::Status::ok) fault_.row += first;
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
        const nb::gil_scoped_release release;
        return code(f());
    }

    // Processes slices in order, until none are left or one has an error.
    struct Slices {
        const Rows& rows;
        double* scores;
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
            engine_->score(slice, slices.scores + first * engine_->outputs(), scratch);
            beat();
        }
    }

    // Every thread takes the next slice, with its own scratch; this thread is one of them. If the system cannot start a
    // thread, there are fewer.
    pk::Status score_slices(const Rows& rows, double* scores, std::size_t threads) {
        const std::size_t count = std::max<std::size_t>(1, std::min(threads, rows.count));
        Slices slices{rows, scores, std::min(rows_at_once(), rows.count / (4 * count) + 1)};
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
            score_some(slices, nullptr, own, [&] { pulse.beat(); });
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
        fault_ = first->fault;
        return first->status;
    }

    Settings settings_;
    std::size_t size_ = 0;
    Block block_;
    Engine* engine_ = nullptr;
    std::vector<double> classes_{-1.0, 1.0};
    Fault fault_;
    std::atomic<std::uint64_t> holder_{0};  // 0, or the use and the forks before it
};

// ---- fleet ----------------------------------------------------------------------------------------------------------

// Many models of one configuration, each in a slot of its own. Slots are allocated in slabs of some megabytes, which
// never move. Rows are learned in slices; within a slice each thread takes the rows of its share of the slots, so
// Ctrl-C leaves the first rows learned, whatever the number of threads.
//
// A slot is a state, what the model had done when it began, and, if classes are balanced, the rows learned of each.
class PyFleet : public PyLearner {
  public:
    PyFleet(const std::string& learner, bool doubles, const std::string& level, const Settings& settings, bool balanced)
        : PyLearner(table_of(level, doubles), learner, settings, true),
          table_(table_of(level, doubles)),
          learner_(learner),
          counted_(balanced ? settings.config.classes : 0) {
        state_bytes_ = engine_->state_bytes() - sizeof(pk::StateHeader);
        const std::size_t tail = sizeof(Done) + counted_ * sizeof(std::int64_t);
        slots_.bytes = state_bytes_ + (tail + pk::pack_bytes - 1) / pk::pack_bytes * pk::pack_bytes;
        while (slots_.bytes << (slots_.slab_bits + 1) <= slab_bytes) ++slots_.slab_bits;
        engines_.push_back(engine_);
    }

    std::size_t slot_bytes() const { return slots_.bytes; }
    std::size_t capacity() const { return starts_.size() << slots_.slab_bits; }
    std::size_t slots_per_slab() const { return std::size_t(1) << slots_.slab_bits; }
    std::size_t nbytes() const { return size_ * engines_.size() + slots_.bytes * capacity(); }
    std::size_t learned() const { return learned_; }

    std::size_t bytes_of_slab() const { return slots_.bytes << slots_.slab_bits; }
    void reserve(std::size_t count) {
        const Guard guard(*this, changing);
        while (capacity() < count) {
            slabs_.push_back(new_slab(bytes_of_slab()));
            use_slab(slabs_.back().get());
        }
    }
    // Another slab in the caller's memory, such as a mapped file, which is held as long as the fleet exists.
    void add_slab(nb::handle memory) {
        const Guard guard(*this, changing);
        auto view = std::make_unique<View>(memory, true);
        if (!view->has(1, "B") || view->size(0) < bytes_of_slab() ||
            reinterpret_cast<std::uintptr_t>(view->data<unsigned char>()) % pk::pack_bytes != 0)
            throw nb::value_error("expected writable bytes, aligned, as many as a slab has");
        use_slab(view->data<unsigned char>());
        given_.push_back(std::move(view));
    }

    // Makes models in slots copies of the one in slot `origin`, or new ones if that is negative.
    void begin(const std::vector<std::size_t>& slots, std::int64_t origin) {
        const Guard guard(*this, changing);
        if (origin >= 0) engine_->attach(slots_.state(known(to_slot(origin))));
        const Done done = origin < 0 ? Done() : Done(engine_->tally());
        const unsigned char* state = origin < 0 ? engine_->newborn() : slots_.state(to_slot(origin));
        const Counts counts = origin < 0 ? Counts(counted_) : counts_in(slots_.state(to_slot(origin)));
        for (const std::size_t slot : slots) begin_as(slots_.state(known(slot)), state, done, counts);
    }

    // Learns row r in slot slots[r]. With a base, the model in that slot first learns every row as well, and rows of
    // which `born` says so begin with a copy of it. Without threads, rows are only checked.
    int learn_dense(nb::handle slots, nb::handle X, nb::handle y, nb::handle weights, nb::handle scores,
                    std::size_t threads, std::int64_t base, nb::handle born) {
        const View x(X, false);
        Rows rows;
        if (!dense(x, rows)) return unsuited;
        return learn_rows(rows, slots, y, weights, scores, threads, base, born);
    }
    int learn_sparse(nb::handle slots, nb::handle values, nb::handle columns, nb::handle starts, nb::handle y,
                     nb::handle weights, nb::handle scores, std::size_t threads, std::int64_t base, nb::handle born) {
        const View v(values, false), c(columns, false), s(starts, false);
        Rows rows;
        if (!sparse(v, c, s, rows)) return unsuited;
        return learn_rows(rows, slots, y, weights, scores, threads, base, born);
    }
    int score_dense(nb::handle slots, nb::handle X, nb::handle scores, std::size_t threads) {
        const View x(X, false);
        Rows rows;
        if (!dense(x, rows)) return unsuited;
        return score_rows(rows, slots, scores, threads);
    }
    int score_sparse(nb::handle slots, nb::handle values, nb::handle columns, nb::handle starts, nb::handle scores,
                     std::size_t threads) {
        const View v(values, false), c(columns, false), s(starts, false);
        Rows rows;
        if (!sparse(v, c, s, rows)) return unsuited;
        return score_rows(rows, slots, scores, threads);
    }

    // A model's state as a learner saves it.
    nb::bytes save_slot(std::size_t slot) {
        attach(slot);
        return save();
    }
    int load_slot(std::size_t slot, const nb::bytes& bytes, const std::vector<std::int64_t>& counts) {
        if (counts.size() != counted_ || !possible(counts))
            throw nb::value_error("expected a count for each class that is counted");
        attach(slot);
        const int status = load(bytes);
        if (status == 0) begin_as(slots_.state(slot), slots_.state(slot), Done(), counts);
        return status;
    }
    // Rows that a model has learned of each class, if classes are balanced.
    std::vector<std::int64_t> counts(std::size_t slot) {
        const Guard guard(*this, reading);
        return counts_in(slots_.state(known(slot)));
    }
    // The contents of slots, one after the other; and back. A state that is not possible is refused, and
    // its model begins anew.
    void read(nb::handle slots, nb::handle out) {
        const std::vector<std::size_t> all = copied(slots);
        const View to(out, true);
        if (!to.has(2, "B") || to.size(0) != all.size() || to.size(1) != slots_.bytes)
            throw nb::value_error("expected an array of bytes, one row for each slot");
        const Guard guard(*this, reading);
        for (std::size_t n = 0; n < all.size(); ++n)
            std::memcpy(to.data<unsigned char>() + n * slots_.bytes, slots_.state(all[n]), slots_.bytes);
    }
    bool write(nb::handle slots, nb::handle states) {
        const std::vector<std::size_t> all = copied(slots);
        const View from(states, false);
        if (!from.has(2, "B") || from.size(0) != all.size() || from.size(1) != slots_.bytes)
            throw nb::value_error("expected an array of bytes, one row for each slot");
        const Guard guard(*this, changing);
        bool good = true;
        for (std::size_t n = 0; n < all.size(); ++n) {
            unsigned char* state = slots_.state(all[n]);
            std::memcpy(state, from.data<const unsigned char>() + n * slots_.bytes, slots_.bytes);
            engine_->attach(state);
            if (engine_->valid() && done_before(state).possible(engine_->tally()) && possible(counts_in(state)))
                continue;
            begin_as(state, engine_->newborn(), Done(), Counts(counted_));
            good = false;
        }
        return good;
    }
    // Rounds, mistakes and cumulative loss of the models in slots since they began, one row each.
    void tallies(nb::handle slots, nb::handle out) {
        const std::vector<std::size_t> all = copied(slots);
        const View to(out, true);
        if (!to.has(2, "d") || to.size(0) != all.size() || to.size(1) != 3)
            throw nb::value_error("expected a float64 matrix with three columns, one row for each slot");
        const Guard guard(*this, reading);
        for (std::size_t n = 0; n < all.size(); ++n) {
            engine_->attach(slots_.state(all[n]));
            const Done now(engine_->tally()), before = done_before(slots_.state(all[n]));
            double* row = to.data<double>() + 3 * n;
            row[0] = now.rounds - before.rounds;
            row[1] = now.mistakes - before.mistakes;
            row[2] = now.loss - before.loss;
        }
    }

  private:
    static constexpr std::size_t slab_bytes = std::size_t(1) << 25;

    // Enough for every thread, few enough that Ctrl-C need not wait long. A row of a large model may take longer than
    // that, so it is watched, which needs a slice of its own.
    std::size_t rows_of_slice() const {
        return is_large() ? 1 : std::min<std::size_t>(4096, bytes_at_once / slots_.bytes);
    }
    bool is_large() const { return slots_.bytes >= bytes_at_once / 16; }

    // What a model had done when it began as a copy of another; kept behind its state.
    struct Done {
        double rounds = 0.0, mistakes = 0.0, loss = 0.0;

        Done() = default;
        explicit Done(const pk::Tally& tally)
            : rounds(static_cast<double>(tally.rounds)),
              mistakes(static_cast<double>(tally.mistakes)),
              loss(tally.loss) {}
        bool possible(const pk::Tally& now) const {
            return rounds >= 0.0 && rounds <= static_cast<double>(now.rounds) && mistakes >= 0.0 &&
                   mistakes <= static_cast<double>(now.mistakes) && loss >= 0.0 && loss <= now.loss;
        }
    };
    Done done_before(const unsigned char* slot) const {
        Done done;
        std::memcpy(&done, slot + state_bytes_, sizeof done);
        return done;
    }
    using Counts = std::vector<std::int64_t>;
    unsigned char* counts_at(unsigned char* slot) const { return slot + state_bytes_ + sizeof(Done); }
    Counts counts_in(unsigned char* slot) const {
        Counts counts(counted_);
        if (counted_ > 0) std::memcpy(counts.data(), counts_at(slot), counted_ * sizeof(std::int64_t));
        return counts;
    }
    static bool possible(const Counts& counts) {
        return std::all_of(counts.begin(), counts.end(),
                           [](std::int64_t count) { return count >= 0 && count < std::int64_t(1) << 53; });
    }
    void begin_as(unsigned char* slot, const unsigned char* state, const Done& done, const Counts& counts) const {
        if (slot != state) std::memcpy(slot, state, state_bytes_);
        std::memset(slot + state_bytes_, 0, slots_.bytes - state_bytes_);
        std::memcpy(slot + state_bytes_, &done, sizeof done);
        if (counted_ > 0) std::memcpy(counts_at(slot), counts.data(), counted_ * sizeof(std::int64_t));
    }
    // Counts a row of a balanced class; its weight: rows / (classes * rows of the class), this one included, of the
    // classes that the model has learned, as in `_class_weights.py`. A row of weight 0 is not learned, nor counted.
    double balanced(unsigned char* slot, std::int32_t label, double weight) const {
        if (!(weight > 0.0)) return weight;
        std::int64_t rows = 0, classes = 0, alike = 0;
        for (std::size_t c = 0; c < counted_; ++c) {
            std::int64_t count = 0;
            unsigned char* place = counts_at(slot) + c * sizeof count;
            std::memcpy(&count, place, sizeof count);
            if (c == static_cast<std::size_t>(label)) {
                alike = ++count;
                std::memcpy(place, &count, sizeof count);
            }
            rows += count;
            classes += count > 0;
        }
        const double share = static_cast<double>(classes) * static_cast<double>(alike);
        return std::min(weight * (static_cast<double>(rows) / share), 1e9);
    }

    std::size_t known(std::size_t slot) const {
        if (slot >= capacity()) throw nb::index_error("no such slot");
        return slot;
    }
    static std::size_t to_slot(std::int64_t slot) { return static_cast<std::size_t>(slot); }
    void attach(std::size_t slot) {
        const Guard guard(*this, changing);
        engine_->attach(slots_.state(known(slot)));
    }
    // Slots of an int64 array, all of which exist.
    std::vector<std::size_t> copied(nb::handle slots) const {
        const View given(slots, false);
        if (!given.has(1, "lq") || given.item() != 8) throw nb::value_error("expected slots as an int64 array");
        std::vector<std::size_t> all(given.size(0));
        for (std::size_t n = 0; n < all.size(); ++n)
            all[n] = known(to_slot(pk::read_once(given.data<const std::int64_t>() + n)));
        return all;
    }

    int learn_rows(const Rows& rows, nb::handle slots, nb::handle y, nb::handle weights, nb::handle scores,
                   std::size_t threads, std::int64_t base, nb::handle born) {
        const std::vector<std::size_t> all = copied(slots);
        const View out(scores, true);
        if (all.size() != rows.count || !has_room(out, rows)) return unsuited;
        const std::vector<std::uint8_t> births = births_of(born, base < 0 ? 0 : rows.count);
        unsigned char* shared = base < 0 ? nullptr : slots_.state(known(to_slot(base)));
        const std::size_t most = std::min(rows_of_slice(), rows.count);
        std::vector<double> aside(shared ? most * engine_->outputs() : 0);
        std::vector<double> own(counted_ > 0 ? most : 0), of_base(shared ? own.size() : 0);  // weights, if balanced
        learned_ = 0;
        prepare(threads);
        return learn_with(rows, y, weights, [&](const Lessons& lessons) {
            return run(rows, rows_of_slice(), [&](const Rows& slice, std::size_t first) {
                if (threads == 0) return;
                std::optional<LongRow> row;
                if (is_large()) row.emplace();
                Lessons some = from(lessons, first);
                unsigned char* slot = slots_.state(all[first]);
                const Counts before = row ? counts_in(slot) : Counts();
                if (shared) {
                    const Counts of_all = row ? counts_in(shared) : Counts();
                    learn_base(slice, some, &all[first], &births[first], shared, aside.data(), own, of_base,
                               watch_of(row));
                    if (row && row->stopped()) put_back(shared, of_all);
                    stop_if_given_up(row, slot, before);
                    row.reset();  // once the base has learned a row, so must the model of its key
                } else if (counted_ > 0) {
                    weigh(some, &all[first], nullptr, 0, slice.count, own, of_base);
                }
                if (counted_ > 0) some.weights = own.data();
                each_part(&all[first], slice.count, threads, [&](Engine& engine, const Slots& part) {
                    engine.learn(slice, some, out.data<double>() + first * engine.outputs(), &part, watch_of(row));
                });
                stop_if_given_up(row, slot, before);
                learned_ = first + slice.count;
            });
        });
    }
    static Watch* watch_of(std::optional<LongRow>& row) { return row ? &*row : nullptr; }
    // Ctrl-C in a row: the counts of its classes are put back, as its model was.
    void stop_if_given_up(const std::optional<LongRow>& row, unsigned char* slot, const Counts& before) const {
        if (!row || !row->stopped()) return;
        put_back(slot, before);
        row->stop_if_asked();
    }
    void put_back(unsigned char* slot, const Counts& counts) const {
        if (counted_ > 0) std::memcpy(counts_at(slot), counts.data(), counted_ * sizeof(std::int64_t));
    }
    std::vector<std::uint8_t> births_of(nb::handle born, std::size_t rows) const {
        std::vector<std::uint8_t> births(rows);
        if (rows == 0) return births;
        const View given(born, false);
        if (!given.has(1, "?") || given.size(0) != rows) throw nb::value_error("expected one bool for each row");
        for (std::size_t r = 0; r < rows; ++r) births[r] = given.data<const std::uint8_t>()[r];
        return births;
    }
    // In the order of the rows, so that a model that begins is a copy of what the base has learned until then.
    void learn_base(const Rows& rows, const Lessons& lessons, const std::size_t* slots, const std::uint8_t* births,
                    unsigned char* base, double* aside, std::vector<double>& own, std::vector<double>& of_base,
                    Watch* watch) {
        engine_->attach(base);
        for (std::size_t first = 0, end = 0; first < rows.count; first = end) {
            if (births[first]) begin_as(slots_.state(slots[first]), base, Done(engine_->tally()), counts_in(base));
            for (end = first + 1; end < rows.count && !births[end];) ++end;
            Lessons some = from(lessons, first);
            if (counted_ > 0) {
                weigh(lessons, slots, base, first, end, own, of_base);
                some.weights = of_base.data() + first;
            }
            engine_->learn(part(rows, first, end - first), some, aside, nullptr, watch);
        }
    }
    // Weights of balanced classes, for the models of some rows and for the base if there is one.
    void weigh(const Lessons& lessons, const std::size_t* slots, unsigned char* base, std::size_t first,
               std::size_t end, std::vector<double>& own, std::vector<double>& of_base) const {
        for (std::size_t r = first; r < end; ++r) {
            const double weight = lessons.weights ? lessons.weights[r] : 1.0;
            if (base) of_base[r] = balanced(base, lessons.labels[r], weight);
            own[r] = balanced(slots_.state(slots[r]), lessons.labels[r], weight);
        }
    }

    int score_rows(const Rows& rows, nb::handle slots, nb::handle scores, std::size_t threads) {
        const std::vector<std::size_t> all = copied(slots);
        const View out(scores, true);
        if (all.size() != rows.count || !has_room(out, rows)) return unsuited;
        prepare(threads);
        const Guard guard(*this, changing);  // what the engines are attached to
        return run(rows, rows_of_slice(), [&](const Rows& slice, std::size_t first) {
            each_part(&all[first], slice.count, threads, [&](Engine& engine, const Slots& part) {
                engine.score(slice, out.data<double>() + first * engine.outputs(), nullptr, &part);
            });
        });
    }

    void prepare(std::size_t threads) {
        if (engines_.size() >= threads) return;
        const Guard guard(*this, changing);  // nobody else has them in use
        while (engines_.size() < threads) {
            Block block;
            Engine* engine = new_engine(table_, learner_, true, block);
            blocks_.push_back(std::move(block));
            engines_.push_back(engine);
        }
    }
    // Calls f(engine, part) for every part of the slots, each in a thread of its own if the system can start one.
    template <class F>
    void each_part(const std::size_t* slots, std::size_t rows, std::size_t threads, F&& f) {
        const std::size_t parts = rows < 64 * threads ? 1 : std::max<std::size_t>(1, threads);
        const auto share = [&](std::size_t p) {
            Slots some = slots_;
            some.of = slots;
            some.part = p;
            some.parts = parts;
            f(*engines_[p], some);
        };
        std::vector<std::thread> others;
        std::size_t next = 1;
        try {
            others.reserve(parts - 1);
            for (; next < parts; ++next) others.emplace_back(share, next);
        } catch (const std::system_error&) {
        }
        share(0);
        for (; next < parts; ++next) share(next);
        for (std::thread& other : others) other.join();
    }

    void use_slab(unsigned char* start) {
        starts_.push_back(start);
        slots_.slabs = starts_.data();
    }
    // A fleet is read at random: large pages, where the system has them, save it many misses of the address cache.
    static Block new_slab(std::size_t size) {
        Block block = new_block(size);
#if defined(__linux__)
        constexpr std::size_t page = 4096;
        const std::size_t first = (reinterpret_cast<std::uintptr_t>(block.get()) + page - 1) / page * page;
        (void)madvise(reinterpret_cast<void*>(first), size / page * page - page, MADV_HUGEPAGE);
#endif
        return block;
    }

    const Table& table_;
    std::string learner_;
    std::size_t counted_ = 0;  // classes, if they are balanced
    std::size_t state_bytes_ = 0;
    Slots slots_;
    std::vector<Block> slabs_, blocks_;
    std::vector<std::unique_ptr<View>> given_;  // slabs that Python has allocated
    std::vector<unsigned char*> starts_;
    std::vector<Engine*> engines_;
    std::size_t learned_ = 0;
};

// ---- functions ------------------------------------------------------------------------------------------------------

int check_kernel(const std::string& family, double parameter, std::uint32_t order) {
    Settings settings;
    settings.add_kernel(family, parameter, order);
    return code(pk::check_kernels(settings.get()));
}

// (bytes, bytes of the saved state, status) of a learner that is not built.
std::tuple<std::size_t, std::size_t, int> size_of(const std::string& learner, bool doubles, const Settings& settings) {
    std::size_t bytes = 0, state_bytes = 0;
    pk::Status status = pk::Status::ok;
    if (!table_of("", doubles).size(learner.c_str(), settings.get(), false, bytes, state_bytes, status))
        throw nb::value_error("unknown learner");
    return {bytes, state_bytes, code(status)};
}

std::tuple<std::string, std::string> describe(int status) {
    const pk::StatusText text = pk::describe(static_cast<pk::Status>(status));
    return {text.subject, text.sentence};
}

std::tuple<bool, double, double> loss_constants(const std::string& name) {
    return pk::with_loss(loss_of(name),
                         [](auto loss) { return std::tuple<bool, double, double>(loss.smooth, loss.G1, loss.G2); });
}
std::tuple<double, double> loss_at(const std::string& name, double u, double y) {
    const pk::LossPoint point = pk::loss_at(loss_of(name), u, y);
    return {point.value, point.derivative};
}

void elementary(const std::string& function, bool doubles, const std::string& level, nb::handle in, nb::handle out) {
    const View i(in, false), o(out, true);
    if (!i.has(1, "d") || !o.has(1, "d") || i.size(0) != o.size(0))
        throw nb::value_error("expected two float64 vectors of equal length");
    if (!table_of(level, doubles).elementary(function.c_str(), i.data<double>(), o.data<double>(), i.size(0)))
        throw nb::value_error("unknown function");
}

void kernel_values(const Settings& settings, bool doubles, const std::string& level, nb::handle metric,
                   nb::handle out) {
    const View i(metric, false), o(out, true);
    if (!i.has(1, "d") || !o.has(2, "d") || o.size(0) != settings.kernels.size() || o.size(1) != i.size(0))
        throw nb::value_error("expected a float64 vector and a float64 matrix with one row per kernel");
    table_of(level, doubles).kernel_values(settings.get(), i.data<double>(), o.data<double>(), i.size(0));
}

// Writes the values of a dict of features into a float64 row, zeros elsewhere. A name in `columns` has its own column;
// a name with k + 1 in `shared` is added to column k, one with -(k + 1) is subtracted from it. Returns how many values
// were shared; -1 if a name is in neither, two shared values fall into one column (their order would matter), or a
// value is not a number. The row is then partly written.
int fill_row(const nb::dict& columns, const nb::dict& shared, const nb::dict& features, nb::handle row) {
    const View out(row, true);
    if (!out.has(2, "d")) throw nb::value_error("expected a float64 matrix with one row");
    double* values = out.data<double>();
    const std::size_t width = out.size(1);
    for (std::size_t k = 0; k < width; ++k) values[k] = 0.0;
    struct Share {
        std::size_t column;
        double value;
    } shares[16];
    int count = 0;
    PyObject *name = nullptr, *value = nullptr;
    Py_ssize_t place = 0;
    while (PyDict_Next(features.ptr(), &place, &name, &value)) {
        PyObject* column = PyDict_GetItemWithError(columns.ptr(), name);
        const bool own = column != nullptr;
        if (!own && !PyErr_Occurred()) column = PyDict_GetItemWithError(shared.ptr(), name);
        const Py_ssize_t k = column ? PyLong_AsSsize_t(column) : 0;
        // Other objects that convert to float (a duration, an array of one number) are checked elsewhere; also, their
        // __float__ could change the dict while it is read.
        if (!PyFloat_Check(value) && !PyLong_Check(value)) return -1;
        const double number = column ? PyFloat_AsDouble(value) : 0.0;
        if (!column || PyErr_Occurred()) {
            PyErr_Clear();
            return -1;
        }
        const auto at = static_cast<std::size_t>(own ? k : (k < 0 ? -k : k) - 1);
        if (at >= width) return -1;
        if (own) {
            values[at] = number;
            continue;
        }
        if (count == 16) return -1;
        for (int other = 0; other < count; ++other)
            if (shares[other].column == at) return -1;
        shares[count++] = {at, k < 0 ? -number : number};
    }
    for (int other = 0; other < count; ++other) values[shares[other].column] += shares[other].value;
    return count;
}

double bare_pass(nb::handle X, nb::handle columns, nb::handle starts, std::size_t features, std::size_t stored,
                 bool doubles, const std::string& level) {
    const View x(X, false), c(columns, false), s(starts, false);
    Rows rows;
    const bool is_sparse = !columns.is_none();
    if (!x.has(is_sparse ? 1 : 2, "fd")) throw nb::value_error("expected float32 or float64 rows");
    rows.values = x.data<const void>();
    rows.doubles = x.format() == 'd';
    rows.features = features;
    rows.count = is_sparse ? s.size(0) - 1 : x.size(0);
    if (is_sparse) {
        rows.columns = c.data<const std::int32_t>();
        rows.starts = s.data<const std::int64_t>();
        rows.stored = std::min(x.size(0), c.size(0));
    }
    const Table& table = table_of(level, doubles);
    const double needed = table.bare_pass(rows, stored, nullptr, 0);
    const auto size = static_cast<std::size_t>(-needed);
    const Block block = new_block(size);
    const nb::gil_scoped_release release;
    return table.bare_pass(rows, stored, block.get(), size);
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of pocketkernel.";
    // A process that is interrupted ends with objects alive, in frames of other threads or of a traceback. That is no
    // leak, but nanobind would end its output with a list of them.
    nb::set_leak_warnings(false);
    count_forks();
    m.attr("UNSUITED") = PyLearner::unsuited;
    m.def("levels", levels, "Levels that this machine can run, slowest first.");
    m.attr("LEARNERS") = learners();
    m.attr("KERNELS") = listed(pk::family_names);
    m.attr("LOSSES") = listed(pk::loss_names);
    m.attr("REMOVALS") = listed(pk::removal_names);
    m.attr("STORAGES") = listed(pk::storage_names);
    m.def("parameters", parameters, "Parameters of the learners, with their defaults.");
    m.def("describe", describe, "status"_a, "(subject, sentence) of a status.");
    m.def("check_kernel", check_kernel, "family"_a, "parameter"_a, "order"_a, "Status of a kernel's numbers.");
    m.def("size_of", size_of, "learner"_a, "doubles"_a, "settings"_a,
          "(bytes, bytes of the saved state, status) of a learner before it is built.");
    m.def("loss_constants", loss_constants, "name"_a, "(smooth, G1, G2)");
    m.def("loss_at", loss_at, "name"_a, "u"_a, "y"_a, "(value, derivative)");
    m.def("elementary", elementary, "function"_a, "doubles"_a, "level"_a, "x"_a, "out"_a);
    m.def("kernel_values", kernel_values, "settings"_a, "doubles"_a, "level"_a, "metric"_a, "out"_a);
    m.def("fill_row", fill_row, "columns"_a, "shared"_a, "features"_a, "row"_a,
          "Writes a dict of features into a row; returns how many values share a column, or -1 if that needs Python "
          "code.");
    m.def("bare_pass", bare_pass, "x"_a, "columns"_a.none(), "starts"_a.none(), "features"_a, "stored"_a, "doubles"_a,
          "level"_a);
    add_keys(m);
    add_text(m);

    nb::class_<Settings>(m, "Settings")
        .def(nb::init<>())
        .def("add_kernel", &Settings::add_kernel, "family"_a, "parameter"_a, "order"_a = 1)
        .def("set_name", &Settings::set_name, "field"_a, "name"_a)
        .def("set_number", &Settings::set_number, "name"_a, "value"_a);

    nb::class_<PyLearner>(m, "Learner")
        .def(nb::init<const std::string&, bool, const std::string&, const Settings&>(), "learner"_a, "doubles"_a,
             "level"_a, "settings"_a)
        .def_prop_ro("nbytes", &PyLearner::nbytes)
        .def_prop_ro("fault", &PyLearner::fault)
        .def("set_labels", &PyLearner::set_labels, "classes"_a)
        .def("learn_dense", &PyLearner::learn_dense, "x"_a, "y"_a.none(), "weights"_a.none(), "scores"_a.none(),
             "linear"_a = nb::none(), "answers"_a = nb::none())
        .def("learn_sparse", &PyLearner::learn_sparse, "values"_a, "columns"_a, "starts"_a, "y"_a, "weights"_a.none(),
             "scores"_a.none(), "linear"_a = nb::none(), "answers"_a = nb::none())
        .def("score_dense", &PyLearner::score_dense, "x"_a, "scores"_a, "threads"_a)
        .def("score_sparse", &PyLearner::score_sparse, "values"_a, "columns"_a, "starts"_a, "scores"_a, "threads"_a)
        .def("kernel_scores", &PyLearner::kernel_scores, "x"_a, "scores"_a)
        .def("coefficients", &PyLearner::coefficients, "kernel"_a)
        .def("evidence", &PyLearner::evidence)
        .def("tally", &PyLearner::tally)
        .def("report", &PyLearner::report)
        .def("frequencies", &PyLearner::frequencies, "out"_a)
        .def_prop_ro("frequency_count", &PyLearner::frequency_count)
        .def("relevance", &PyLearner::relevance)
        .def("shares", &PyLearner::shares)
        .def("events", &PyLearner::events)
        .def("margins", &PyLearner::margins, "share"_a)
        .def("forget_lags", &PyLearner::forget_lags)
        .def("repeat", &PyLearner::repeat, "again"_a)
        .def_prop_ro("state_bytes", &PyLearner::state_bytes)
        .def("constants", &PyLearner::constants)
        .def("save", &PyLearner::save)
        .def("load", &PyLearner::load, "state"_a);

    nb::class_<PyFleet>(m, "Fleet")
        .def(nb::init<const std::string&, bool, const std::string&, const Settings&, bool>(), "learner"_a, "doubles"_a,
             "level"_a, "settings"_a, "balanced"_a)
        .def_prop_ro("nbytes", &PyFleet::nbytes)
        .def_prop_ro("fault", &PyFleet::fault)
        .def_prop_ro("learned", &PyFleet::learned)
        .def_prop_ro("capacity", &PyFleet::capacity)
        .def_prop_ro("slot_bytes", &PyFleet::slot_bytes)
        .def_prop_ro("slots_per_slab", &PyFleet::slots_per_slab)
        .def_prop_ro("bytes_of_slab", &PyFleet::bytes_of_slab)
        .def("set_labels", &PyFleet::set_labels, "classes"_a)
        .def("reserve", &PyFleet::reserve, "count"_a)
        .def("add_slab", &PyFleet::add_slab, "memory"_a)
        .def("begin", &PyFleet::begin, "slots"_a, "origin"_a)
        .def("learn_dense", &PyFleet::learn_dense, "slots"_a, "x"_a, "y"_a, "weights"_a.none(), "scores"_a, "threads"_a,
             "base"_a, "born"_a.none())
        .def("learn_sparse", &PyFleet::learn_sparse, "slots"_a, "values"_a, "columns"_a, "starts"_a, "y"_a,
             "weights"_a.none(), "scores"_a, "threads"_a, "base"_a, "born"_a.none())
        .def("score_dense", &PyFleet::score_dense, "slots"_a, "x"_a, "scores"_a, "threads"_a)
        .def("score_sparse", &PyFleet::score_sparse, "slots"_a, "values"_a, "columns"_a, "starts"_a, "scores"_a,
             "threads"_a)
        .def("save", &PyFleet::save_slot, "slot"_a)
        .def("load", &PyFleet::load_slot, "slot"_a, "state"_a, "counts"_a)
        .def("counts", &PyFleet::counts, "slot"_a)
        .def("read", &PyFleet::read, "slots"_a, "states"_a)
        .def("write", &PyFleet::write, "slots"_a, "states"_a)
        .def("tallies", &PyFleet::tallies, "slots"_a, "out"_a);
}
