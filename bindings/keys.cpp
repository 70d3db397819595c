// Keys of rows as bytes, without a Python object for each, and the table that gives each key its slot.
#include "keys.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key_table.hpp"
#include "pocketkernel/wire.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace pocketkernel::binding {
namespace {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// ---- keys of rows ---------------------------------------------------------------------------------------------------

// Keys of one kind, one behind the other: int as 8 bytes each, str as UTF-8.
class KeyColumn {
  public:
    enum Kind : char { none = 0, integer = 'i', text = 's', raw = 'b' };

    KeyColumn() = default;
    explicit KeyColumn(Kind kind) : kind_(kind) {}

    static Kind kind_named(const std::string& name) {
        if (name == "int") return integer;
        if (name == "str") return text;
        if (name == "bytes") return raw;
        throw nb::value_error("a key is int, str or bytes");
    }
    const char* kind() const {
        return kind_ == integer ? "int" : kind_ == text ? "str" : kind_ == raw ? "bytes" : nullptr;
    }
    KeyColumn empty_like() const { return KeyColumn(kind_); }
    bool is_like(const KeyColumn& other) const { return kind_ == other.kind_; }
    std::size_t size() const { return kind_ == integer ? data_.size() / 8 : ends_.size(); }
    std::string_view operator[](std::size_t n) const {
        if (kind_ == integer) return {data_.data() + 8 * n, 8};
        const std::size_t begin = n == 0 ? 0 : ends_[n - 1];
        return {data_.data() + begin, ends_[n] - begin};
    }
    void add(std::string_view key) {
        data_.append(key);
        if (kind_ != integer) ends_.push_back(data_.size());
    }

    // False if the object is not a plain int, str or bytes, or not of the same kind as those before.
    bool add(nb::handle key) {
        PyObject* object = key.ptr();
        const Kind kind = PyUnicode_CheckExact(object) ? text
                          : PyLong_CheckExact(object)  ? integer
                          : PyBytes_CheckExact(object) ? raw
                                                       : none;
        if (kind_ == none) kind_ = kind;
        if (kind == none || kind != kind_) return false;
        if (kind == integer) {
            int overflow = 0;
            const std::int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
            if (overflow != 0)
                throw nb::value_error("keys holds an integer beyond 64 bits: use str keys for such numbers.");
            data_.append(reinterpret_cast<const char*>(&number), sizeof number);
            return true;
        }
        if (kind == raw) {
            add(std::string_view(PyBytes_AsString(object), static_cast<std::size_t>(PyBytes_Size(object))));
            return true;
        }
        Py_ssize_t length = 0;
        if (const char* utf8 = PyUnicode_AsUTF8AndSize(object, &length)) {
            add(std::string_view(utf8, static_cast<std::size_t>(length)));
            return true;
        }
        PyErr_Clear();  // half of a surrogate pair
        const nb::bytes encoded = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass"));
        if (!encoded.is_valid()) throw nb::python_error();
        add(std::string_view(encoded.c_str(), encoded.size()));
        return true;
    }

    static std::optional<KeyColumn> of_list(const nb::list& keys) {
        KeyColumn column;
        for (const nb::handle key : keys)
            if (!column.add(key)) return std::nullopt;
        return column;
    }
    static KeyColumn of_integers(const Numbers& keys) {
        KeyColumn column(integer);
        column.data_.assign(reinterpret_cast<const char*>(keys.data()), keys.shape(0) * 8);
        return column;
    }
    // Key n is data[starts[n]:starts[n + 1]].
    static KeyColumn of_spans(const std::string& kind, const nb::bytes& data, const Numbers& starts) {
        KeyColumn column(kind_named(kind));
        for (std::size_t n = 0; n + 1 < starts.shape(0); ++n) {
            const std::int64_t begin = starts.data()[n], end = starts.data()[n + 1];
            if (begin < 0 || end < begin || static_cast<std::size_t>(end) > data.size() || column.kind_ == integer)
                throw nb::value_error("impossible spans of keys");
            column.add(std::string_view(data.c_str() + begin, static_cast<std::size_t>(end - begin)));
        }
        return column;
    }

    // The first keys as bytes: int in 8 bytes each; others as their lengths, in 4 bytes each, then themselves.
    nb::bytes encoded(std::size_t count) const {
        if (count > size()) throw nb::value_error("fewer keys than there should be");
        std::string bytes;
        if (kind_ == integer) {
            bytes = data_.substr(0, 8 * count);
            if constexpr (big_endian) swap_words(reinterpret_cast<unsigned char*>(bytes.data()), 8 * count, 8);
            return nb::bytes(bytes.data(), bytes.size());
        }
        for (std::size_t n = 0; n < count; ++n)
            for (int byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<char>((*this)[n].size() >> (8 * byte)));
        bytes.append(data_, 0, count == 0 ? 0 : ends_[count - 1]);
        return nb::bytes(bytes.data(), bytes.size());
    }
    static KeyColumn decoded(const nb::bytes& bytes, const std::string& kind, std::size_t count) {
        KeyColumn column(kind_named(kind));
        const auto* from = reinterpret_cast<const unsigned char*>(bytes.c_str());
        const std::size_t head = column.kind_ == integer ? 8 : 4;
        if (count > bytes.size() / head) throw nb::value_error("fewer keys than there should be");
        if (column.kind_ == integer) {
            column.data_.assign(bytes.c_str(), 8 * count);
            if constexpr (big_endian) swap_words(reinterpret_cast<unsigned char*>(column.data_.data()), 8 * count, 8);
        } else {
            std::size_t end = 0;
            for (std::size_t n = 0; n < count; ++n) {
                end += static_cast<std::size_t>(read_word(from + 4 * n, 4));
                column.ends_.push_back(end);
            }
            if (end <= bytes.size() - 4 * count) column.data_.assign(bytes.c_str() + 4 * count, end);
        }
        const std::size_t last = column.kind_ == integer || count == 0 ? column.data_.size() : column.ends_.back();
        if (head * count + (column.kind_ == integer ? 0 : last) != bytes.size())
            throw nb::value_error("keys of other lengths than there should be");
        if (column.kind_ == text) column.check_text();
        return column;
    }

    nb::object item(std::int64_t n) const {
        if (n < 0 || static_cast<std::size_t>(n) >= size()) throw nb::index_error("no such row");
        return as_python((*this)[static_cast<std::size_t>(n)]);
    }
    nb::object as_python(std::string_view key) const {
        const auto length = static_cast<Py_ssize_t>(key.size());
        std::int64_t number = 0;
        if (kind_ == integer) std::memcpy(&number, key.data(), sizeof number);
        PyObject* object = kind_ == integer ? PyLong_FromLongLong(number)
                           : kind_ == raw   ? PyBytes_FromStringAndSize(key.data(), length)
                                            : PyUnicode_DecodeUTF8(key.data(), length, "surrogatepass");
        if (!object) throw nb::python_error();
        return nb::steal(object);
    }

  private:
    // All keys are UTF-8 if all of them together are and none begins within a character.
    void check_text() const {
        PyObject* all = PyUnicode_DecodeUTF8(data_.data(), static_cast<Py_ssize_t>(data_.size()), "surrogatepass");
        bool good = all != nullptr;
        Py_XDECREF(all);
        PyErr_Clear();
        for (const std::size_t end : ends_)
            good = good && (end == data_.size() || (static_cast<unsigned char>(data_[end]) & 0xc0) != 0x80);
        if (!good) throw nb::value_error("keys that are not UTF-8");
    }

    Kind kind_ = none;
    std::string data_;
    std::vector<std::size_t> ends_;  // of the keys in it, unless all have the same length
};

// ---- the table ------------------------------------------------------------------------------------------------------

class Keys {
  public:
    std::size_t size() const { return table_.size(); }
    std::size_t nbytes() const { return table_.bytes(); }

    // The slot of each key, or `unknown`.
    void find(const KeyColumn& keys, const Out& slots, std::int64_t unknown) const {
        if (slots.shape(0) != keys.size()) throw nb::value_error("expected one slot for each key");
        std::string_view some[KeyTable::at_once];
        for (std::size_t first = 0; first < keys.size(); first += KeyTable::at_once) {
            const std::size_t count = std::min(KeyTable::at_once, keys.size() - first);
            for (std::size_t n = 0; n < count; ++n) some[n] = keys[first + n];
            table_.find(some, count, slots.data() + first);
        }
        for (std::size_t n = 0; n < keys.size(); ++n)
            if (slots.data()[n] == KeyTable::nowhere || !keys.is_like(like_)) slots.data()[n] = unknown;
    }
    std::optional<std::uint32_t> get(nb::handle key) const {
        KeyColumn one;
        if (!one.add(key) || !one.is_like(like_)) return std::nullopt;
        const std::uint32_t slot = table_.find(one[0]);
        return slot == KeyTable::nowhere ? std::nullopt : std::optional(slot);
    }
    bool contains(nb::handle key) const { return get(key).has_value(); }

    // Gives a key a slot; neither may have one yet.
    void put(nb::handle key, std::uint32_t slot) {
        KeyColumn one;
        if (!one.add(key)) throw nb::type_error("a key is int, str or bytes");
        put(one, 0, slot);
    }
    // Gives each key its slot; false, with some placed, if a key or a slot comes twice.
    bool place(const KeyColumn& keys, const Numbers& slots) {
        if (slots.shape(0) != keys.size()) throw nb::value_error("expected one slot for each key");
        for (std::size_t n = 0; n < keys.size(); ++n) {
            const std::int64_t slot = slots.data()[n];
            if (slot < 0 || slot >= KeyTable::nowhere) throw nb::value_error("impossible slot");
            if (table_.has(static_cast<std::uint32_t>(slot)) || table_.find(keys[n]) != KeyTable::nowhere) return false;
            put(keys, n, static_cast<std::uint32_t>(slot));
        }
        return true;
    }
    void remove(std::uint32_t slot) { table_.remove(known(slot)); }
    bool has(std::uint32_t slot) const { return table_.has(slot); }
    nb::object name(std::uint32_t slot) const { return like_.as_python(table_.key(known(slot))); }

    // All slots that have a key, and their keys, in the order of the slots.
    void slots(const Out& out) const {
        if (out.shape(0) != size()) throw nb::value_error("expected room for every slot");
        std::size_t n = 0;
        for (std::uint32_t slot = 0; slot < table_.slots(); ++slot)
            if (table_.has(slot)) out.data()[n++] = slot;
    }
    KeyColumn column() const { return column(0, KeyTable::nowhere); }
    // Keys of the slots from `first` to before `stop`, in the order of the slots.
    KeyColumn column(std::uint32_t first, std::uint32_t stop) const {
        KeyColumn some = like_;
        for (std::uint32_t slot = first; slot < end_of(stop); ++slot)
            if (table_.has(slot)) some.add(table_.key(slot));
        return some;
    }
    // Which of these slots have a key.
    std::vector<std::uint32_t> within(std::uint32_t first, std::uint32_t stop) const {
        std::vector<std::uint32_t> some;
        for (std::uint32_t slot = first; slot < end_of(stop); ++slot)
            if (table_.has(slot)) some.push_back(slot);
        return some;
    }

  private:
    std::uint32_t end_of(std::uint32_t stop) const {
        return std::min(stop, static_cast<std::uint32_t>(table_.slots()));
    }
    std::uint32_t known(std::uint32_t slot) const {
        if (!table_.has(slot)) throw nb::index_error("no key has this slot");
        return slot;
    }
    void put(const KeyColumn& keys, std::size_t n, std::uint32_t slot) {
        if (size() == 0) like_ = keys.empty_like();
        if (!keys.is_like(like_)) throw nb::value_error("keys of another kind");
        if (table_.has(slot) || table_.find(keys[n]) != KeyTable::nowhere)
            throw nb::value_error("the key or the slot is taken");
        table_.put(keys[n], slot);
    }

    KeyTable table_;
    KeyColumn like_;  // empty, of the kind of the keys
};

}  // namespace

void add_keys(nb::module_& m) {
    nb::class_<KeyColumn>(m, "KeyColumn", "Keys of rows, all of one kind.")
        .def_static("of_list", &KeyColumn::of_list, "keys"_a)
        .def_static("of_integers", &KeyColumn::of_integers, "keys"_a.noconvert())
        .def_static("of_spans", &KeyColumn::of_spans, "kind"_a, "data"_a, "starts"_a.noconvert())
        .def_static("decoded", &KeyColumn::decoded, "data"_a, "kind"_a, "count"_a)
        .def_prop_ro("kind", &KeyColumn::kind)
        .def("encoded", &KeyColumn::encoded, "count"_a)
        .def("__len__", &KeyColumn::size)
        .def("__getitem__", &KeyColumn::item, "row"_a)
        .def("__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); });
    nb::class_<Keys>(m, "Keys", "Which slot each key of a fleet has.")
        .def(nb::init<>())
        .def_prop_ro("nbytes", &Keys::nbytes)
        .def("find", &Keys::find, "keys"_a, "slots"_a.noconvert(), "unknown"_a)
        .def("get", &Keys::get, "key"_a.none())
        .def("put", nb::overload_cast<nb::handle, std::uint32_t>(&Keys::put), "key"_a, "slot"_a)
        .def("place", &Keys::place, "keys"_a, "slots"_a.noconvert())
        .def("remove", &Keys::remove, "slot"_a)
        .def("has", &Keys::has, "slot"_a)
        .def("name", &Keys::name, "slot"_a)
        .def("slots", &Keys::slots, "out"_a.noconvert())
        .def("within", &Keys::within, "first"_a, "stop"_a)
        .def("column", nb::overload_cast<>(&Keys::column, nb::const_))
        .def("column", nb::overload_cast<std::uint32_t, std::uint32_t>(&Keys::column, nb::const_), "first"_a, "stop"_a)
        .def("__len__", &Keys::size)
        .def("__contains__", &Keys::contains, "key"_a.none());
}

}  // namespace pocketkernel::binding
