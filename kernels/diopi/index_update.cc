// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that combine or replace elements at given positions, and
// those that count positions in a flattened tensor.
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include <algorithm>
#include <cstring>

#include "kernels/compute/arrange.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/flat_index.h"
#include "kernels/compute/index.h"
#include "kernels/compute/index_combine.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// What an operator that works in place starts from, unless it is there.
Status startFrom(const Queue& queue, const TensorView& out,
                 const TensorView& input) {
  const bool same =
      out.data == input.data && out.ndim == input.ndim &&
      std::equal(out.strides, out.strides + out.ndim, input.strides);
  return same ? Status::kOk : convertTensor(queue, out, input);
}

Status combineOf(const char* reduce, Combine* combine) {
  static constexpr struct {
    const char* name;
    Combine combine = Combine::kSum;
  } kNames[] = {{"sum", Combine::kSum},
                {"prod", Combine::kProduct},
                {"mean", Combine::kMean},
                {"amax", Combine::kMax},
                {"amin", Combine::kMin}};
  for (const auto& known : kNames) {
    if (std::strcmp(known.name, reduce) != 0) continue;
    *combine = known.combine;
    return Status::kOk;
  }
  return fail(Status::kUnsupported, "there is no reduction '%s'", reduce);
}

}  // namespace

extern "C" {

diopiError_t diopiExtIndexAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, int64_t dim,
                              diopiConstTensorHandle_t index,
                              diopiConstTensorHandle_t source,
                              const diopiScalar_t* alpha) {
  const Queue queue = queueOf(ctx);
  const Status status = startFrom(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(indexAdd(queue, view(out), dim, view(index), view(source),
                       scalar(alpha)));
}

diopiError_t diopiExtIndexCopy(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input, int64_t dim,
                               diopiConstTensorHandle_t index,
                               diopiConstTensorHandle_t source) {
  const Queue queue = queueOf(ctx);
  const Status status = startFrom(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(indexCopy(queue, view(out), dim, view(index), view(source)));
}

diopiError_t diopiExtIndexReduce(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input, int64_t dim,
                                 diopiConstTensorHandle_t index,
                                 diopiConstTensorHandle_t source,
                                 const char* reduce, bool include_self) {
  const Queue queue = queueOf(ctx);
  Combine combine = Combine::kSum;
  Status status = combineOf(reduce, &combine);
  if (status != Status::kOk) return done(status);
  status = startFrom(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(indexReduce(queue, view(out), dim, view(index), view(source),
                          combine, include_self));
}

diopiError_t diopiExtScatterReduce(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, int64_t dim,
                                   diopiConstTensorHandle_t index,
                                   diopiConstTensorHandle_t src,
                                   const char* reduce, bool include_self) {
  const Queue queue = queueOf(ctx);
  Combine combine = Combine::kSum;
  Status status = combineOf(reduce, &combine);
  if (status != Status::kOk) return done(status);
  status = startFrom(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(scatterReduce(queue, view(out), dim, view(index), view(src),
                            combine, include_self));
}

diopiError_t diopiExtTake(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t index) {
  return done(take(queueOf(ctx), view(out), view(input), view(index)));
}

diopiError_t diopiExtPutInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                            diopiConstTensorHandle_t index,
                            diopiConstTensorHandle_t source, bool accumulate) {
  return done(
      put(queueOf(ctx), view(input), view(index), view(source), accumulate));
}

diopiError_t diopiMaskedScatter(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t mask,
                                diopiConstTensorHandle_t source) {
  const Queue queue = queueOf(ctx);
  const Status status = startFrom(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return done(maskedScatter(queue, view(out), view(mask), view(source)));
}

diopiError_t diopiExtNonzeroStatic(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input,
                                   int64_t fill_value) {
  return done(nonzero(queueOf(ctx), view(out), view(input), fill_value));
}

diopiError_t diopiExtRepeatInterleave(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* out,
                                      diopiConstTensorHandle_t repeats,
                                      const int64_t* output_size) {
  const Queue queue = queueOf(ctx);
  const TensorView from = view(repeats);
  int64_t size = output_size != nullptr ? *output_size : 0;
  if (output_size == nullptr) {
    const Status status = sumRepeats(queue, from, &size);
    if (status != Status::kOk) return done(status);
  }
  const diopiError_t error = requireTensor(ctx, &size, 1, from.dtype, out);
  if (error != diopiSuccess) return error;
  return done(repeatInterleave(queue, view(*out), from));
}

diopiError_t diopiExtNarrowCopy(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input, int64_t dim,
                                int64_t start) {
  const TensorView from = view(input);
  const int64_t along = dim < 0 ? dim + from.ndim : dim;
  if (start < 0 && along >= 0 && along < from.ndim) start += from.sizes[along];
  return done(copyFrom(queueOf(ctx), view(out), from, dim, start));
}

}  // extern "C"
