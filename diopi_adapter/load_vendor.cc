// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/load_vendor.h"

#include <c10/util/Exception.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/loader/operator_library.h"
#include "core/runtime/vendor.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/aten/registration.h"
#include "diopi_adapter/conversion/convert_functions.h"
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

// What the functions of the vendor at `path` lack; nothing when it does not
// say.
conversion::Rules readRules(const std::string& path,
                            const VendorOptions& options) {
  constexpr char kTable[] = "diopi_conversions.tsv";
  const bool named = !options.conversions.empty();
  const std::filesystem::path table =
      named ? std::filesystem::path(options.conversions)
            : std::filesystem::path(path).parent_path() / kTable;
  std::ifstream file(table, std::ios::binary);
  if (!file || std::filesystem::is_directory(table)) {
    TORCH_CHECK(!named, "DIPU_CONVERSIONS names ", table.string(),
                ", which cannot be read");
    return {};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return conversion::parseRules(text, table.string());
  } catch (const conversion::RulesError& error) {
    TORCH_CHECK(false, error.what());
  }
}

}  // namespace

void loadVendor(const std::string& path, const VendorOptions& options) {
  // First what can fail, so that a vendor is served whole or not at all.
  const auto operators = openOperators(path, options.runtime_library);
  const conversion::Rules rules = readRules(path, options);
  runtime::loadVendor(path);
  if (operators.has_value()) {
    for (const std::string& warning : operators->warnings()) {
      TORCH_WARN(warning);
    }
    fillSymbolTable(*operators);
    conversion::convertFunctions(rules, options.check_conversions,
                                 detail::g_symbols);
    dipu_diopi_rt_install(&runtimeHost());
    registerOperators();
  }
  aten::registerAtenKernels();
}

}  // namespace dipu::adapter
