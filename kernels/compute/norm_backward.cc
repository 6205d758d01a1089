// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/norm_backward.h"

#include <cmath>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/shaped_view.h"

namespace dipu::kernels {
namespace {

template <typename T>
T signOf(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}

// The dimensions of `input` that are reduced, as bits.
Status readDims(const TensorView& input, const Dims& dims, uint32_t* reduced) {
  *reduced = dims.count == 0 ? ~0U : 0U;
  for (int64_t i = 0; i < dims.count; ++i) {
    int64_t dim = dims.data[i];
    const Status status = wrapDim("norm_backward", input.ndim, &dim);
    if (status != Status::kOk) return status;
    *reduced |= 1U << dim;
  }
  return Status::kOk;
}

// Appends the sizes of `reduction`, with or without its reduced dimensions, so
// that it broadcasts to `input`.
Status alignTo(const TensorView& input, uint32_t reduced,
               const TensorView& reduction, ShapedView* aligned) {
  const bool keeps = reduction.ndim == input.ndim;
  int32_t from = 0;
  for (int32_t d = 0; d < input.ndim; ++d) {
    const bool gone = (reduced >> d & 1U) != 0;
    if (gone && !keeps) {
      aligned->append(1, 0);
      continue;
    }
    const int64_t wanted = gone ? 1 : input.sizes[d];
    if (from >= reduction.ndim || reduction.sizes[from] != wanted) break;
    aligned->append(wanted, reduction.strides[from++]);
  }
  if (aligned->view.ndim == input.ndim && from == reduction.ndim) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "norm_backward: norm or gradient has not the sizes of the "
              "reduction");
}

// grad_input = sign(input) * grad where the magnitude is the norm, with the
// gradient divided by the number of such elements.
template <typename T>
Status shareGradient(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad, const TensorView& input,
                     const TensorView& norm, const Dims& dims) {
  const ScratchTensor ties(queue, input, kDTypeOf<T>);
  const ScratchTensor share(queue, norm, kDTypeOf<T>);
  if (!ties.valid() || !share.valid()) return Status::kFailed;
  Status status = applyBinary<T, T>(
      queue, [](T x, T n) { return std::fabs(x) == n ? signOf(x) : T(0); }, 2,
      ties.view(), input, norm);
  if (status == Status::kOk) {
    status = countAlong(queue, share.view(), ties.view(), dims);
  }
  if (status == Status::kOk) {
    status = applyBinary<T, T>(
        queue, [](T g, T n) { return n == T(0) ? T(0) : g / n; }, 2,
        share.view(), grad, share.view());
  }
  if (status != Status::kOk) return status;
  return mul(queue, grad_input, ties.view(), share.view());
}

template <typename T>
Status differentiate(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad, const TensorView& input,
                     const TensorView& norm, double p, const Dims& dims) {
  if (p == 0.0) return fill(queue, grad_input, {true, 0, 0.0});
  if (std::isinf(p)) {
    return shareGradient<T>(queue, grad_input, grad, input, norm, dims);
  }
  if (p == 1.0) {
    return applyBinary<T, T>(
        queue, [](T x, T g) { return signOf(x) * g; }, 2, grad_input, input,
        grad);
  }
  if (p == 2.0) {
    return applyTernary<T>(
        queue, [](T x, T g, T n) { return n == T(0) ? T(0) : x * (g / n); }, 2,
        grad_input, input, grad, norm);
  }
  const auto power = [q = static_cast<T>(p - 1)](T x, T g, T n) {
    const T size = std::fabs(x);
    if (n == T(0) || size == T(0)) return T(0);
    return signOf(x) * std::pow(size / n, q) * g;
  };
  return applyTernary<T>(queue, power, 32, grad_input, input, grad, norm);
}

}  // namespace

Status normBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad, const TensorView& input,
                    const TensorView& norm, double p, const Dims& dims) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("norm_backward", input.dtype);
  }
  if (!sameShape(grad_input, input) || input.ndim > kMaxDims) {
    return fail(Status::kInvalid, "norm_backward: gradient and input differ");
  }
  if (input.numel == 0) return Status::kOk;
  uint32_t reduced = 0;
  Status status = readDims(input, dims, &reduced);
  if (status != Status::kOk) return status;
  ShapedView g(grad);
  ShapedView n(norm);
  status = alignTo(input, reduced, grad, &g);
  if (status == Status::kOk) status = alignTo(input, reduced, norm, &n);
  if (status != Status::kOk) return status;
  dispatchReal(computeDType(input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status =
        differentiate<T>(queue, grad_input, g.view, input, n.view, p, dims);
  });
  return status;
}

}  // namespace dipu::kernels
