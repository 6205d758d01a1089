// SPDX-License-Identifier: Apache-2.0
//
// The process group in Python.
#pragma once

#include <pybind11/pybind11.h>

namespace dipu::python {

// Defines the functions. The classes derive from PyTorch's, which must have
// been imported, so `_define_process_group` defines them when they are needed.
void bindDistributed(pybind11::module_& m);

}  // namespace dipu::python
