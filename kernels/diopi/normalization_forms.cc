// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's other forms of normalization, on top of those in normalization.cc.
#include <diopi/functions.h>

#include "kernels/compute/dtype.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/normalization/group_norm.h"
#include "kernels/compute/normalization/layer_norm.h"
#include "kernels/compute/normalization/normalize.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// A tensor [N, ..., C, ...] as [N, C, ...], `axis` being that of C.
struct ChannelsFirst : ShapedView {
  ChannelsFirst(const TensorView& tensor, int64_t axis) : ShapedView(tensor) {
    const auto copy = [&](int64_t d) {
      append(tensor.sizes[d], tensor.strides[d]);
    };
    copy(0);
    copy(axis);
    for (int64_t d = 1; d < tensor.ndim; ++d) {
      if (d != axis) copy(d);
    }
  }
};

// Wraps the axis of the channels and checks what has one entry for each.
Status readAxis(const TensorView& input, const TensorView& scale,
                const TensorView& bias, int64_t* axis) {
  const Status status = wrapDim("instance_norm", input.ndim, axis);
  if (status != Status::kOk) return status;
  if (input.ndim < 2 || input.ndim > kMaxDims || *axis == 0) {
    return fail(Status::kInvalid,
                "instance_norm: channels in dimension %lld of %d",
                static_cast<long long>(*axis), input.ndim);
  }
  for (const TensorView* entries : {&scale, &bias}) {
    if (!entries->defined() || entries->numel == input.sizes[*axis]) continue;
    return fail(Status::kInvalid,
                "instance_norm: %lld entries of scale or bias for %lld "
                "channels",
                static_cast<long long>(entries->numel),
                static_cast<long long>(input.sizes[*axis]));
  }
  return Status::kOk;
}

// The number of leading dimensions, as that of the trailing ones.
Status readNormalized(const TensorView& input, int64_t begin, int64_t* count) {
  const Status status = wrapDim("layer_norm", input.ndim, &begin);
  *count = input.ndim - begin;
  return status;
}

}  // namespace

extern "C" {

// running_mean and running_var become the means of the rows and the
// reciprocals of their standard deviations, as backward takes them.
diopiError_t diopiLayerNormGB(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiTensorHandle_t running_mean,
                              diopiTensorHandle_t running_var,
                              diopiConstTensorHandle_t input,
                              diopiConstTensorHandle_t weight,
                              diopiConstTensorHandle_t bias, const double eps,
                              const int64_t begin_norm_axis) {
  int64_t dims = 0;
  const Status status = readNormalized(view(input), begin_norm_axis, &dims);
  if (status != Status::kOk) return done(status);
  return done(layerNorm(queueOf(ctx), view(out), view(running_mean),
                        view(running_var), view(input), view(weight),
                        view(bias), dims, eps));
}

diopiError_t diopiLayerNormGBBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t /*bias*/,
    diopiConstTensorHandle_t running_mean, diopiConstTensorHandle_t running_std,
    const int64_t begin_norm_axis) {
  int64_t dims = 0;
  const Status status = readNormalized(view(input), begin_norm_axis, &dims);
  if (status != Status::kOk) return done(status);
  return done(layerNormBackward(queueOf(ctx), view(grad_input),
                                view(grad_weight), view(grad_bias),
                                view(grad_output), view(input), view(weight),
                                view(running_mean), view(running_std), dims));
}

// `axis` is that of the channels, which scale and bias belong to; dimension 0
// is the batch, and all others are normalized over.
diopiError_t diopiInstanceNorm(diopiContextHandle_t ctx,
                               diopiTensorHandle_t output,
                               diopiConstTensorHandle_t input,
                               const int64_t axis,
                               diopiConstTensorHandle_t scale,
                               diopiConstTensorHandle_t bias,
                               const double eps) {
  int64_t dim = axis;
  const TensorView from = view(input);
  const TensorView to = view(output);
  Status status = readAxis(from, view(scale), view(bias), &dim);
  if (status != Status::kOk) return done(status);
  if (!sameShape(from, to)) {
    return done(
        fail(Status::kInvalid, "instance_norm: output and input differ"));
  }
  const ChannelsFirst x(from, dim);
  const ChannelsFirst y(to, dim);
  return done(groupNorm(queueOf(ctx), y.view, {}, {}, x.view, view(scale),
                        view(bias), from.sizes[dim], eps));
}

diopiError_t diopiInstanceNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_scale, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t scale, diopiConstTensorHandle_t bias,
    const int64_t axis, const double eps) {
  int64_t dim = axis;
  const Queue queue = queueOf(ctx);
  const TensorView from = view(input);
  Status status = readAxis(from, view(scale), view(bias), &dim);
  if (status != Status::kOk) return done(status);
  if (!sameShape(from, view(grad_output)) ||
      !sameShape(from, view(grad_input))) {
    return done(fail(Status::kInvalid,
                     "instance_norm_backward: gradients and input differ"));
  }
  const ChannelsFirst x(from, dim);
  const ChannelsFirst g(view(grad_output), dim);
  const ChannelsFirst dx(view(grad_input), dim);
  const int64_t sizes[] = {from.sizes[0], from.sizes[dim]};
  TensorView groups = from;
  groups.sizes = sizes;
  groups.ndim = 2;
  groups.numel = sizes[0] * sizes[1];
  const DType compute = computeDType(from.dtype);
  const ScratchTensor mean(queue, groups, compute);
  const ScratchTensor rstd(queue, groups, compute);
  const ScratchTensor normalized(queue, x.view, from.dtype);
  if (!mean.valid() || !rstd.valid() || !normalized.valid()) {
    return diopiErrorOccurred;
  }
  status = groupNorm(queue, normalized.view(), mean.view(), rstd.view(), x.view,
                     {}, {}, sizes[1], eps);
  if (status != Status::kOk) return done(status);
  return done(groupNormBackward(queue, dx.view, view(grad_scale),
                                view(grad_bias), g.view, x.view, view(scale),
                                mean.view(), rstd.view(), sizes[1]));
}

diopiError_t diopiNormalize(diopiContextHandle_t ctx,
                            diopiTensorHandle_t output,
                            diopiConstTensorHandle_t input, const float p,
                            const int64_t axis, const double eps) {
  return done(normalize(queueOf(ctx), view(output), view(input), p, axis, eps));
}

diopiError_t diopiNormalizeBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t input,
                                    const float p, const int64_t axis,
                                    const double eps) {
  return done(normalizeBackward(queueOf(ctx), view(grad_input),
                                view(grad_output), view(input), p, axis, eps));
}

}  // extern "C"
