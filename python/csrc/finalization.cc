// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/finalization.h"

#include <Python.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

namespace dipu::python {
namespace {

std::terminate_handler previous_handler = nullptr;

// An unwinding that is no exception has no current exception.
[[noreturn]] void onTerminate() {
  while (isFinalizing() && std::current_exception() == nullptr) pause();
  if (previous_handler != nullptr) previous_handler();
  std::abort();
}

}  // namespace

bool isFinalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void parkThreadsAtFinalization() {
  if (previous_handler == nullptr) {
    previous_handler = std::set_terminate(onTerminate);
  }
}

}  // namespace dipu::python
