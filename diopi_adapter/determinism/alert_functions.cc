// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/determinism/alert_functions.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <string_view>
#include <type_traits>

#include "diopi_adapter/abi/diopi_host.h"

namespace dipu::determinism {
namespace {

using adapter::SymbolTable;

// A listed function. Lives for ever.
struct Listed {
  std::string text;  // how messages begin
  bool floating_only;
};

bool isFloatingType(int32_t dtype) {
  switch (dtype) {
    case diopi_dtype_float16:
    case diopi_dtype_float32:
    case diopi_dtype_float64:
    case diopi_dtype_bfloat16:
    case diopi_dtype_complex32:
    case diopi_dtype_complex64:
    case diopi_dtype_complex128:
      return true;
    default:
      return false;
  }
}

// Whether an argument is a tensor of floating-point numbers, or a list whose
// first one is. What the function will make is none yet.
bool isFloating(diopiConstTensorHandle_t tensor) {
  return tensor != nullptr && isFloatingType(tensor->dtype);
}
template <typename Argument>
bool hasFloating(const Argument& argument) {
  if constexpr (std::is_convertible_v<Argument, diopiConstTensorHandle_t>) {
    return isFloating(argument);
  } else if constexpr (std::is_same_v<Argument, diopiTensorHandle_t*> ||
                       std::is_same_v<Argument, diopiConstTensorHandle_t*>) {
    return argument != nullptr && isFloating(*argument);
  } else {
    return false;
  }
}

// The function that stands in for the one at kSlot.
template <auto kSlot>
struct Alerting;

template <typename... Args,
          diopiError_t (*SymbolTable::*kSlot)(diopiContextHandle_t, Args...)>
struct Alerting<kSlot> {
  using Original = diopiError_t (*)(diopiContextHandle_t, Args...);
  static inline Original original = nullptr;
  static inline const Listed* listed = nullptr;

  static diopiError_t call(diopiContextHandle_t context, Args... args) {
    if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms()) &&
        (!listed->floating_only || (hasFloating(args) || ...))) {
      at::Context::alertNotDeterministic(listed->text);
    }
    return original(context, args...);
  }
};

template <auto kSlot, typename... Args>
void alertFunction(diopiError_t (*&slot)(diopiContextHandle_t, Args...),
                   const Listed* listed) {
  using Stand = Alerting<kSlot>;
  Stand::original = slot;
  Stand::listed = listed;
  slot = &Stand::call;
}

// Functions that take no context compute nothing.
template <auto kSlot, typename Any>
void alertFunction(Any&, const Listed*) {}

template <auto kSlot, typename Slot>
void alertIfListed(Slot& slot, const char* name, const Alerts& alerts,
                   const std::string& vendor) {
  const auto alert = alerts.find(std::string_view(name));
  if (slot == nullptr || alert == alerts.end()) return;
  const std::string text =
      std::string(name) + " of " + vendor + " (" + alert->second.reason + ")";
  alertFunction<kSlot>(slot, new Listed{text, alert->second.floating_only});
}

}  // namespace

void alertFunctions(const Alerts& alerts, const std::string& vendor,
                    SymbolTable& table) {
#define DIOPI_SYMBOL(name) \
  alertIfListed<&SymbolTable::name>(table.name, #name, alerts, vendor);
#include <diopi/symbols.inc>
}

}  // namespace dipu::determinism
