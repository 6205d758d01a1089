// SPDX-License-Identifier: Apache-2.0
//
// One small function per signature, made by the compiler from the headers.
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include "tests/samples/arguments.h"

namespace dipu::samples {
namespace {

// A constructor, because braces evaluate its arguments from left to right.
template <typename... Parameters>
struct Invocation {
  using Function = diopiError_t(diopiContextHandle_t, Parameters...);

  Invocation(Function* function, diopiContextHandle_t context,
             Parameters... parameters)
      : status(function(context, parameters...)) {}

  diopiError_t status;
};

template <typename... Parameters>
diopiError_t invoke(void* function, diopiContextHandle_t context,
                    Arguments& arguments) {
  using Invocation = Invocation<Parameters...>;
  if (arguments.size() != sizeof...(Parameters)) {
    throw std::runtime_error(
        "the function takes " + std::to_string(sizeof...(Parameters)) +
        " arguments, the sample has " + std::to_string(arguments.size()));
  }
  auto* typed = reinterpret_cast<typename Invocation::Function*>(function);
  return Invocation{typed, context, arguments.next<Parameters>()...}.status;
}

template <typename Function>
struct CallOf {
  static constexpr Call get() { return nullptr; }
};

template <typename... Parameters>
struct CallOf<diopiError_t(diopiContextHandle_t, Parameters...)> {
  static constexpr Call get() {
    if constexpr ((kIsPassable<Parameters> && ...)) {
      return &invoke<Parameters...>;
    } else {
      return nullptr;
    }
  }
};

struct Entry {
  const char* name;
  Call call;
};

constexpr Entry kEntries[] = {
#define DIOPI_SYMBOL(name) {#name, CallOf<decltype(name)>::get()},
#include <diopi/symbols.inc>
};

}  // namespace

Call callOf(const std::string& function) {
  for (const Entry& entry : kEntries) {
    if (function == entry.name) return entry.call;
  }
  return nullptr;
}

}  // namespace dipu::samples
