// Readers of text for the Python module: see text.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pocketkernel::binding {

void add_text(nanobind::module_& m);

}  // namespace pocketkernel::binding
