// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/conversion/convert_functions.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "diopi_adapter/conversion/converted_call.h"

namespace dipu::conversion {
namespace {

using adapter::SymbolTable;

template <typename T>
constexpr bool kIsList = std::is_same_v<T, diopiTensorHandle_t*> ||
                         std::is_same_v<T, diopiConstTensorHandle_t*>;

// Position of the length of the list at position I: lists that belong together
// are followed by their common length. The number of arguments if there is
// none: then the function puts one tensor there.
template <std::size_t I, typename Tuple>
constexpr std::size_t lengthOf() {
  if constexpr (I == std::tuple_size_v<Tuple>) {
    return I;
  } else if constexpr (kIsList<std::tuple_element_t<I, Tuple>>) {
    return lengthOf<I + 1, Tuple>();
  } else if constexpr (std::is_same_v<std::tuple_element_t<I, Tuple>,
                                      int64_t>) {
    return I;
  } else {
    return std::tuple_size_v<Tuple>;
  }
}

// Argument I as the vendor's function gets it.
template <std::size_t I, typename Tuple>
auto converted(ConvertedCall& call, const Tuple& arguments) {
  using Type = std::tuple_element_t<I, Tuple>;
  const Type& value = std::get<I>(arguments);
  constexpr std::size_t kLength = lengthOf<I, Tuple>();
  if constexpr (std::is_same_v<Type, diopiConstTensorHandle_t>) {
    return call.input(value);
  } else if constexpr (std::is_same_v<Type, diopiTensorHandle_t>) {
    return call.output(value);
  } else if constexpr (!kIsList<Type>) {
    return value;
  } else if constexpr (kLength == std::tuple_size_v<Tuple>) {
    static_assert(std::is_same_v<Type, diopiTensorHandle_t*>,
                  "a list that is read needs a length behind it");
    return call.made(value);
  } else if constexpr (std::is_same_v<Type, diopiTensorHandle_t*>) {
    return call.outputs(value, std::get<kLength>(arguments));
  } else {
    return call.inputs(value, std::get<kLength>(arguments));
  }
}

// The function that stands in for the one at kSlot.
template <auto kSlot>
struct Converting;

template <typename... Args,
          diopiError_t (*SymbolTable::*kSlot)(diopiContextHandle_t, Args...)>
struct Converting<kSlot> {
  using Original = diopiError_t (*)(diopiContextHandle_t, Args...);
  static inline Original original = nullptr;
  static inline Function function{};

  static diopiError_t call(diopiContextHandle_t context, Args... args) {
    return callWith(context, std::tuple<Args...>(args...),
                    std::index_sequence_for<Args...>());
  }

 private:
  template <std::size_t... kIndex>
  static diopiError_t callWith(diopiContextHandle_t context,
                               const std::tuple<Args...>& arguments,
                               std::index_sequence<kIndex...>) {
    ConvertedCall call(function, context);
    // Braces, unlike the parentheses of a call, convert from left to right.
    const std::tuple<Args...> ready{converted<kIndex>(call, arguments)...};
    if (call.refused()) return diopiNoImplement;
    return call.finish(original(context, std::get<kIndex>(ready)...));
  }
};

template <auto kSlot, typename... Args>
void convertFunction(diopiError_t (*&slot)(diopiContextHandle_t, Args...),
                     const Function& function) {
  using Stand = Converting<kSlot>;
  Stand::original = slot;
  Stand::function = function;
  slot = &Stand::call;
}

// Functions that take no context have no tensors to convert.
template <auto kSlot, typename Any>
void convertFunction(Any&, const Function&) {}

// What is known of a function for as long as the process lives; null without a
// rule.
const Function* functionNamed(const char* name, const Rules& rules,
                              bool checked) {
  const auto rule = rules.find(std::string_view(name));
  if (rule == rules.end()) return nullptr;
  return new Function{name, new Rule(rule->second),
                      &fallback::counter("conversion." + std::string(name)),
                      checked};
}

template <auto kSlot, typename Slot>
void convertIfRuled(Slot& slot, const Function* function) {
  if (slot != nullptr && function != nullptr) {
    convertFunction<kSlot>(slot, *function);
  }
}

}  // namespace

void convertFunctions(const Rules& rules, bool checked, SymbolTable& table) {
#define DIOPI_SYMBOL(name)                       \
  convertIfRuled<&SymbolTable::name>(table.name, \
                                     functionNamed(#name, rules, checked));
#include <diopi/symbols.inc>
}

}  // namespace dipu::conversion
