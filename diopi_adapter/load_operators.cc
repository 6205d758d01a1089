// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/load_operators.h"

#include <c10/util/Exception.h>

#include "core/loader/operator_library.h"
#include "core/runtime/vendor.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/aten/registration.h"
#include "diopi_adapter/runtime/call.h"
#include "diopi_adapter/runtime/registration.h"

namespace dipu::adapter {
namespace {

void resolveOperators(const loader::Library& vendor,
                      const std::string& runtime_library) {
  try {
    const auto library =
        loader::OperatorLibrary::openFor(vendor, runtime_library);
    for (const std::string& warning : library.warnings()) TORCH_WARN(warning);
    fillSymbolTable(library);
  } catch (const loader::LoadError& error) {
    TORCH_CHECK(false, error.what());
  }
  dipu_diopi_rt_install(&runtimeHost());
  registerOperators();
}

}  // namespace

void loadOperators(const std::string& runtime_library) {
  const loader::Library& vendor = runtime::vendorLibrary();
  if (vendor.operators() != nullptr) {
    resolveOperators(vendor, runtime_library);
  }
  aten::registerAtenKernels();
}

}  // namespace dipu::adapter
