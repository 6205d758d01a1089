// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/load_vendor.h"

#include <c10/util/Exception.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "core/loader/operator_library.h"
#include "core/runtime/vendor.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/aten/registration.h"
#include "diopi_adapter/conversion/convert_functions.h"
#include "diopi_adapter/determinism/alert_functions.h"
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

// What the file says; nothing when there is none.
std::optional<std::string> readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The file `name` beside the library at `path`.
std::filesystem::path besideLibrary(const std::string& path, const char* name) {
  return std::filesystem::path(path).parent_path() / name;
}

// What the functions of the vendor at `path` lack; nothing when it does not
// say.
conversion::Rules readRules(const std::string& path,
                            const VendorOptions& options) {
  const bool named = !options.conversions.empty();
  const auto table = named ? std::filesystem::path(options.conversions)
                           : besideLibrary(path, "diopi_conversions.tsv");
  const auto text = readFile(table);
  TORCH_CHECK(text.has_value() || !named, "DIPU_CONVERSIONS names ",
              table.string(), ", which cannot be read");
  if (!text.has_value()) return {};
  try {
    return conversion::parseRules(*text, table.string());
  } catch (const conversion::RulesError& error) {
    TORCH_CHECK(false, error.what());
  }
}

// Which functions of the vendor at `path` do not repeat their results; none
// when it does not say.
determinism::Alerts readAlerts(const std::string& path) {
  const auto table = besideLibrary(path, "diopi_nondeterministic.tsv");
  try {
    return determinism::parseAlerts(readFile(table).value_or(""),
                                    table.string());
  } catch (const determinism::TableError& error) {
    TORCH_CHECK(false, error.what());
  }
}

}  // namespace

void loadVendor(const std::string& path, const VendorOptions& options) {
  // First what can fail, so that a vendor is served whole or not at all.
  const auto operators = openOperators(path, options.runtime_library);
  const conversion::Rules rules = readRules(path, options);
  const determinism::Alerts alerts = readAlerts(path);
  runtime::loadVendor(path);
  if (operators.has_value()) {
    for (const std::string& warning : operators->warnings()) {
      TORCH_WARN(warning);
    }
    fillSymbolTable(*operators);
    conversion::convertFunctions(rules, options.check_conversions,
                                 detail::g_symbols);
    determinism::alertFunctions(alerts, runtime::vendor().name,
                                detail::g_symbols);
    dipu_diopi_rt_install(&runtimeHost());
    registerOperators();
  }
  aten::registerAtenKernels();
}

}  // namespace dipu::adapter
