// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/load_vendor.h"

#include <c10/util/Exception.h>

#include <optional>

#include "core/loader/operator_library.h"
#include "core/runtime/vendor.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/aten/registration.h"
#include "diopi_adapter/runtime/call.h"
#include "diopi_adapter/runtime/registration.h"

namespace dipu::adapter {
namespace {

std::optional<loader::OperatorLibrary> openOperators(
    const std::string& path, const std::string& runtime_library) {
  try {
    const loader::Library vendor = loader::Library::open(path);
    if (vendor.operators() == nullptr) return std::nullopt;
    return loader::OperatorLibrary::openFor(vendor, runtime_library);
  } catch (const loader::LoadError& error) {
    TORCH_CHECK(false, error.what());
  }
}

}  // namespace

void loadVendor(const std::string& path, const std::string& runtime_library) {
  // First what can fail, so that a vendor is served whole or not at all.
  const auto operators = openOperators(path, runtime_library);
  runtime::loadVendor(path);
  if (operators.has_value()) {
    for (const std::string& warning : operators->warnings()) {
      TORCH_WARN(warning);
    }
    fillSymbolTable(*operators);
    dipu_diopi_rt_install(&runtimeHost());
    registerOperators();
  }
  aten::registerAtenKernels();
}

}  // namespace dipu::adapter
