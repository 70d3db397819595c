// View: an array of Python as a span.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

namespace nb = nanobind;

namespace pocketkernel::binding {
namespace {

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

}  // namespace
}  // namespace pocketkernel::binding
