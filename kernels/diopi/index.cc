// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that read or write at given positions.
#include "kernels/compute/index.h"

#include <diopi/functions.h>

#include <algorithm>
#include <cstring>

#include "kernels/compute/elementwise.h"
#include "kernels/diopi/index_list.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// Two views of one shape. They borrow from this object.
struct Broadcast {
  TensorView views[2];
  int64_t sizes[kMaxDims];
  int64_t strides[2][kMaxDims];

  Status join(const TensorView& a, const TensorView& b) {
    const TensorView* const tensors[] = {&a, &b};
    const int32_t ndim = std::max(a.ndim, b.ndim);
    if (ndim > kMaxDims) {
      return fail(Status::kUnsupported, "more than %d dimensions", kMaxDims);
    }
    int64_t numel = 1;
    for (int32_t d = 0; d < ndim; ++d) {
      sizes[d] = 1;
      for (int k = 0; k < 2; ++k) {
        const int32_t own = d - (ndim - tensors[k]->ndim);
        const int64_t size = own < 0 ? 1 : tensors[k]->sizes[own];
        strides[k][d] = size == 1 ? 0 : tensors[k]->strides[own];
        if (size == 1) continue;
        if (sizes[d] != 1 && sizes[d] != size) {
          return fail(Status::kInvalid, "sizes %lld and %lld do not broadcast",
                      static_cast<long long>(sizes[d]),
                      static_cast<long long>(size));
        }
        sizes[d] = size;
      }
      numel *= sizes[d];
    }
    for (int k = 0; k < 2; ++k) {
      views[k] = *tensors[k];
      views[k].ndim = ndim;
      views[k].numel = numel;
      views[k].sizes = sizes;
      views[k].strides = strides[k];
    }
    return Status::kOk;
  }
};

diopiError_t scatterMode(const char* reduce, ScatterMode* mode) {
  *mode = ScatterMode::kAssign;
  if (reduce == nullptr || *reduce == '\0') return diopiSuccess;
  if (std::strcmp(reduce, "add") == 0) {
    *mode = ScatterMode::kAdd;
    return diopiSuccess;
  }
  if (std::strcmp(reduce, "multiply") == 0) {
    *mode = ScatterMode::kMultiply;
    return diopiSuccess;
  }
  fail(Status::kUnsupported, "scatter has no reduction '%s'", reduce);
  return diopiNoImplement;
}

diopiError_t scatterTensor(const Queue& queue, diopiTensorHandle_t out,
                           int64_t dim, diopiConstTensorHandle_t src,
                           diopiConstTensorHandle_t index, const char* reduce) {
  ScatterMode mode;
  const diopiError_t error = scatterMode(reduce, &mode);
  if (error != diopiSuccess) return error;
  return done(scatter(queue, view(out), dim, view(index), view(src), mode));
}

diopiError_t scatterNumber(const Queue& queue, diopiTensorHandle_t out,
                           int64_t dim, const diopiScalar_t* value,
                           diopiConstTensorHandle_t index, const char* reduce) {
  ScatterMode mode;
  const diopiError_t error = scatterMode(reduce, &mode);
  if (error != diopiSuccess) return error;
  return done(
      scatterScalar(queue, view(out), dim, view(index), scalar(value), mode));
}

diopiError_t putAt(diopiContextHandle_t ctx, const Queue& queue,
                   diopiTensorHandle_t out, diopiConstTensorHandle_t values,
                   diopiConstTensorHandle_t* indices, int64_t count,
                   bool accumulate) {
  Indices list;
  const diopiError_t error = list.read(ctx, queue, indices, count);
  if (error != diopiSuccess) return error;
  return done(
      indexPut(queue, view(out), view(values), list.index(), accumulate));
}

}  // namespace

extern "C" {

diopiError_t diopiIndexSelect(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, int64_t dim,
                              diopiConstTensorHandle_t index) {
  return done(
      indexSelect(queueOf(ctx), view(out), view(input), dim, view(index)));
}

diopiError_t diopiIndexFillInpScalar(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t input, int64_t dim,
                                     diopiConstTensorHandle_t index,
                                     const diopiScalar_t* value) {
  return done(
      indexFill(queueOf(ctx), view(input), dim, view(index), scalar(value)));
}

diopiError_t diopiIndexFillScalar(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input, int64_t dim,
                                  diopiConstTensorHandle_t index,
                                  const diopiScalar_t* value) {
  const Queue queue = queueOf(ctx);
  const Status status = convertTensor(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(indexFill(queue, view(out), dim, view(index), scalar(value)));
}

diopiError_t diopiEmbedding(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t indices,
                            int64_t /*padding_idx*/, bool /*scale_grad*/,
                            bool /*sparse*/) {
  return done(embedding(queueOf(ctx), view(out), view(weight), view(indices)));
}

diopiError_t diopiEmbeddingBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t grad,
                                    diopiConstTensorHandle_t indices,
                                    int64_t /*num_weights*/,
                                    int64_t padding_idx, bool scale_grad_byfreq,
                                    bool sparse) {
  if (sparse) {
    fail(Status::kUnsupported, "embedding_backward has no sparse result");
    return diopiNoImplement;
  }
  return done(embeddingBackward(queueOf(ctx), view(out), view(grad),
                                view(indices), padding_idx, scale_grad_byfreq));
}

diopiError_t diopiGather(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim,
                         diopiConstTensorHandle_t index) {
  return done(gather(queueOf(ctx), view(out), view(input), dim, view(index)));
}

diopiError_t diopiScatterInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t input, int64_t dim,
                             diopiConstTensorHandle_t src,
                             diopiConstTensorHandle_t index,
                             const char* reduce) {
  return scatterTensor(queueOf(ctx), input, dim, src, index, reduce);
}

diopiError_t diopiScatterInpScalar(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t input, int64_t dim,
                                   const diopiScalar_t* value,
                                   diopiConstTensorHandle_t index,
                                   const char* reduce) {
  return scatterNumber(queueOf(ctx), input, dim, value, index, reduce);
}

diopiError_t diopiScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim,
                          diopiConstTensorHandle_t src,
                          diopiConstTensorHandle_t index, const char* reduce) {
  const Queue queue = queueOf(ctx);
  const Status status = convertTensor(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return scatterTensor(queue, out, dim, src, index, reduce);
}

diopiError_t diopiScatterScalar(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input, int64_t dim,
                                const diopiScalar_t* value,
                                diopiConstTensorHandle_t index,
                                const char* reduce) {
  const Queue queue = queueOf(ctx);
  const Status status = convertTensor(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return scatterNumber(queue, out, dim, value, index, reduce);
}

diopiError_t diopiIndex(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t* indices, int64_t nums) {
  const Queue queue = queueOf(ctx);
  Indices list;
  diopiError_t error = list.read(ctx, queue, indices, nums);
  if (error != diopiSuccess) return error;
  const TensorView from = view(input);
  int64_t sizes[2 * AdvancedIndex::kMaxDims];
  int32_t ndim = 0;
  const Status status = indexedSizes(from, list.index(), sizes, &ndim);
  if (status != Status::kOk) return done(status);
  error = requireTensor(ctx, sizes, ndim, from.dtype, out);
  if (error != diopiSuccess) return error;
  return done(indexGet(queue, view(*out), from, list.index()));
}

diopiError_t diopiIndexPutInp(diopiContextHandle_t ctx,
                              diopiTensorHandle_t input,
                              diopiConstTensorHandle_t values,
                              diopiConstTensorHandle_t* indices,
                              int64_t indices_counts, bool accumulate) {
  return putAt(ctx, queueOf(ctx), input, values, indices, indices_counts,
               accumulate);
}

diopiError_t diopiIndexPut(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t values,
                           diopiConstTensorHandle_t* indices,
                           int64_t indices_counts, bool accumulate) {
  const Queue queue = queueOf(ctx);
  const Status status = convertTensor(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return putAt(ctx, queue, out, values, indices, indices_counts, accumulate);
}

diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                          diopiConstTensorHandle_t input) {
  const Queue queue = queueOf(ctx);
  const TensorView from = view(input);
  int64_t sizes[2] = {0, from.ndim};
  const Status status = countNonzero(queue, from, &sizes[0]);
  if (status != Status::kOk) return done(status);
  const diopiError_t error = requireTensor(ctx, sizes, 2, DType::kInt64, out);
  if (error != diopiSuccess) return error;
  return done(nonzero(queue, view(*out), from));
}

diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx,
                               diopiTensorHandle_t* out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t mask) {
  const Queue queue = queueOf(ctx);
  Broadcast operands;
  Status status = operands.join(view(input), view(mask));
  if (status != Status::kOk) return done(status);
  const TensorView& from = operands.views[0];
  const TensorView& flags = operands.views[1];
  int64_t count = 0;
  status = countNonzero(queue, flags, &count);
  if (status != Status::kOk) return done(status);
  const diopiError_t error = requireTensor(ctx, &count, 1, from.dtype, out);
  if (error != diopiSuccess) return error;
  return done(maskedSelect(queue, view(*out), from, flags));
}

}  // extern "C"
