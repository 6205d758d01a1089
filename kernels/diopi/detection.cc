// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of boxes in images, and the loss that finds them.
#include "kernels/compute/vision/detection.h"

#include <diopi/functions.h>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/loss/focal_loss.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

FocalLossArguments focalArguments(diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t target, float alpha,
                                  float gamma, diopiReduction_t reduction) {
  return {view(input), view(target), alpha, gamma,
          static_cast<Reduction>(reduction)};
}

}  // namespace

extern "C" {

// Waits for the stream: the number of boxes that stay is the size of `out`.
diopiError_t diopiNms(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                      diopiConstTensorHandle_t boxes,
                      diopiConstTensorHandle_t confidence,
                      double iou_threshold) {
  const Queue queue = queueOf(ctx);
  const TensorView candidates = view(boxes);
  const int64_t most = candidates.ndim > 0 ? candidates.sizes[0] : 0;
  const int64_t one = 1;
  TensorView kept;
  kept.sizes = &most;
  kept.strides = &one;
  kept.numel = most;
  kept.ndim = 1;
  kept.dtype = DType::kInt64;
  kept.data =
      queue.scratch(static_cast<std::size_t>(most + 1) * sizeof(int64_t));
  if (kept.data == nullptr) return diopiErrorOccurred;
  int64_t count = 0;
  const Status status = nonMaximumSuppression(
      queue, kept, candidates, view(confidence), iou_threshold, &count);
  if (status != Status::kOk) return done(status);
  const diopiError_t error = requireTensor(ctx, &count, 1, DType::kInt64, out);
  if (error != diopiSuccess) return error;
  kept.sizes = &count;
  kept.numel = count;
  return done(convertTensor(queue, view(*out), kept));
}

diopiError_t diopiRoiAlign(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t rois, double spatial_scale,
                           int64_t /*pooled_height*/, int64_t /*pooled_width*/,
                           int64_t sampling_ratio, bool aligned) {
  return done(roiAlign(queueOf(ctx), view(out), view(input), view(rois),
                       {spatial_scale, sampling_ratio, aligned}));
}

// `out`, the gradient of the features, has the sizes that the signature
// repeats.
diopiError_t diopiRoiAlignBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t grad, diopiConstTensorHandle_t rois,
    double spatial_scale, int64_t /*pooled_height*/, int64_t /*pooled_width*/,
    int64_t /*batch_size*/, int64_t /*channels*/, int64_t /*height*/,
    int64_t /*width*/, int64_t sampling_ratio, bool aligned) {
  return done(roiAlignBackward(queueOf(ctx), view(out), view(grad), view(rois),
                               {spatial_scale, sampling_ratio, aligned}));
}

diopiError_t diopiSigmoidFocalLoss(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t inputs,
                                   diopiConstTensorHandle_t targets,
                                   float alpha, float gamma,
                                   diopiReduction_t reduction) {
  return done(
      focalLoss(queueOf(ctx), view(out),
                focalArguments(inputs, targets, alpha, gamma, reduction)));
}

diopiError_t diopiSigmoidFocalLossBackward(diopiContextHandle_t ctx,
                                           diopiTensorHandle_t grad_output,
                                           diopiConstTensorHandle_t input,
                                           diopiConstTensorHandle_t target,
                                           diopiTensorHandle_t grad_input,
                                           float gamma, float alpha,
                                           diopiReduction_t reduction) {
  return done(focalLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output),
      focalArguments(input, target, alpha, gamma, reduction)));
}

}  // extern "C"
