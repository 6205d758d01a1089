// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/attention/rotary.h"

#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/shaped_view.h"

namespace dipu::kernels {
namespace {

// Both features of a pair in one pass: out0, out1, x0, x1, cos, sin.
template <typename C>
struct Turn {
  static void run(const void* state, void* const* p, int64_t count) {
    const C sign = *static_cast<const C*>(state);
    C* first = static_cast<C*>(p[0]);
    C* second = static_cast<C*>(p[1]);
    const C* x = static_cast<const C*>(p[2]);
    const C* y = static_cast<const C*>(p[3]);
    const C* cos = static_cast<const C*>(p[4]);
    const C* sin = static_cast<const C*>(p[5]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const C turned = x[i] * cos[i] - y[i] * sin[i] * sign;
      second[i] = x[i] * sin[i] * sign + y[i] * cos[i];
      first[i] = turned;
    }
  }
};

template <typename C>
constexpr Kernel makeTurn() {
  Kernel kernel;
  kernel.loop = &Turn<C>::run;
  kernel.operands = 6;
  kernel.outputs = 2;
  kernel.cost = 3;
  for (DType& type : kernel.types) type = kDTypeOf<C>;
  return kernel;
}

// Features `first`, first + step, ... of a tensor, `count` of them.
struct Features : ShapedView {
  Features(const TensorView& tensor, int64_t first, int64_t step, int64_t count)
      : ShapedView(tensor) {
    const int32_t last = tensor.ndim - 1;
    for (int32_t d = 0; d < last; ++d) {
      append(tensor.sizes[d], tensor.strides[d]);
    }
    append(count, step * tensor.strides[last]);
    shift(first * tensor.strides[last]);
  }
};

// cos or sin with a dimension for the heads of x.
struct Angles : ShapedView {
  Angles(const TensorView& tensor, int32_t ndim) : ShapedView(tensor) {
    const int32_t last = tensor.ndim - 1;
    for (int32_t d = 0; d < last; ++d) {
      append(tensor.sizes[d], tensor.strides[d]);
    }
    const bool headless =
        tensor.ndim == ndim - 1 || (tensor.ndim == 2 && ndim == 4);
    if (headless && ndim > 2) append(1, 0);
    append(tensor.sizes[last], tensor.strides[last]);
  }
};

Status checkRotary(const TensorView& out, const TensorView& x,
                   const TensorView& cos, const TensorView& sin) {
  if (!isFloating(x.dtype)) return unsupportedDType("rotary", x.dtype);
  if (!sameShape(out, x) || x.ndim < 2 || x.ndim > kMaxDims) {
    return fail(Status::kInvalid, "rotary: out and x differ, or x is a vector");
  }
  if (cos.ndim < 1 || cos.ndim > x.ndim || !sameShape(cos, sin)) {
    return fail(Status::kInvalid,
                "rotary: cos and sin differ, or have more dimensions than x");
  }
  const int64_t pairs = cos.sizes[cos.ndim - 1];
  if (2 * pairs <= x.sizes[x.ndim - 1]) return Status::kOk;
  return fail(Status::kInvalid, "rotary: %ld angles for %ld features",
              long(pairs), long(x.sizes[x.ndim - 1]));
}

}  // namespace

Status rotary(const Queue& queue, const TensorView& out, const TensorView& x,
              const TensorView& cos, const TensorView& sin, RotaryPairs pairs,
              bool inverse) {
  Status status = checkRotary(out, x, cos, sin);
  if (status != Status::kOk || out.numel == 0) return status;
  const int64_t features = x.sizes[x.ndim - 1];
  const int64_t count = cos.sizes[cos.ndim - 1];
  const bool halves = pairs == RotaryPairs::kHalves;
  const int64_t step = halves ? 1 : 2;
  const int64_t other = halves ? count : 1;
  if (2 * count < features) {
    const Features to(out, 2 * count, 1, features - 2 * count);
    const Features from(x, 2 * count, 1, features - 2 * count);
    status = convertTensor(queue, to.view, from.view);
    if (status != Status::kOk || count == 0) return status;
  }
  const Features first(out, 0, step, count);
  const Features second(out, other, step, count);
  const Features from_first(x, 0, step, count);
  const Features from_second(x, other, step, count);
  const Angles c(cos, x.ndim);
  const Angles s(sin, x.ndim);
  dispatchReal(computeDType(x.dtype), [&](auto tag) {
    using C = typename decltype(tag)::type;
    static constexpr Kernel kKernel = makeTurn<C>();
    status = elementwise(queue, kKernel, inverse ? C(-1) : C(1),
                         {&first.view, &second.view, &from_first.view,
                          &from_second.view, &c.view, &s.view});
  });
  return status;
}

}  // namespace dipu::kernels
