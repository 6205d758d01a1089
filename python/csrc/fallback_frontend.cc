// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/fallback_frontend.h"

#include <string>
#include <utility>

#include "diopi_adapter/fallback/accounting.h"
#include "python/csrc/finalization.h"

namespace dipu::python {
namespace {

struct Functions {
  pybind11::function line;
  pybind11::function allows;
};

// Guarded by the interpreter's lock. Never destroyed: no interpreter may be
// left then.
Functions& functions() {
  static auto* const instance = new Functions;
  return *instance;
}

std::string line() {
  if (isFinalizing()) return "";
  const pybind11::gil_scoped_acquire gil;
  return functions().line().cast<std::string>();
}

bool allows(const std::string& label) {
  if (isFinalizing()) return false;
  const pybind11::gil_scoped_acquire gil;
  return functions().allows(label).cast<bool>();
}

}  // namespace

void setFallbackFrontend(pybind11::function line_of_caller,
                         pybind11::function allows_operator) {
  functions() = {std::move(line_of_caller), std::move(allows_operator)};
  fallback::setFrontend({&line, &allows});
}

}  // namespace dipu::python
