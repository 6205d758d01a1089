// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that search: sorted places and distinct elements.
#include "kernels/compute/search.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/index.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/unique.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// One member of each group.
diopiError_t takeFirsts(diopiContextHandle_t ctx, const Queue& queue,
                        const TensorView& input, const int64_t* dim,
                        const UniqueGroups& groups, diopiTensorHandle_t* out) {
  if (dim != nullptr && input.ndim > 0) {
    int64_t sizes[kMaxDims];
    const int64_t along = *dim < 0 ? *dim + input.ndim : *dim;
    for (int32_t d = 0; d < input.ndim; ++d) sizes[d] = input.sizes[d];
    sizes[along] = groups.count;
    const diopiError_t error =
        requireTensor(ctx, sizes, input.ndim, input.dtype, out);
    if (error != diopiSuccess) return error;
    return done(indexSelect(queue, view(*out), input, along, groups.firsts));
  }
  const diopiError_t error =
      requireTensor(ctx, &groups.count, 1, input.dtype, out);
  if (error != diopiSuccess || groups.count == 0) return error;
  DenseTensor dense(queue, input, Order::kRowMajor);
  if (!dense.load()) return diopiErrorOccurred;
  const int64_t one = 1;
  TensorView flat = dense.view();
  flat.ndim = 1;
  flat.sizes = &input.numel;
  flat.strides = &one;
  return done(indexSelect(queue, view(*out), flat, 0, groups.firsts));
}

diopiError_t uniqueOf(diopiContextHandle_t ctx, const Queue& queue,
                      diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                      const int64_t* dim, UniqueOrder order, bool return_counts,
                      diopiTensorHandle_t indices,
                      diopiTensorHandle_t* counts) {
  const TensorView from = view(input);
  UniqueGroups groups;
  const Status status = unique(queue, from, dim, order, view(indices), &groups);
  if (status != Status::kOk) return done(status);
  diopiError_t error = takeFirsts(ctx, queue, from, dim, groups, out);
  if (error != diopiSuccess || !return_counts || counts == nullptr) {
    return error;
  }
  error = requireTensor(ctx, &groups.count, 1, DType::kInt64, counts);
  if (error != diopiSuccess || groups.count == 0) return error;
  return done(convertTensor(queue, view(*counts), groups.counts));
}

}  // namespace

extern "C" {

diopiError_t diopiExtSearchsorted(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t sorted_sequence,
                                  diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t sorter, bool right) {
  return done(searchSorted(queueOf(ctx), view(out), view(sorted_sequence),
                           view(input), view(sorter), right));
}

diopiError_t diopiUnique(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                         diopiConstTensorHandle_t input, const int64_t* dim,
                         bool /*sorted*/, bool return_counts,
                         diopiTensorHandle_t indices,
                         diopiTensorHandle_t* counts) {
  return uniqueOf(ctx, queueOf(ctx), out, input, dim, UniqueOrder::kSorted,
                  return_counts, indices, counts);
}

diopiError_t diopiExtUniqueConsecutive(diopiContextHandle_t ctx,
                                       diopiTensorHandle_t* out,
                                       diopiConstTensorHandle_t input,
                                       const int64_t* dim, bool return_counts,
                                       diopiTensorHandle_t indices,
                                       diopiTensorHandle_t* counts) {
  return uniqueOf(ctx, queueOf(ctx), out, input, dim, UniqueOrder::kConsecutive,
                  return_counts, indices, counts);
}

}  // extern "C"
