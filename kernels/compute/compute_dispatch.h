// SPDX-License-Identifier: Apache-2.0
//
// From the dtypes of an elementwise operator's operands to the type it
// computes in, and from a generic functor to a kernel.
//
// A functor is made per type: make(TypeTag<T>()) returns a callable on T whose
// captures are already of type T, so nothing is converted inside the loop.
#pragma once

#include <type_traits>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/elementwise.h"

namespace dipu::kernels {

// Calls body(TypeTag<float or double>()); false for integers.
template <typename Body>
bool dispatchReal(DType compute, const Body& body) {
  return dispatchAmong<float, double>(compute, body);
}

// Calls body(TypeTag<float, double, int32_t or int64_t>()).
template <typename Body>
bool dispatchCompute(DType compute, const Body& body) {
  return dispatchAmong<float, double, int32_t, int64_t>(compute, body);
}

// out = f(a), computed in and returned as T.
template <typename T, typename F>
Status applyUnary(const Queue& queue, const F& f, int32_t cost,
                  const TensorView& out, const TensorView& a) {
  static constexpr Kernel kKernel = makeKernel<F, T, T>();
  Kernel kernel = kKernel;
  kernel.cost = cost;
  // The functions of math.h; those of double are calls of the C library.
  if constexpr (std::is_same_v<T, float>) {
    kernel.wide = &DenseLoopOf<F, T, T>::runWide;
  }
  return elementwise(queue, kernel, f, {&out, &a});
}

// out = f(a, b), computed in T, returned as R.
template <typename R, typename T, typename F>
Status applyBinary(const Queue& queue, const F& f, int32_t cost,
                   const TensorView& out, const TensorView& a,
                   const TensorView& b) {
  static constexpr Kernel kKernel = makeKernel<F, R, T, T>();
  Kernel kernel = kKernel;
  kernel.cost = cost;
  return elementwise(queue, kernel, f, {&out, &a, &b});
}

// out = f(a, b, c), computed in and returned as T.
template <typename T, typename F>
Status applyTernary(const Queue& queue, const F& f, int32_t cost,
                    const TensorView& out, const TensorView& a,
                    const TensorView& b, const TensorView& c) {
  static constexpr Kernel kKernel = makeKernel<F, T, T, T, T>();
  Kernel kernel = kKernel;
  kernel.cost = cost;
  return elementwise(queue, kernel, f, {&out, &a, &b, &c});
}

// The computing type of all operands of an operator.
inline DType computeTypeOf(const TensorView& a, const TensorView& b) {
  return promoteCompute(a.dtype, b.dtype);
}
inline DType computeTypeOf(const TensorView& a, const TensorView& b,
                           const TensorView& c) {
  return promoteCompute(computeTypeOf(a, b), c.dtype);
}

}  // namespace dipu::kernels
