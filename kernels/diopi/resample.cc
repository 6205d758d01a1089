// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's functions that make images of another size.
#include "kernels/compute/pooling/resample.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include <cstring>

#include "kernels/compute/pooling/padding.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::Interpolation;
using dipu::kernels::PadArguments;
using dipu::kernels::PadMode;
using dipu::kernels::Queue;
using dipu::kernels::ResampleArguments;
using dipu::kernels::Status;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

// A name and what it stands for.
template <typename T>
struct Named {
  const char* name;
  T value;
};

constexpr Named<Interpolation> kInterpolations[] = {
    {"nearest", Interpolation::kNearest},
    {"nearest-exact", Interpolation::kNearestExact},
    {"linear", Interpolation::kLinear},
    {"bilinear", Interpolation::kLinear},
    {"trilinear", Interpolation::kLinear},
    {"cubic", Interpolation::kCubic},
    {"bicubic", Interpolation::kCubic},
    {"lanczos", Interpolation::kLanczos},
};

constexpr Named<PadMode> kPadModes[] = {
    {"constant", PadMode::kConstant},   {"reflect", PadMode::kReflect},
    {"replicate", PadMode::kReplicate}, {"edge", PadMode::kReplicate},
    {"circular", PadMode::kCircular},
};

// Looks `name` up; false, with a message, when it is not in the table.
template <typename T, std::size_t N>
bool lookUp(const Named<T> (&table)[N], const char* operation, const char* name,
            T* value) {
  if (name == nullptr) name = "";
  for (const Named<T>& entry : table) {
    if (std::strcmp(entry.name, name) == 0) {
      *value = entry.value;
      return true;
    }
  }
  dipu::kernels::fail(Status::kInvalid, "%s: there is no mode '%s'", operation,
                      name);
  return false;
}

struct Upsampling {
  const char* mode;
  bool align_corners = false;
  bool antialias = false;
  const double* scales[3] = {};  // of depth, height and width, if given

  bool read(ResampleArguments* arguments) const {
    arguments->align_corners = align_corners;
    arguments->antialias = antialias;
    for (std::size_t i = 0; i < 3; ++i) {
      arguments->scales[i] = scales[i] == nullptr ? 0.0 : *scales[i];
    }
    return lookUp(kInterpolations, "upsample", mode, &arguments->mode);
  }
};

diopiError_t upsample(const Queue& queue, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      const Upsampling& upsampling) {
  ResampleArguments arguments;
  if (!upsampling.read(&arguments)) return diopiErrorOccurred;
  return done(
      dipu::kernels::resample(queue, view(out), view(input), arguments));
}

diopiError_t upsampleBackward(const Queue& queue,
                              diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output,
                              const Upsampling& upsampling) {
  ResampleArguments arguments;
  if (!upsampling.read(&arguments)) return diopiErrorOccurred;
  return done(dipu::kernels::resampleBackward(queue, view(grad_input),
                                              view(grad_output), arguments));
}

bool padArguments(const diopiSize_t& pad, const char* mode, const double* value,
                  PadArguments* arguments) {
  arguments->pads = pad.data;
  arguments->count = pad.len;
  if (value != nullptr) arguments->value.d = *value;
  return lookUp(kPadModes, "pad", mode, &arguments->mode);
}

}  // namespace

extern "C" {

diopiError_t diopiExtUpsample(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, const char* mode,
                              bool align_corners, bool antialias,
                              const double* scale_d, const double* scale_h,
                              const double* scale_w) {
  return upsample(
      queueOf(ctx), out, input,
      {mode, align_corners, antialias, {scale_d, scale_h, scale_w}});
}

diopiError_t diopiExtUpsampleBackward(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output,
                                      const char* mode, bool align_corners,
                                      bool antialias, const double* scale_d,
                                      const double* scale_h,
                                      const double* scale_w) {
  return upsampleBackward(
      queueOf(ctx), grad_input, grad_output,
      {mode, align_corners, antialias, {scale_d, scale_h, scale_w}});
}

// The sizes of the tensors say all that `size` would.
diopiError_t diopiUpsampleNearest(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input,
                                  diopiSize_t /*size*/) {
  return upsample(queueOf(ctx), out, input, {"nearest"});
}

diopiError_t diopiUpsampleNearestBackward(diopiContextHandle_t ctx,
                                          diopiTensorHandle_t grad_input,
                                          diopiConstTensorHandle_t grad_output,
                                          diopiSize_t /*out_size*/,
                                          diopiSize_t /*in_size*/) {
  return upsampleBackward(queueOf(ctx), grad_input, grad_output, {"nearest"});
}

diopiError_t diopiUpsampleLinear(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input,
                                 diopiSize_t /*size*/, bool align_corners,
                                 const char* mode) {
  return upsample(queueOf(ctx), out, input, {mode, align_corners});
}

diopiError_t diopiUpsampleLinearBackward(diopiContextHandle_t ctx,
                                         diopiTensorHandle_t grad_input,
                                         diopiConstTensorHandle_t grad_output,
                                         diopiSize_t /*out_size*/,
                                         diopiSize_t /*in_size*/,
                                         bool align_corners, const char* mode) {
  return upsampleBackward(queueOf(ctx), grad_input, grad_output,
                          {mode, align_corners});
}

diopiError_t diopiPad(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, diopiSize_t pad,
                      const char* mode, const double* value) {
  PadArguments arguments;
  if (!padArguments(pad, mode, value, &arguments)) return diopiErrorOccurred;
  return done(
      dipu::kernels::pad(queueOf(ctx), view(out), view(input), arguments));
}

diopiError_t diopiExtPadBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiSize_t pad, const char* mode) {
  PadArguments arguments;
  if (!padArguments(pad, mode, nullptr, &arguments)) return diopiErrorOccurred;
  return done(dipu::kernels::padBackward(queueOf(ctx), view(grad_input),
                                         view(grad_output), arguments));
}

}  // extern "C"
