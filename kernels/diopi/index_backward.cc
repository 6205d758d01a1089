// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's gradients of functions that take elements from given positions: the
// positions that were taken get the gradients, the others 0.
#include <diopi/functions.h>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/flat_index.h"
#include "kernels/compute/index.h"
#include "kernels/compute/index_combine.h"
#include "kernels/compute/pointwise.h"
#include "kernels/diopi/index_list.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

Status clear(const Queue& queue, const TensorView& grad) {
  return fill(queue, grad, {true, 0, 0.0});
}

}  // namespace

extern "C" {

diopiError_t diopiGatherBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiConstTensorHandle_t /*input*/,
                                 int64_t dim, diopiConstTensorHandle_t index) {
  const Queue queue = queueOf(ctx);
  const Status status = clear(queue, view(grad_input));
  if (status != Status::kOk) return done(status);
  return done(scatterReduce(queue, view(grad_input), dim, view(index),
                            view(grad_output), Combine::kSum,
                            /*include_self=*/true));
}

diopiError_t diopiIndexSelectBackward(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad,
                                      diopiSize_t /*input_sizes*/, int64_t dim,
                                      diopiConstTensorHandle_t index) {
  const Queue queue = queueOf(ctx);
  const Status status = clear(queue, view(grad_input));
  if (status != Status::kOk) return done(status);
  return done(indexAdd(queue, view(grad_input), dim, view(index), view(grad),
                       {true, 1, 1.0}));
}

// zeros_like_input is what the gradients are added to; 0 without it.
diopiError_t diopiIndexBackward(diopiContextHandle_t ctx,
                                diopiTensorHandle_t grad_input,
                                diopiTensorHandle_t zeros_like_input,
                                diopiConstTensorHandle_t* indices, int64_t nums,
                                diopiConstTensorHandle_t grad_output) {
  const Queue queue = queueOf(ctx);
  Indices list;
  const diopiError_t error = list.read(ctx, queue, indices, nums);
  if (error != diopiSuccess) return error;
  const TensorView out = view(grad_input);
  const Status status = zeros_like_input == nullptr
                            ? clear(queue, out)
                            : convertTensor(queue, out, view(zeros_like_input));
  if (status != Status::kOk) return done(status);
  return done(indexPut(queue, out, view(grad_output), list.index(),
                       /*accumulate=*/true));
}

diopiError_t diopiSortBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               int64_t dim, diopiConstTensorHandle_t indices,
                               diopiSize_t /*sizes*/, bool /*keepdim*/) {
  const Queue queue = queueOf(ctx);
  const Status status = clear(queue, view(grad_input));
  if (status != Status::kOk) return done(status);
  return done(scatter(queue, view(grad_input), dim, view(indices),
                      view(grad_output), ScatterMode::kAssign));
}

diopiError_t diopiMaskedSelectBackward(diopiContextHandle_t ctx,
                                       diopiTensorHandle_t grad_input,
                                       diopiConstTensorHandle_t grad_output,
                                       diopiConstTensorHandle_t /*input*/,
                                       diopiConstTensorHandle_t mask) {
  const Queue queue = queueOf(ctx);
  const Status status = clear(queue, view(grad_input));
  if (status != Status::kOk) return done(status);
  return done(
      maskedScatter(queue, view(grad_input), view(mask), view(grad_output)));
}

}  // extern "C"
