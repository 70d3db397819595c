// Keys of a fleet for the Python module: see keys.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace pocketkernel::binding {

void add_keys(nanobind::module_& m);

}  // namespace pocketkernel::binding
