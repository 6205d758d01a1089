// SPDX-License-Identifier: Apache-2.0
//
// What activation functions share: a functor per floating type becomes a
// kernel over any strides and dtypes. Internal to the activation functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels::activation {

// out = make(tag)(input).
template <typename F>
Status forward(const Queue& queue, const char* name, int32_t cost,
               const TensorView& out, const TensorView& input, const F& make) {
  Status status = Status::kOk;
  const bool known = dispatchReal(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyUnary<T>(queue, make(tag), cost, out, input);
  });
  return known ? status : unsupportedDType(name, input.dtype);
}

// grad_input = make(tag)(grad_output, saved).
template <typename F>
Status backward(const Queue& queue, const char* name, int32_t cost,
                const TensorView& grad_input, const TensorView& grad_output,
                const TensorView& saved, const F& make) {
  Status status = Status::kOk;
  const bool known = dispatchReal(
      computeTypeOf(grad_input, grad_output, saved), [&](auto tag) {
        using T = typename decltype(tag)::type;
        status = applyBinary<T, T>(queue, make(tag), cost, grad_input,
                                   grad_output, saved);
      });
  return known ? status : unsupportedDType(name, saved.dtype);
}

// The loop of a functor of any number of inputs with one or two results; two
// are returned as a Pair.
template <typename F, typename T, int Outputs, typename Inputs>
struct ManyLoop;

template <typename F, typename T, int Outputs, std::size_t... I>
struct ManyLoop<F, T, Outputs, std::index_sequence<I...>> {
  static void run(const void* state, void* const* p, int64_t count) {
    const F f = *static_cast<const F*>(state);
    T* first = static_cast<T*>(p[0]);
    T* second = static_cast<T*>(p[Outputs - 1]);
    const T* in[] = {static_cast<const T*>(p[Outputs + I])...};
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (Outputs == 1) {
        first[i] = f(in[I][i]...);
      } else {
        const Pair<T> results = f(in[I][i]...);
        first[i] = results.first;
        second[i] = results.second;
      }
    }
  }
};

// Enqueues f over `operands`: one or two outputs, then `Inputs` inputs, all
// computed in T.
template <typename T, int Outputs, int Inputs, typename F>
Status applyMany(const Queue& queue, const F& f, int32_t cost,
                 std::initializer_list<const TensorView*> operands) {
  static_assert(Outputs + Inputs <= kMaxOperands, "more than a kernel takes");
  Kernel kernel;
  kernel.loop = &ManyLoop<F, T, Outputs, std::make_index_sequence<Inputs>>::run;
  kernel.operands = Outputs + Inputs;
  kernel.outputs = Outputs;
  kernel.cost = cost;
  std::fill(kernel.types, kernel.types + kernel.operands, kDTypeOf<T>);
  return elementwise(queue, kernel, f, operands);
}

}  // namespace dipu::kernels::activation
