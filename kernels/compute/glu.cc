// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/glu.h"

#include <algorithm>

#include "kernels/compute/activation_apply.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/math.h"

namespace dipu::kernels {
namespace {

using activation::applyMany;

constexpr int32_t kCost = 8;

// Views of the halves of a tensor. Not copyable: the views point into it.
class Halves {
 public:
  Halves(const TensorView& whole, int64_t dim) : first_(whole) {
    std::copy_n(whole.sizes, whole.ndim, sizes_);
    sizes_[dim] /= 2;
    first_.sizes = sizes_;
    first_.numel /= 2;
    second_ = first_;
    second_.data = static_cast<char*>(whole.data) +
                   sizes_[dim] * whole.strides[dim] *
                       static_cast<int64_t>(itemSize(whole.dtype));
  }
  Halves(const Halves&) = delete;
  Halves& operator=(const Halves&) = delete;

  const TensorView& first() const { return first_; }
  const TensorView& second() const { return second_; }

 private:
  int64_t sizes_[kMaxDims];
  TensorView first_;
  TensorView second_;
};

Status check(const TensorView& whole, int64_t* dim) {
  const Status status = wrapDim("glu", whole.ndim, dim);
  if (status != Status::kOk) return status;
  if (whole.ndim == 0 || whole.sizes[*dim] % 2 != 0) {
    return fail(Status::kInvalid, "glu: the size of dimension %ld is not even",
                long(*dim));
  }
  if (whole.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "glu: more than %d dimensions", kMaxDims);
  }
  return Status::kOk;
}

}  // namespace

Status glu(const Queue& queue, const TensorView& out, const TensorView& input,
           int64_t dim) {
  Status status = check(input, &dim);
  if (status != Status::kOk) return status;
  const Halves in(input, dim);
  const bool known = dispatchReal(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [](T a, T b) { return a * math::sigmoid(b); };
    status = applyBinary<T, T>(queue, f, kCost, out, in.first(), in.second());
  });
  return known ? status : unsupportedDType("glu", input.dtype);
}

Status gluBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output, const TensorView& input,
                   int64_t dim) {
  Status status = check(input, &dim);
  if (status != Status::kOk) return status;
  const Halves in(input, dim);
  const Halves out(grad_input, dim);
  const bool known = dispatchReal(
      computeTypeOf(grad_input, grad_output, input), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [](T grad, T a, T b) {
          const T s = math::sigmoid(b);
          return Pair<T>{grad * s, grad * a * s * (T(1) - s)};
        };
        status = applyMany<T, 2, 3>(queue, f, kCost,
                                    {&out.first(), &out.second(), &grad_output,
                                     &in.first(), &in.second()});
      });
  return known ? status : unsupportedDType("glu_backward", input.dtype);
}

Status gluTangent(const Queue& queue, const TensorView& out,
                  const TensorView& result, const TensorView& input,
                  const TensorView& change, int64_t dim) {
  Status status = check(input, &dim);
  if (status == Status::kOk) status = check(change, &dim);
  if (status != Status::kOk) return status;
  const Halves in(input, dim);
  const Halves d(change, dim);
  const bool known =
      dispatchReal(computeTypeOf(result, input, change), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [](T y, T b, T da, T db) {
          const T s = math::sigmoid(b);
          return da * s + y * (T(1) - s) * db;
        };
        status = applyMany<T, 1, 4>(
            queue, f, kCost,
            {&out, &result, &in.second(), &d.first(), &d.second()});
      });
  return known ? status : unsupportedDType("glu_jvp", input.dtype);
}

}  // namespace dipu::kernels
