// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"

namespace dipu::kernels {
namespace {

// Enqueues out = f(a, b) in any computing type.
template <typename F>
Status any(const Queue& queue, const char* name, const TensorView& out,
           const TensorView& a, const TensorView& b, const F& f) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(queue, f, 1, out, a, b);
  });
  return known ? status : unsupportedDType(name, a.dtype);
}

}  // namespace

Status fmax(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b) {
  return any(queue, "fmax", out, a, b,
             [](auto x, auto y) { return x >= y || y != y ? x : y; });
}

Status fmin(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b) {
  return any(queue, "fmin", out, a, b,
             [](auto x, auto y) { return x <= y || y != y ? x : y; });
}

Status heaviside(const Queue& queue, const TensorView& out,
                 const TensorView& input, const TensorView& values) {
  return any(queue, "heaviside", out, input, values, [](auto x, auto value) {
    using T = decltype(x);
    return x == T(0) ? value : x > T(0) ? T(1) : T(0);
  });
}

}  // namespace dipu::kernels
