// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/abi/function_names.h"

#include <algorithm>
#include <iterator>

namespace dipu::diopi {
namespace {

constexpr std::string_view kFunctions[] = {
#define DIOPI_SYMBOL(name) #name,
#include <diopi/symbols.inc>
};

}  // namespace

bool isFunction(std::string_view name) noexcept {
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) !=
         std::end(kFunctions);
}

}  // namespace dipu::diopi
