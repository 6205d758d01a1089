// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that move elements to other places.
#include "kernels/compute/arrange.h"

#include <diopi/functions.h>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/sort.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// A vector without elements joins a concatenation of any shape.
bool isSkipped(const TensorView& tensor) {
  return tensor.ndim == 1 && tensor.numel == 0;
}

int64_t wrap(int64_t dim, int32_t ndim) { return dim < 0 ? dim + ndim : dim; }

// `tensor` with a dimension of size 1 inserted at `dim`.
struct Unsqueezed {
  int64_t sizes[kMaxDims + 1];
  int64_t strides[kMaxDims + 1];

  TensorView of(const TensorView& tensor, int64_t dim) {
    for (int32_t from = 0, to = 0; to <= tensor.ndim; ++to) {
      const bool inserted = to == dim;
      sizes[to] = inserted ? 1 : tensor.sizes[from];
      strides[to] = inserted ? 0 : tensor.strides[from];
      from += inserted ? 0 : 1;
    }
    TensorView result = tensor;
    result.sizes = sizes;
    result.strides = strides;
    result.ndim += 1;
    return result;
  }
};

}  // namespace

extern "C" {

diopiError_t diopiCat(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t* tensors, int64_t num_inputs,
                      int64_t dim) {
  const Queue queue = queueOf(ctx);
  const TensorView result = view(out);
  dim = wrap(dim, result.ndim);
  int64_t start = 0;
  for (int64_t i = 0; i < num_inputs; ++i) {
    const TensorView part = view(tensors[i]);
    if (isSkipped(part)) continue;
    const Status status = copyInto(queue, result, dim, start, part);
    if (status != Status::kOk) return done(status);
    start += part.sizes[dim];
  }
  return diopiSuccess;
}

diopiError_t diopiStack(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t* tensors, int64_t num_tensors,
                        int64_t dim) {
  const Queue queue = queueOf(ctx);
  const TensorView result = view(out);
  dim = wrap(dim, result.ndim);
  if (result.ndim > kMaxDims) return diopiNoImplement;
  for (int64_t i = 0; i < num_tensors; ++i) {
    Unsqueezed part;
    const Status status =
        copyInto(queue, result, dim, i, part.of(view(tensors[i]), dim));
    if (status != Status::kOk) return done(status);
  }
  return diopiSuccess;
}

diopiError_t diopiSplitWithSizes(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t* outs, int64_t num_outs,
                                 diopiConstTensorHandle_t input,
                                 const diopiSize_t split_sizes, int64_t dim) {
  const Queue queue = queueOf(ctx);
  const TensorView from = view(input);
  int64_t start = 0;
  for (int64_t i = 0; i < num_outs && i < split_sizes.len; ++i) {
    const Status status = copyFrom(queue, view(outs[i]), from, dim, start);
    if (status != Status::kOk) return done(status);
    start += split_sizes.data[i];
  }
  return diopiSuccess;
}

diopiError_t diopiFlip(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dims) {
  return done(flip(queueOf(ctx), view(out), view(input), dims.data, dims.len));
}

diopiError_t diopiRoll(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t shifts,
                       diopiSize_t dims) {
  if (dims.len != 0 && dims.len != shifts.len) {
    return done(fail(Status::kInvalid, "roll: %lld shifts of %lld dimensions",
                     static_cast<long long>(shifts.len),
                     static_cast<long long>(dims.len)));
  }
  return done(roll(queueOf(ctx), view(out), view(input), shifts.data,
                   dims.len == 0 ? nullptr : dims.data, shifts.len));
}

diopiError_t diopiRepeat(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         diopiSize_t /*repeats_size*/) {
  return done(repeat(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExpand(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input) {
  return done(convertTensor(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiTril(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, int64_t diagonal) {
  return done(triangle(queueOf(ctx), Triangle::kLower, view(out), view(input),
                       diagonal));
}

diopiError_t diopiTriu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, int64_t diagonal) {
  return done(triangle(queueOf(ctx), Triangle::kUpper, view(out), view(input),
                       diagonal));
}

diopiError_t diopiTriuInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                          int64_t diagonal) {
  return done(triangle(queueOf(ctx), Triangle::kUpper, view(input), view(input),
                       diagonal));
}

diopiError_t diopiOneHot(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         int64_t /*num_classes*/) {
  return done(oneHot(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiSort(diopiContextHandle_t ctx, diopiTensorHandle_t values,
                       diopiTensorHandle_t indices,
                       diopiConstTensorHandle_t input, int64_t dim,
                       bool descending, const bool* /*pStable*/) {
  return done(sort(queueOf(ctx), view(values), view(indices), view(input), dim,
                   descending));
}

diopiError_t diopiArgsort(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, bool /*stable*/,
                          const int64_t* dim, bool descending) {
  return done(sort(queueOf(ctx), {}, view(out), view(input),
                   dim != nullptr ? *dim : -1, descending));
}

diopiError_t diopiTopk(diopiContextHandle_t ctx, diopiTensorHandle_t values,
                       diopiTensorHandle_t indices,
                       diopiConstTensorHandle_t input, int64_t k, int64_t dim,
                       bool largest, bool /*sorted*/) {
  return done(topk(queueOf(ctx), view(values), view(indices), view(input), k,
                   dim, largest));
}

}  // extern "C"
