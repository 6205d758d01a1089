// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/focal_loss.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/reduce.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kCost = 48;

template <typename T>
struct Focal {
  T alpha;
  T gamma;

  T weight(T t) const {
    return alpha < T(0) ? T(1) : alpha * t + (T(1) - alpha) * (T(1) - t);
  }
  static T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }
  // -t log(p) - (1 - t) log(1 - p), without overflow.
  static T entropy(T x, T t) {
    return std::max(x, T(0)) - x * t + std::log1p(std::exp(-std::fabs(x)));
  }
  // The probability that the target does not have.
  static T missing(T p, T t) { return p * (T(1) - t) + (T(1) - p) * t; }
};

template <typename T>
struct FocalValue : Focal<T> {
  T operator()(T x, T t) const {
    const T q = this->missing(this->sigmoid(x), t);
    return this->weight(t) * this->entropy(x, t) * std::pow(q, this->gamma);
  }
};

template <typename T>
struct FocalSlope : Focal<T> {
  T scale;

  T operator()(T x, T t, T g) const {
    const T p = this->sigmoid(x);
    const T q = this->missing(p, t);
    const T outer = (p - t) * std::pow(q, this->gamma);
    const T inner = q > T(0) ? this->entropy(x, t) * this->gamma *
                                   std::pow(q, this->gamma - T(1)) *
                                   (T(1) - T(2) * t) * p * (T(1) - p)
                             : T(0);
    return this->weight(t) * (outer + inner) * g * scale;
  }
};

Status check(const FocalLossArguments& a, const TensorView& loss) {
  const TensorView& x = a.input;
  if (!isFloating(x.dtype)) return unsupportedDType("focal_loss", x.dtype);
  if (x.ndim != a.target.ndim ||
      !std::equal(x.sizes, x.sizes + x.ndim, a.target.sizes)) {
    return fail(Status::kInvalid, "focal_loss: input and target differ");
  }
  const bool reduced = a.reduction != Reduction::kNone;
  if (reduced ? loss.numel == 1
              : loss.ndim == x.ndim &&
                    std::equal(x.sizes, x.sizes + x.ndim, loss.sizes)) {
    return Status::kOk;
  }
  return fail(Status::kInvalid, "focal_loss: the loss has other sizes");
}

}  // namespace

Status focalLoss(const Queue& queue, const TensorView& out,
                 const FocalLossArguments& arguments) {
  const FocalLossArguments& a = arguments;
  Status status = check(a, out);
  if (status != Status::kOk) return status;
  const DType compute = computeDType(a.input.dtype);
  const bool reduced = a.reduction != Reduction::kNone;
  const ScratchTensor each(queue, reduced ? a.input : TensorView(), compute);
  if (reduced && !each.valid()) return Status::kFailed;
  const TensorView& values = reduced ? each.view() : out;
  dispatchReal(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const FocalValue<T> f{{static_cast<T>(a.alpha), static_cast<T>(a.gamma)}};
    status = applyBinary<T, T>(queue, f, kCost, values, a.input, a.target);
  });
  if (status != Status::kOk || !reduced) return status;
  return a.reduction == Reduction::kMean ? mean(queue, out, values, {})
                                         : sum(queue, out, values, {});
}

Status focalLossBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const FocalLossArguments& arguments) {
  const FocalLossArguments& a = arguments;
  Status status = check(a, grad_output);
  if (status != Status::kOk) return status;
  if (!sameShape(grad_input, a.input)) {
    return fail(Status::kInvalid, "focal_loss_backward: the gradient differs");
  }
  TensorView grad = grad_output;
  if (a.reduction != Reduction::kNone) grad.ndim = 0;
  const double scale = a.reduction == Reduction::kMean
                           ? 1.0 / static_cast<double>(a.input.numel)
                           : 1.0;
  dispatchReal(computeDType(a.input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const FocalSlope<T> f{{static_cast<T>(a.alpha), static_cast<T>(a.gamma)},
                          static_cast<T>(scale)};
    status =
        applyTernary<T>(queue, f, kCost, grad_input, a.input, a.target, grad);
  });
  return status;
}

}  // namespace dipu::kernels
