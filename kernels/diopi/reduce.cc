// SPDX-License-Identifier: Apache-2.0
//
// DIOPI reductions.
#include "kernels/compute/reduce.h"

#include <diopi/functions.h>

#include "kernels/compute/operands.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

Dims dimsOf(const diopiSize_t& size) { return {size.data, size.len}; }
// nullptr stands for all dimensions.
Dims dimsOf(const int64_t* dim) { return {dim, dim != nullptr ? 1 : 0}; }

double powerOf(const diopiScalar_t* p) {
  return p == nullptr ? 2.0 : scalar(p).to<double>();
}

// Positions along one dimension, or in the flattened tensor.
diopiError_t argExtreme(const Queue& queue, Extreme which,
                        diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        const int64_t* dim) {
  const TensorView result = view(out);
  const TensorView values = view(input);
  if (dim != nullptr) {
    return done(extremeAlong(queue, which, {}, result, values, *dim));
  }
  DenseTensor dense(queue, values, Order::kRowMajor);
  if (!dense.load()) return diopiErrorOccurred;
  const int64_t length = values.numel;
  const int64_t one = 1;
  TensorView flat = dense.view();
  flat.ndim = 1;
  flat.sizes = &length;
  flat.strides = &one;
  TensorView flat_result = result;
  flat_result.ndim = 1;
  flat_result.sizes = &one;
  flat_result.strides = &one;
  return done(extremeAlong(queue, which, {}, flat_result, flat, 0));
}

}  // namespace

extern "C" {

diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t dim) {
  return done(sum(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiMean(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiSize_t dim) {
  return done(mean(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiProd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, const int64_t* dim) {
  return done(prod(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiAny(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, const int64_t* dim) {
  return done(any(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiAll(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, const int64_t* dim) {
  return done(all(queueOf(ctx), view(out), view(input), dimsOf(dim)));
}

diopiError_t diopiStd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t dim,
                      const diopiScalar_t* correction) {
  const double divisor =
      correction != nullptr ? scalar(correction).to<double>() : 1.0;
  return done(
      stddev(queueOf(ctx), view(out), view(input), divisor, dimsOf(dim)));
}

diopiError_t diopiNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, const diopiScalar_t* p,
                       diopiSize_t dim) {
  return done(
      norm(queueOf(ctx), view(out), view(input), powerOf(p), dimsOf(dim)));
}

diopiError_t diopiLinalgVecNorm(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiScalar_t* ord, diopiSize_t dim,
                                bool /*keepdim*/) {
  return done(
      norm(queueOf(ctx), view(out), view(input), powerOf(ord), dimsOf(dim)));
}

diopiError_t diopiMax(diopiContextHandle_t ctx, diopiTensorHandle_t max,
                      diopiTensorHandle_t max_indices,
                      diopiConstTensorHandle_t input, int64_t dim) {
  return done(extremeAlong(queueOf(ctx), Extreme::kMax, view(max),
                           view(max_indices), view(input), dim));
}

diopiError_t diopiMin(diopiContextHandle_t ctx, diopiTensorHandle_t min,
                      diopiTensorHandle_t min_indices,
                      diopiConstTensorHandle_t input, int64_t dim) {
  return done(extremeAlong(queueOf(ctx), Extreme::kMin, view(min),
                           view(min_indices), view(input), dim));
}

diopiError_t diopiMaxAll(diopiContextHandle_t ctx, diopiTensorHandle_t max,
                         diopiConstTensorHandle_t input) {
  return done(extreme(queueOf(ctx), Extreme::kMax, view(max), view(input), {}));
}

diopiError_t diopiMinAll(diopiContextHandle_t ctx, diopiTensorHandle_t min,
                         diopiConstTensorHandle_t input) {
  return done(extreme(queueOf(ctx), Extreme::kMin, view(min), view(input), {}));
}

diopiError_t diopiAmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t self, diopiSize_t dim,
                       bool /*keepdim*/) {
  return done(
      extreme(queueOf(ctx), Extreme::kMax, view(out), view(self), dimsOf(dim)));
}

diopiError_t diopiArgmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const int64_t* dim,
                         bool /*keepdim*/) {
  return argExtreme(queueOf(ctx), Extreme::kMax, out, input, dim);
}

diopiError_t diopiArgmin(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, const int64_t* dim,
                         bool /*keepdim*/) {
  return argExtreme(queueOf(ctx), Extreme::kMin, out, input, dim);
}

}  // extern "C"
