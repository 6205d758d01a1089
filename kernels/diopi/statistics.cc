// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that describe the elements of a tensor: extremes, moments,
// ranks and counts.
#include <diopi/functions_dipu.h>

#include <algorithm>

#include "kernels/compute/histogram.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/order.h"
#include "kernels/compute/reduce.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

Dims dimsOf(const diopiSize_t& size) { return {size.data, size.len}; }
// nullptr stands for all dimensions.
Dims dimsOf(const int64_t* dim) { return {dim, dim != nullptr ? 1 : 0}; }

double divisorOf(const diopiScalar_t* correction) {
  return correction != nullptr ? scalar(correction).to<double>() : 1.0;
}

diopiError_t medianOf(const Queue& queue, diopiTensorHandle_t values,
                      diopiTensorHandle_t indices,
                      diopiConstTensorHandle_t input, const int64_t* dim,
                      bool ignore_nan) {
  const TensorView from = view(input);
  if (dim != nullptr) {
    return done(
        median(queue, view(values), view(indices), from, *dim, ignore_nan));
  }
  if (itemSize(from.dtype) == 0 || from.numel == 0) {
    return done(unsupportedDType("median", from.dtype));
  }
  DenseTensor dense(queue, from, Order::kRowMajor);
  if (!dense.load()) return diopiErrorOccurred;
  const int64_t one = 1;
  TensorView flat = dense.view();
  flat.ndim = 1;
  flat.sizes = &from.numel;
  flat.strides = &one;
  return done(median(queue, view(values), view(indices), flat, 0, ignore_nan));
}

}  // namespace

extern "C" {

diopiError_t diopiExtAmin(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t dim,
                          bool /*keepdim*/) {
  return done(extreme(queueOf(ctx), Extreme::kMin, view(out), view(input),
                      dimsOf(dim)));
}

diopiError_t diopiExtAminmax(diopiContextHandle_t ctx, diopiTensorHandle_t min,
                             diopiTensorHandle_t max,
                             diopiConstTensorHandle_t input, const int64_t* dim,
                             bool /*keepdim*/) {
  const Queue queue = queueOf(ctx);
  const TensorView from = view(input);
  const Status status =
      extreme(queue, Extreme::kMin, view(min), from, dimsOf(dim));
  if (status != Status::kOk) return done(status);
  return done(extreme(queue, Extreme::kMax, view(max), from, dimsOf(dim)));
}

diopiError_t diopiExtCountNonzero(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input,
                                  diopiSize_t dim) {
  return done(countAlong(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiExtNansum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiSize_t dim) {
  return done(nanSum(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiExtVar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiSize_t dim,
                         const diopiScalar_t* correction) {
  return done(variance(queueOf(ctx), view(out), view(input),
                       divisorOf(correction), dimsOf(dim)));
}

diopiError_t diopiExtVarMean(diopiContextHandle_t ctx, diopiTensorHandle_t var,
                             diopiTensorHandle_t mean_out,
                             diopiConstTensorHandle_t input, diopiSize_t dim,
                             const diopiScalar_t* correction) {
  const Queue queue = queueOf(ctx);
  const Status status = variance(queue, view(var), view(input),
                                 divisorOf(correction), dimsOf(dim));
  if (status != Status::kOk) return done(status);
  return done(mean(queue, view(mean_out), view(input), dimsOf(dim)));
}

diopiError_t diopiExtStdMean(diopiContextHandle_t ctx, diopiTensorHandle_t std,
                             diopiTensorHandle_t mean_out,
                             diopiConstTensorHandle_t input, diopiSize_t dim,
                             const diopiScalar_t* correction) {
  const Queue queue = queueOf(ctx);
  const Status status =
      stddev(queue, view(std), view(input), divisorOf(correction), dimsOf(dim));
  if (status != Status::kOk) return done(status);
  return done(mean(queue, view(mean_out), view(input), dimsOf(dim)));
}

diopiError_t diopiExtKthvalue(diopiContextHandle_t ctx,
                              diopiTensorHandle_t values,
                              diopiTensorHandle_t indices,
                              diopiConstTensorHandle_t input, int64_t k,
                              int64_t dim, bool /*keepdim*/) {
  return done(
      kthValue(queueOf(ctx), view(values), view(indices), view(input), k, dim));
}

diopiError_t diopiExtMedian(diopiContextHandle_t ctx,
                            diopiTensorHandle_t values,
                            diopiTensorHandle_t indices,
                            diopiConstTensorHandle_t input, const int64_t* dim,
                            bool /*keepdim*/) {
  return medianOf(queueOf(ctx), values, indices, input, dim,
                  /*ignore_nan=*/false);
}

diopiError_t diopiExtNanmedian(diopiContextHandle_t ctx,
                               diopiTensorHandle_t values,
                               diopiTensorHandle_t indices,
                               diopiConstTensorHandle_t input,
                               const int64_t* dim, bool /*keepdim*/) {
  return medianOf(queueOf(ctx), values, indices, input, dim,
                  /*ignore_nan=*/true);
}

diopiError_t diopiExtMode(diopiContextHandle_t ctx, diopiTensorHandle_t values,
                          diopiTensorHandle_t indices,
                          diopiConstTensorHandle_t input, int64_t dim,
                          bool /*keepdim*/) {
  return done(
      mode(queueOf(ctx), view(values), view(indices), view(input), dim));
}

diopiError_t diopiExtBincount(diopiContextHandle_t ctx,
                              diopiTensorHandle_t* out,
                              diopiConstTensorHandle_t input,
                              diopiConstTensorHandle_t weights,
                              int64_t minlength) {
  const Queue queue = queueOf(ctx);
  const TensorView from = view(input);
  const TensorView by = view(weights);
  if (minlength < 0) {
    return done(fail(Status::kInvalid, "minlength should be >= 0"));
  }
  int64_t low = 0;
  int64_t high = -1;
  if (from.numel > 0) {
    const Status status = integerRange(queue, from, &low, &high);
    if (status != Status::kOk) return done(status);
  }
  if (from.ndim != 1 || low < 0) {
    return done(
        fail(Status::kInvalid,
             "bincount only supports 1-d non-negative integral inputs."));
  }
  // Without elements there are no weights to sum, as PyTorch has it.
  const bool counts = !by.defined() || from.numel == 0;
  const DType dtype = counts                        ? DType::kInt64
                      : by.dtype == DType::kFloat32 ? DType::kFloat32
                                                    : DType::kFloat64;
  const int64_t size = std::max(high + 1, minlength);
  const diopiError_t error = requireTensor(ctx, &size, 1, dtype, out);
  if (error != diopiSuccess) return error;
  return done(binCount(queue, view(*out), from, counts ? TensorView() : by));
}

diopiError_t diopiExtHistc(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t /*bins*/,
                           const diopiScalar_t* min, const diopiScalar_t* max) {
  return done(equalBins(queueOf(ctx), view(out), view(input),
                        scalar(min).to<double>(), scalar(max).to<double>()));
}

diopiError_t diopiExtHistogram(diopiContextHandle_t ctx,
                               diopiTensorHandle_t hist,
                               diopiConstTensorHandle_t edges,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t weight, bool density) {
  return done(givenBins(queueOf(ctx), view(hist), view(edges), view(input),
                        view(weight), density));
}

}  // extern "C"
