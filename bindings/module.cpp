// The Python module pocketkernel._core: arrays to spans, status to numbers that Python turns into exceptions.
//
// The headers are parts of this one compilation: view (arrays), named (dicts), interrupt (Ctrl-C), settings, turns
// (threads), learner, turn, fleet.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>

#include "arithmetic.hpp"
#include "fleet.hpp"
#include "keys.hpp"
#include "learner.hpp"
#include "settings.hpp"
#include "text.hpp"
#include "turn.hpp"
#include "view.hpp"

using namespace nb::literals;

namespace pocketkernel::binding {

thread_local Watch* Watch::current = nullptr;

namespace {

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

// Arithmetic for Python's own numbers, such as a learner's parameters, in a `with` statement.
struct UsualArithmetic {
    std::optional<Arithmetic> arithmetic;
    void enter() { arithmetic.emplace(); }
    void leave(nb::handle, nb::handle, nb::handle) { arithmetic.reset(); }
};

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
    const WithoutGil release;
    return table.bare_pass(rows, stored, block.get(), size);
}

}  // namespace
}  // namespace pocketkernel::binding

NB_MODULE(_core, m) {
    using namespace pocketkernel::binding;
    m.doc() = "Compiled core of pocketkernel.";
    // A process that is interrupted ends with objects alive, in frames of other threads or of a traceback. That is no
    // leak, but nanobind would end its output with a list of them.
    nb::set_leak_warnings(false);
    Turns::count_forks();
    Interpreter::watch_its_end();
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
    m.def("bare_pass", bare_pass, "x"_a, "columns"_a.none(), "starts"_a.none(), "features"_a, "stored"_a, "doubles"_a,
          "level"_a);
    add_keys(m);
    add_text(m);

    nb::class_<UsualArithmetic>(m, "Arithmetic")
        .def(nb::init<>())
        .def("__enter__", &UsualArithmetic::enter)
        .def("__exit__", &UsualArithmetic::leave, nb::arg().none(), nb::arg().none(), nb::arg().none());

    nb::class_<Settings>(m, "Settings")
        .def(nb::init<>())
        .def("add_kernel", &Settings::add_kernel, "family"_a, "parameter"_a, "order"_a = 1)
        .def("set_name", &Settings::set_name, "field"_a, "name"_a)
        .def("set_number", &Settings::set_number, "name"_a, "value"_a);

    nb::class_<PyLearner>(m, "Learner")
        .def(nb::init<const std::string&, bool, const std::string&, const Settings&>(), "learner"_a, "doubles"_a,
             "level"_a, "settings"_a)
        .def_prop_ro("nbytes", &PyLearner::nbytes)
        .def_prop_ro("scratch_bytes", &PyLearner::scratch_bytes)
        .def_prop_ro("fault", &PyLearner::fault)
        .def_prop_rw("learned", &PyLearner::learned, &PyLearner::set_learned)
        .def("set_labels", &PyLearner::set_labels, "classes"_a)
        .def("learn_dense", &PyLearner::learn_dense, "x"_a, "y"_a.none(), "weights"_a.none(), "scores"_a.none(),
             "labels"_a = nb::none(), "linear"_a = nb::none(), "answers"_a = nb::none(), "apart"_a = nb::none())
        .def("learn_sparse", &PyLearner::learn_sparse, "values"_a, "columns"_a, "starts"_a, "y"_a, "weights"_a.none(),
             "scores"_a.none(), "labels"_a = nb::none(), "linear"_a = nb::none(), "answers"_a = nb::none(),
             "apart"_a = nb::none())
        .def("score_dense", &PyLearner::score_dense, "x"_a, "scores"_a, "threads"_a, "continues"_a = true)
        .def("score_sparse", &PyLearner::score_sparse, "values"_a, "columns"_a, "starts"_a, "scores"_a, "threads"_a,
             "continues"_a = true)
        .def("learn_named", &PyLearner::learn_named, "columns"_a, "shared"_a, "features"_a, "y"_a, "weights"_a.none())
        .def("score_named", &PyLearner::score_named, "columns"_a, "shared"_a, "features"_a)
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

    nb::class_<PyTurn>(m, "Turn")
        .def(nb::init<nb::object, bool>(), "owner"_a, "changing"_a)
        .def("__enter__", &PyTurn::enter)
        .def("__exit__", &PyTurn::exit, nb::arg().none(), nb::arg().none(), nb::arg().none());

    nb::class_<PyFleet>(m, "Fleet")
        .def(nb::init<const std::string&, bool, const std::string&, const Settings&, bool>(), "learner"_a, "doubles"_a,
             "level"_a, "settings"_a, "balanced"_a)
        .def_prop_ro("nbytes", &PyFleet::nbytes)
        .def_prop_ro("fault", &PyFleet::fault)
        .def_prop_rw("learned", &PyFleet::learned, &PyFleet::set_learned)
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
        .def("score_dense", &PyFleet::score_dense, "slots"_a, "x"_a, "scores"_a, "threads"_a, "continues"_a = true)
        .def("score_sparse", &PyFleet::score_sparse, "slots"_a, "values"_a, "columns"_a, "starts"_a, "scores"_a,
             "threads"_a, "continues"_a = true)
        .def("save", &PyFleet::save_slot, "slot"_a)
        .def("load", &PyFleet::load_slot, "slot"_a, "state"_a, "counts"_a)
        .def("counts", &PyFleet::counts, "slot"_a)
        .def("read", &PyFleet::read, "slots"_a, "states"_a)
        .def("write", &PyFleet::write, "slots"_a, "states"_a)
        .def("tallies", &PyFleet::tallies, "slots"_a, "out"_a);
}
