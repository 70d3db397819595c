// Parses chunks of LIBSVM and delimited text into arrays, as many complete rows as fit into the caller's arrays.
// Reads no files, ignores the locale, keeps nothing between calls. Stops at the first malformed row and reports it.
#include "text.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace pocketkernel::binding {
namespace {

template <class T, std::size_t Dimensions>
using Out = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

// The result of a call. Positions are offsets into the chunk; lines are counted from its start.
struct Parsed {
    std::size_t rows = 0;
    std::size_t end = 0;         // where the next call begins; at a fault, where the faulty row begins
    std::size_t lines = 0;       // lines before `end`
    const char* fault = "";      // what is wrong with the row at `end`, or nothing
    std::size_t at = 0;          // where the fault is
    std::size_t detail = 0;      // number of the field, or of fields
    std::size_t next = 0;        // where the row after the faulty one begins
    std::size_t next_lines = 0;  // lines before `next`
};

struct Chunk {
    const char* begin;
    const char* end;
    bool final;  // no text follows: a last line without a newline is complete

    Chunk(const nb::bytes& text, bool is_final)
        : begin(text.c_str()), end(text.c_str() + text.size()), final(is_final) {}
    const char* from(std::size_t start) const { return begin + std::min(start, static_cast<std::size_t>(end - begin)); }
    std::size_t place(const char* p) const { return static_cast<std::size_t>(p - begin); }
};

// ---- numbers --------------------------------------------------------------------------------------------------------

// For numbers that std::from_chars reports as too large or too small, and for libraries that have it for integers only.
const char* read_slowly(const char* p, const char* end, double& value) {
    while (end != p && !std::strchr("0123456789.eE+-", end[-1])) --end;
    const std::string copy(p, end);
    char* stopped = nullptr;
    value = PyOS_string_to_double(copy.c_str(), &stopped, nullptr);
    if (PyErr_Occurred()) PyErr_Clear();
    return p + (stopped - copy.c_str());
}

// Reads a finite number with an optional sign; returns where it ends, or null if there is none.
const char* read_number(const char* p, const char* end, double& value) {
    if (p != end && *p == '+' && ++p != end && *p == '-') return nullptr;
    const char* stopped = p;
#if defined(__cpp_lib_to_chars)
    const auto [next, error] = std::from_chars(p, end, value);
    if (error == std::errc::invalid_argument) return nullptr;
    stopped = error == std::errc() ? next : read_slowly(p, next, value);
#else
    const char* token = p;
    while (token != end && std::strchr("0123456789.eE+-", *token) && *token) ++token;
    stopped = read_slowly(p, token, value);
    if (stopped == p) return nullptr;
#endif
    return std::isfinite(value) ? stopped : nullptr;
}

// The same for a whole field with typographic minus signs (U+2212), as they come from word processors and the web.
bool read_typographic(const char* p, const char* end, double& value) {
    constexpr char minus[] = "\xe2\x88\x92";
    const char* found = std::search(p, end, minus, minus + 3);
    if (found == end) return false;
    std::string plain;
    plain.reserve(static_cast<std::size_t>(end - p));
    for (; found != end; p = found + 3, found = std::search(p, end, minus, minus + 3)) plain.append(p, found) += '-';
    plain.append(p, end);
    const char* const last = plain.data() + plain.size();
    return read_number(plain.data(), last, value) == last;
}

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

const char* line_end(const char* p, const char* end) {
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
    return found ? static_cast<const char*>(found) : end;
}

// ---- LIBSVM ---------------------------------------------------------------------------------------------------------

constexpr std::size_t largest_column = std::numeric_limits<std::int32_t>::max();

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_token_end(const char* p, const char* end) { return p == end || is_blank(*p) || *p == '#'; }

struct SparseRow {
    double label = 0.0;
    std::size_t stored = 0;
    std::size_t last = 0;  // largest column, from 1
    bool empty = true;     // a line without a row
    const char* fault = "";
    const char* at = nullptr;
};

// One line, without its newline. If columns and values are null, the line is only checked.
SparseRow read_libsvm_line(const char* p, const char* end, std::size_t width, std::int32_t* columns, double* values) {
    SparseRow row;
    const auto failed = [&row](const char* what, const char* where) {
        row.fault = what;
        row.at = where;
        return row;
    };
    while (p != end && is_blank(*p)) ++p;
    if (p == end || *p == '#') return row;
    row.empty = false;
    const char* next = read_number(p, end, row.label);
    if (!next || !is_token_end(next, end)) return failed("label", p);
    for (p = next;;) {
        while (p != end && is_blank(*p)) ++p;
        if (p == end || *p == '#') return row;
        const char* const token = p;
        std::size_t column = 0;
        for (; p != end && is_digit(*p) && column <= largest_column; ++p)
            column = 10 * column + static_cast<std::size_t>(*p - '0');
        if (p == token) return failed(end - p > 4 && std::memcmp(p, "qid:", 4) == 0 ? "qid" : "index", p);
        if (column == 0) return failed("index", token);
        if (column > width) return failed("range", token);
        if (p == end || *p != ':') return failed("colon", p);
        if (column <= row.last) return failed("order", token);
        ++p;
        double value = 0.0;
        if (p != end && is_digit(*p) && is_token_end(p + 1, end)) {  // sparse files are full of ones
            value = *p - '0';
            next = p + 1;
        } else {
            next = read_number(p, end, value);
        }
        if (!next || !is_token_end(next, end)) return failed("value", p);
        if (columns) {
            columns[row.stored] = static_cast<std::int32_t>(column - 1);
            values[row.stored] = value;
        }
        ++row.stored;
        row.last = column;
        p = next;
    }
}

constexpr std::size_t shortest_entry = 4;  // bytes: a space, a digit, a colon, a digit

Parsed parse_libsvm(const nb::bytes& text, std::size_t start, bool final, std::size_t width, Out<double, 1> labels,
                    Out<std::int32_t, 1> columns, Out<double, 1> values, Out<std::int64_t, 1> starts,
                    Out<std::int64_t, 1> lines) {
    const Chunk chunk(text, final);
    const std::size_t room = labels.size();
    if (starts.size() != room + 1 || lines.size() != room || columns.size() != values.size() ||
        values.size() < text.size() / shortest_entry + 1)
        throw nb::value_error("expected arrays of matching lengths, with one entry for every 4 bytes of text");
    if (width == 0 || width > largest_column) width = largest_column;
    Parsed done;
    std::size_t stored = 0;
    starts.data()[0] = 0;
    const char* p = chunk.from(start);
    while (p != chunk.end && done.rows != room) {
        const char* const end = line_end(p, chunk.end);
        if (end == chunk.end && !final) break;
        const char* const next = end == chunk.end ? end : end + 1;
        const SparseRow row = read_libsvm_line(p, end, width, columns.data() + stored, values.data() + stored);
        if (*row.fault) {
            done.fault = row.fault;
            done.at = chunk.place(row.at);
            done.detail = row.last;
            done.next = chunk.place(next);
            done.next_lines = done.lines + 1;
            break;
        }
        if (!row.empty) {
            stored += row.stored;
            labels.data()[done.rows] = row.label;
            lines.data()[done.rows] = static_cast<std::int64_t>(done.lines);
            starts.data()[++done.rows] = static_cast<std::int64_t>(stored);
        }
        ++done.lines;
        p = next;
    }
    done.end = chunk.place(p);
    return done;
}

// Largest column of the well-formed lines, and where the last complete line ends. As columns are ascending, a line is
// parsed only if its last column is larger than the largest so far.
nb::tuple libsvm_width(const nb::bytes& text, std::size_t start, bool final) {
    const Chunk chunk(text, final);
    std::size_t width = 0;
    const char* p = chunk.from(start);
    while (p != chunk.end) {
        const char* const end = line_end(p, chunk.end);
        if (end == chunk.end && !final) break;
        const void* comment = std::memchr(p, '#', static_cast<std::size_t>(end - p));
        const char* q = comment ? static_cast<const char*>(comment) : end;
        while (q != p && *(q - 1) != ':') --q;
        if (q != p) --q;
        std::size_t column = 0;
        for (std::size_t power = 1; q != p && is_digit(*(q - 1)) && column <= largest_column; power *= 10, --q)
            column += power * static_cast<std::size_t>(*(q - 1) - '0');
        if (column > width) {
            const SparseRow row = read_libsvm_line(p, end, largest_column, nullptr, nullptr);
            if (!*row.fault) width = row.last;
        }
        p = end == chunk.end ? end : end + 1;
    }
    return nb::make_tuple(width, chunk.place(p));
}

// ---- delimited text -------------------------------------------------------------------------------------------------

struct Field {
    const char* begin;
    const char* end;
    bool quoted;
    bool doubled;  // contains a quote, written as two quotes
};

struct Record {
    const char* fault = "";
    const char* at = nullptr;
    const char* next = nullptr;  // null: the chunk ends before the record does
    std::size_t lines = 0;
    const char* open = nullptr;  // quote of the first field of several lines

    // Ends the record with its first line: the quotes of those that follow may not belong to it.
    void cut(const char* begin, const Chunk& chunk) {
        next = std::min(line_end(begin, chunk.end) + 1, chunk.end);
        lines = 1;
    }
};

// How a line is cut into fields: by a sign, or by so many blanks or more, as columns are aligned.
struct Cut {
    char delimiter = ',';
    char quote = '"';
    std::size_t blanks = 0;  // 0: by the delimiter

    Cut(const std::string& delimiter_text, const std::string& quote_text) {
        const bool aligned = delimiter_text == " " || delimiter_text == "  ";
        if ((delimiter_text.size() != 1 && !aligned) || quote_text.size() != 1)
            throw nb::value_error("expected a delimiter of one byte, or of one or two spaces, and a quote of one byte");
        delimiter = aligned ? '\0' : delimiter_text[0];
        quote = quote_text[0];
        blanks = aligned ? delimiter_text.size() : 0;
    }
};

bool is_space(char c, char delimiter) { return (c == ' ' || c == '\t' || c == '\r') && c != delimiter; }

// Where a field without quotes ends that begins at `p`: at a delimiter, or at the end of the line or of the chunk.
const char* field_end(const char* p, const char* end, const Cut& cut) {
    if (cut.blanks == 0) {
        while (p != end && *p != cut.delimiter && *p != '\n') ++p;
        return p;
    }
    for (; p != end && *p != '\n'; ++p) {
        if (*p == '\t') return p;
        if (*p == ' ' && (cut.blanks == 1 || p + 1 == end || is_space(p[1], '\0') || p[1] == '\n')) return p;
    }
    return p;
}

// A row of several lines has at most this many bytes: if a quote is not closed by then, it is a stray one.
constexpr std::ptrdiff_t longest_row = 16 << 20;

// Reads a record; `columns` is 0 if it may have any number of fields. If its quotes cannot be paired, or if it has
// several lines and not the right number of fields, it is faulty and ends with its first line: a stray quote costs no
// other row. Time is linear in the size of a file: a line that leaves a quote open has one that would close an earlier
// one, and not more fields than columns are looked for. (One more: R writes row names without a name of their own.)
Record read_record(const char* const begin, const Chunk& chunk, const Cut& cut, std::size_t columns,
                   std::vector<Field>& fields) {
    Record record;
    fields.clear();
    const auto unpaired = [&](const char* quote) {
        record.fault = "unclosed";
        record.at = quote;
        record.cut(begin, chunk);
        return record;
    };
    for (const char* p = begin;;) {
        while (p != chunk.end && is_space(*p, cut.delimiter)) ++p;
        Field field{p, p, false, false};
        if (p != chunk.end && *p == cut.quote) {
            const char* const quote = p;
            field.quoted = true;
            field.begin = ++p;
            for (;; ++p) {
                const bool too_long = record.open && p - record.open > longest_row;
                if (p == chunk.end || too_long) {
                    if (!chunk.final && !too_long) return record;
                    return unpaired(record.open ? record.open : quote);
                }
                if (*p == '\n') {
                    ++record.lines;
                    if (!record.open) record.open = quote;
                }
                if (*p != cut.quote) continue;
                if (p + 1 == chunk.end && !chunk.final) return record;
                if (p + 1 == chunk.end || *(p + 1) != cut.quote) break;
                field.doubled = true;
                ++p;
            }
            field.end = p++;
            while (p != chunk.end && is_space(*p, cut.delimiter)) ++p;
            const bool followed = cut.blanks != 0 && p != field.end + 1;
            if (p != chunk.end && *p != cut.delimiter && *p != '\n' && !followed) {
                if (record.open) return unpaired(record.open);
                record.fault = "quote";
                record.at = p;
                p = line_end(p, chunk.end);
            }
        } else {
            field.end = p = field_end(p, chunk.end, cut);
            while (field.end != field.begin && is_space(*(field.end - 1), cut.delimiter)) --field.end;
        }
        fields.push_back(field);
        if (record.open && columns && fields.size() > columns + 1) return unpaired(record.open);
        if (cut.blanks != 0) {
            while (p != chunk.end && is_space(*p, '\0')) ++p;
            if (p != chunk.end && *p != '\n') continue;
        } else if (p != chunk.end && *p == cut.delimiter) {
            ++p;
            continue;
        }
        if (p == chunk.end && !chunk.final) return record;
        ++record.lines;
        record.next = p == chunk.end ? p : p + 1;
        const bool blank = fields.size() == 1 && !field.quoted && field.begin == field.end;
        if (!*record.fault && !blank && fields.size() != columns) {
            record.fault = "fields";
            record.at = begin;
            if (record.open && columns) record.cut(begin, chunk);
        }
        return record;
    }
}

// Where the last complete record ends. If there is a newline after it, a quote is open there.
std::size_t delimited_end(const nb::bytes& text, std::size_t start, const std::string& delimiter, std::size_t columns,
                          const std::string& quote) {
    const Chunk chunk(text, false);
    const Cut cut(delimiter, quote);
    std::vector<Field> fields;
    const char* p = chunk.from(start);
    for (const char* next = p; next; p = next ? next : p) next = read_record(p, chunk, cut, columns, fields).next;
    return chunk.place(p);
}

bool stands_for_missing(const Field& field) {
    const auto size = static_cast<std::size_t>(field.end - field.begin);
    if (size == 0) return true;
    if (size > 7) return false;
    for (const char* word : {"na", "n/a", "nan", "null", "(null)", "\\n", "none", "?", "-", "--", "#n/a", "<na>",
                             "#ref!", "#div/0!", "#value!", "#num!", "#name?", "#null!"}) {
        std::size_t k = 0;
        while (k < size && word[k] && (field.begin[k] == word[k] || field.begin[k] + ('a' - 'A') == word[k])) ++k;
        if (k == size && !word[k]) return true;
    }
    return false;
}

// `kinds` has a letter for every column: n for a number, t for text, - to skip it; none: any number of columns, which
// is reported as the fault "fields". Numbers go to `numbers`, missing ones as NaN. The start and end of text go to
// `spans`; the end is negative if the text has doubled quotes.
Parsed parse_delimited(const nb::bytes& text, std::size_t start, bool final, const std::string& delimiter,
                       const std::string& kinds, Out<double, 2> numbers, Out<std::int64_t, 3> spans,
                       Out<std::int64_t, 1> lines, const std::string& quote) {
    const Chunk chunk(text, final);
    const std::size_t room = lines.size();
    const auto number_count = static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), 'n'));
    const auto text_count = static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), 't'));
    const Cut cut(delimiter, quote);
    if (numbers.shape(0) != room || numbers.shape(1) != number_count || spans.shape(0) != room ||
        spans.shape(1) != text_count || spans.shape(2) != 2)
        throw nb::value_error("expected arrays that match the kinds and each other");
    Parsed done;
    std::vector<Field> fields;
    fields.reserve(kinds.size());
    const char* p = chunk.from(start);
    while (p != chunk.end && done.rows != room) {
        Record record = read_record(p, chunk, cut, kinds.size(), fields);
        if (!record.next) break;
        const bool blank = fields.size() == 1 && !fields[0].quoted && fields[0].begin == fields[0].end;
        if (!*record.fault && !blank) {
            double* number = numbers.data() + done.rows * number_count;
            std::int64_t* span = spans.data() + done.rows * text_count * 2;
            for (std::size_t k = 0; k != kinds.size() && !*record.fault; ++k) {
                Field& field = fields[k];
                if (kinds[k] == 't') {
                    const auto last = static_cast<std::int64_t>(chunk.place(field.end));
                    *span++ = static_cast<std::int64_t>(chunk.place(field.begin));
                    *span++ = field.doubled ? -last : last;
                } else if (kinds[k] == 'n') {
                    while (field.begin != field.end && is_space(*field.begin, '\0')) ++field.begin;  // within quotes
                    while (field.begin != field.end && is_space(*(field.end - 1), '\0')) --field.end;
                    if (stands_for_missing(field)) {
                        *number = std::numeric_limits<double>::quiet_NaN();
                    } else if (read_number(field.begin, field.end, *number) != field.end &&
                               !read_typographic(field.begin, field.end, *number)) {
                        record.fault = "number";
                        record.at = field.begin;
                        done.detail = k;
                        if (std::find(field.begin, field.end, '\n') != field.end) record.cut(p, chunk);
                    }
                    ++number;
                }
            }
            if (!*record.fault) lines.data()[done.rows++] = static_cast<std::int64_t>(done.lines);
        }
        if (*record.fault) {
            done.fault = record.fault;
            done.at = chunk.place(record.at);
            if (std::strcmp(record.fault, "fields") == 0) done.detail = fields.size();
            done.next = chunk.place(record.next);
            done.next_lines = done.lines + record.lines;
            break;
        }
        done.lines += record.lines;
        p = record.next;
    }
    done.end = chunk.place(p);
    return done;
}

}  // namespace

void add_text(nb::module_& m) {
    nb::class_<Parsed>(m, "Parsed")
        .def_ro("rows", &Parsed::rows)
        .def_ro("end", &Parsed::end)
        .def_ro("lines", &Parsed::lines)
        .def_prop_ro("fault", [](const Parsed& p) { return std::string(p.fault); })
        .def_ro("at", &Parsed::at)
        .def_ro("detail", &Parsed::detail)
        .def_ro("next", &Parsed::next)
        .def_ro("next_lines", &Parsed::next_lines);
    m.def("parse_libsvm", parse_libsvm, "text"_a, "start"_a, "final"_a, "width"_a, "labels"_a.noconvert(),
          "columns"_a.noconvert(), "values"_a.noconvert(), "starts"_a.noconvert(), "lines"_a.noconvert(),
          "Reads complete lines of LIBSVM text into arrays, as many as fit.");
    m.def("libsvm_width", libsvm_width, "text"_a, "start"_a, "final"_a,
          "(largest column, position where the last complete line ends) of LIBSVM text.");
    m.def("parse_delimited", parse_delimited, "text"_a, "start"_a, "final"_a, "delimiter"_a, "kinds"_a,
          "numbers"_a.noconvert(), "spans"_a.noconvert(), "lines"_a.noconvert(), "quote"_a = "\"",
          "Reads complete records of delimited text into arrays, as many as fit.");
    m.def("delimited_end", delimited_end, "text"_a, "start"_a, "delimiter"_a, "columns"_a, "quote"_a = "\"",
          "Position where the last complete record of delimited text ends.");
}

}  // namespace pocketkernel::binding
