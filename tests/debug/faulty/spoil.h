// SPDX-License-Identifier: Apache-2.0
//
// How the faulty operator library spoils what the real one computes.
//
// Each function of it calls the real one and then enqueues work that changes
// results, or calls it with other arguments, when its fault is planted:
//
//   diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out,
//                         diopiConstTensorHandle_t input) {
//     const diopiError_t error = real(&diopiExp)(ctx, out, input);
//     spoil("exp: one per cent too large", ctx,
//           [](Elements y) { y.scale(1.01); }, out);
//     return error;
//   }
//
// The environment variable FAULTY_KERNELS has the planted faults, separated by
// semicolons. It is read at each call, so a process may change it between two
// calls, not during one. Functions that are not defined here are the real ones.
#pragma once

#include <diopi/functions.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/queue.h"

namespace dipu::tests::faulty {

// Whether FAULTY_KERNELS has `fault`. What is asked for here can be planted.
bool planted(std::string_view fault);

// The real function `name`. Aborts when there is none.
void* realFunction(const char* name);

// The real function of the name of the function that calls this.
template <typename Function>
Function* real(Function* /*own*/, const char* name = __builtin_FUNCTION()) {
  return reinterpret_cast<Function*>(realFunction(name));
}

// The elements of a tensor of at most kMaxDims dimensions, for a kernel, in the
// order of their indices. Numbers of all types are doubles here.
struct Elements {
  static constexpr int kMaxDims = 6;

  char* data;
  kernels::DType dtype;
  int32_t ndim;
  int64_t count;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];  // in elements

  double get(int64_t i) const {
    double value = 0;
    kernels::dispatchAll(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      value = kernels::convertValue<double>(*place<T>(i));
    });
    return value;
  }
  void set(int64_t i, double value) const {
    kernels::dispatchAll(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *place<T>(i) = kernels::convertValue<T>(value);
    });
  }

  // Replaces each element x by change(x).
  template <typename Change>
  void replace(const Change& change) const {
    for (int64_t i = 0; i < count; ++i) set(i, change(get(i)));
  }
  void scale(double factor) const {
    replace([factor](double x) { return x * factor; });
  }
  void setLast(double value) const {
    if (count > 0) set(count - 1, value);
  }

 private:
  template <typename T>
  T* place(int64_t i) const {
    int64_t offset = 0;
    for (int32_t d = ndim - 1; d >= 0; --d) {
      offset += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return reinterpret_cast<T*>(data) + offset;
  }
};

// The queue of a context.
kernels::Queue queueOf(diopiContextHandle_t ctx);

// What kernels of `queue` know of a tensor; no elements when it is null.
Elements elementsOf(const kernels::Queue& queue,
                    diopiConstTensorHandle_t tensor);

// Whether the elements do not lie one after the other.
bool isStrided(diopiConstTensorHandle_t tensor);

// Whether an element stands for several: the host has broadcast the tensor.
bool isBroadcast(diopiConstTensorHandle_t tensor);

diopiDtype_t dtypeOf(diopiConstTensorHandle_t tensor);

// Enqueues change(Elements...) of the tensors, if the fault is planted. What
// the change captures has to be trivially copyable.
template <typename Change, typename... Tensors>
void spoil(std::string_view fault, diopiContextHandle_t ctx,
           const Change& change, Tensors... tensors) {
  if (!planted(fault)) return;
  const kernels::Queue queue = queueOf(ctx);
  const std::array<Elements, sizeof...(Tensors)> elements = {
      elementsOf(queue, tensors)...};
  queue.launch([change, elements] { std::apply(change, elements); });
}

}  // namespace dipu::tests::faulty
