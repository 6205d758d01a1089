// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's pooling functions, over one to three dimensions.
#include <diopi/functions.h>

#include <cstring>

#include "kernels/compute/pooling/pool.h"
#include "kernels/diopi/size_list.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::avgPool;
using dipu::kernels::avgPoolBackward;
using dipu::kernels::fail;
using dipu::kernels::maxPool;
using dipu::kernels::maxPoolBackward;
using dipu::kernels::PoolArguments;
using dipu::kernels::Status;
using dipu::kernels::TensorView;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::poolArguments;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

PoolArguments averageArguments(int32_t dimensions, const diopiSize_t& kernel,
                               const diopiSize_t& stride,
                               const diopiSize_t& padding,
                               bool count_include_pad,
                               const int64_t* divisor_override) {
  PoolArguments arguments = poolArguments(dimensions, kernel, stride, padding,
                                          diopiSize_t{nullptr, 0});
  arguments.count_include_pad = count_include_pad;
  arguments.divisor = divisor_override == nullptr ? 0 : *divisor_override;
  return arguments;
}

PoolArguments adaptiveArguments(int32_t dimensions) {
  PoolArguments arguments;
  arguments.dimensions = dimensions;
  arguments.adaptive = true;
  return arguments;
}

// The arguments of DIOPI's general pooling, which names its mode.
PoolArguments generalArguments(int32_t dimensions, const diopiSize_t& kernel,
                               const diopiSize_t& stride,
                               const diopiSize_t& padding,
                               const diopiSize_t& dilation, bool exclusive,
                               bool adaptive) {
  if (adaptive) return adaptiveArguments(dimensions);
  PoolArguments arguments =
      poolArguments(dimensions, kernel, stride, padding, dilation);
  arguments.count_include_pad = !exclusive;
  return arguments;
}

// Whether `mode` is "max", which it tells from "avg".
Status readMode(const char* mode, bool* maximum) {
  if (mode == nullptr) mode = "";
  *maximum = std::strcmp(mode, "max") == 0;
  if (*maximum || std::strcmp(mode, "avg") == 0) return Status::kOk;
  return fail(Status::kInvalid, "pool has no mode '%s'", mode);
}

}  // namespace

// The shape of the result says all that ceil_mode and output_size would.
//
// DIPU_POOLING(n) exports the functions that differ between numbers of
// dimensions by their names only; it is used once for each.
#define DIPU_POOLING(n)                                                       \
  diopiError_t diopiMaxPool##n##d(                                            \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, diopiSize_t kernel_size,                \
      diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool) {  \
    return done(                                                              \
        maxPool(queueOf(ctx), view(out), TensorView(), view(input),           \
                poolArguments(n, kernel_size, stride, padding, dilation)));   \
  }                                                                           \
  diopiError_t diopiMaxPool##n##dWithIndices(                                 \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiTensorHandle_t indices, diopiConstTensorHandle_t input,            \
      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,       \
      diopiSize_t dilation, bool) {                                           \
    return done(                                                              \
        maxPool(queueOf(ctx), view(out), view(indices), view(input),          \
                poolArguments(n, kernel_size, stride, padding, dilation)));   \
  }                                                                           \
  diopiError_t diopiMaxPool##n##dBackward(                                    \
      diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,               \
      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t,         \
      diopiSize_t, diopiSize_t, diopiSize_t, diopiSize_t, bool,               \
      diopiConstTensorHandle_t indices) {                                     \
    return done(maxPoolBackward(queueOf(ctx), view(grad_input),               \
                                view(grad_output), view(indices), n));        \
  }                                                                           \
  diopiError_t diopiAdaptiveAvgPool##n##d(                                    \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, diopiSize_t) {                          \
    return done(                                                              \
        avgPool(queueOf(ctx), view(out), view(input), adaptiveArguments(n))); \
  }                                                                           \
  diopiError_t diopiAdaptiveAvgPool##n##dBackward(                            \
      diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,               \
      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t) {       \
    return done(avgPoolBackward(queueOf(ctx), view(grad_input),               \
                                view(grad_output), adaptiveArguments(n)));    \
  }                                                                           \
  diopiError_t diopiAdaptiveMaxPool##n##d(                                    \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, diopiSize_t) {                          \
    return done(maxPool(queueOf(ctx), view(out), TensorView(), view(input),   \
                        adaptiveArguments(n)));                               \
  }                                                                           \
  diopiError_t diopiAdaptiveMaxPool##n##dWithIndices(                         \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiTensorHandle_t indices, diopiConstTensorHandle_t input,            \
      diopiSize_t) {                                                          \
    return done(maxPool(queueOf(ctx), view(out), view(indices), view(input),  \
                        adaptiveArguments(n)));                               \
  }                                                                           \
  diopiError_t diopiAdaptiveMaxPool##n##dBackward(                            \
      diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,               \
      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t,         \
      diopiConstTensorHandle_t indices) {                                     \
    return done(maxPoolBackward(queueOf(ctx), view(grad_input),               \
                                view(grad_output), view(indices), n));        \
  }                                                                           \
  diopiError_t diopiPool##n##d(                                               \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, const char* mode, diopiSize_t ksize,    \
      diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,          \
      const bool, const bool exclusive, const bool adaptive, diopiSize_t) {   \
    bool maximum = false;                                                     \
    const Status status = readMode(mode, &maximum);                           \
    if (status != Status::kOk) return done(status);                           \
    const PoolArguments arguments = generalArguments(                         \
        n, ksize, stride, padding, dilation, exclusive, adaptive);            \
    if (maximum) {                                                            \
      return done(maxPool(queueOf(ctx), view(out), TensorView(), view(input), \
                          arguments));                                        \
    }                                                                         \
    return done(avgPool(queueOf(ctx), view(out), view(input), arguments));    \
  }                                                                           \
  diopiError_t diopiPool##n##dBackward(                                       \
      diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,               \
      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t,         \
      const char* mode, diopiSize_t ksize, diopiSize_t stride,                \
      diopiSize_t padding, diopiSize_t dilation, const bool,                  \
      const bool exclusive, const bool adaptive,                              \
      diopiConstTensorHandle_t indices) {                                     \
    bool maximum = false;                                                     \
    const Status status = readMode(mode, &maximum);                           \
    if (status != Status::kOk) return done(status);                           \
    const PoolArguments arguments = generalArguments(                         \
        n, ksize, stride, padding, dilation, exclusive, adaptive);            \
    if (maximum) {                                                            \
      return done(maxPoolBackward(queueOf(ctx), view(grad_input),             \
                                  view(grad_output), view(indices), n));      \
    }                                                                         \
    return done(avgPoolBackward(queueOf(ctx), view(grad_input),               \
                                view(grad_output), arguments));               \
  }

// DIPU_AVERAGE_POOLING(n) exports averages whose divisor can be chosen; it is
// used once for each number of dimensions that has them.
#define DIPU_AVERAGE_POOLING(n)                                               \
  diopiError_t diopiAvgPool##n##d(                                            \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, diopiSize_t kernel_size,                \
      diopiSize_t stride, diopiSize_t padding, bool, bool count_include_pad,  \
      const int64_t* divisor_override) {                                      \
    return done(                                                              \
        avgPool(queueOf(ctx), view(out), view(input),                         \
                averageArguments(n, kernel_size, stride, padding,             \
                                 count_include_pad, divisor_override)));      \
  }                                                                           \
  diopiError_t diopiAvgPool##n##dBackward(                                    \
      diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,               \
      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t,         \
      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, bool, \
      bool count_include_pad, const int64_t* divisor_override) {              \
    return done(avgPoolBackward(                                              \
        queueOf(ctx), view(grad_input), view(grad_output),                    \
        averageArguments(n, kernel_size, stride, padding, count_include_pad,  \
                         divisor_override)));                                 \
  }

extern "C" {

DIPU_POOLING(1)
DIPU_POOLING(2)
DIPU_POOLING(3)
DIPU_AVERAGE_POOLING(2)
DIPU_AVERAGE_POOLING(3)

diopiError_t diopiAvgPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride,
                            diopiSize_t padding, bool /*ceil_mode*/,
                            bool count_include_pad) {
  return done(avgPool(queueOf(ctx), view(out), view(input),
                      averageArguments(1, kernel_size, stride, padding,
                                       count_include_pad, nullptr)));
}

diopiError_t diopiAvgPool1dBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t /*input*/,
                                    diopiSize_t kernel_size, diopiSize_t stride,
                                    diopiSize_t padding, bool /*ceil_mode*/,
                                    bool count_include_pad) {
  return done(avgPoolBackward(queueOf(ctx), view(grad_input), view(grad_output),
                              averageArguments(1, kernel_size, stride, padding,
                                               count_include_pad, nullptr)));
}

}  // extern "C"
