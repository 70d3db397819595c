// fill: a dict of features as a row.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace nb = nanobind;

namespace pocketkernel::binding {
namespace {

// Writes the values of a dict of features into a row of numbers, zeros elsewhere. A name in `columns` has its own
// column; a name with k + 1 in `shared` is added to column k, one with -(k + 1) is subtracted from it, but not if it is
// NaN. Returns how many values were shared; -1 if a name is in neither, two shared values fall into one column (their
// order would matter), or a value is not a number. The row is then partly written.
int fill(const nb::dict& columns, const nb::dict& shared, const nb::dict& features, double* values, std::size_t width) {
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
        if (number != number) continue;  // what is missing adds nothing
        if (count == 16) return -1;
        for (int other = 0; other < count; ++other)
            if (shares[other].column == at) return -1;
        shares[count++] = {at, k < 0 ? -number : number};
    }
    for (int other = 0; other < count; ++other) values[shares[other].column] += shares[other].value;
    return count;
}

}  // namespace
}  // namespace pocketkernel::binding
