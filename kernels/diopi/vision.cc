// SPDX-License-Identifier: Apache-2.0
//
// Sampling of images.
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include <cstring>

#include "kernels/compute/vision/grid_sampler.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

GridOptions gridOptions(int64_t interpolation_mode, int64_t padding_mode,
                        bool align_corners) {
  return {static_cast<GridInterpolation>(interpolation_mode),
          static_cast<GridPadding>(padding_mode), align_corners};
}

GridInterpolation interpolationOf(const char* mode) {
  if (std::strcmp(mode, "nearest") == 0) return GridInterpolation::kNearest;
  return std::strcmp(mode, "bicubic") == 0 ? GridInterpolation::kCubic
                                           : GridInterpolation::kLinear;
}

}  // namespace

extern "C" {

// Zeros lie outside, and -1 and 1 are the edges of the outermost pixels.
diopiError_t diopiGridSample(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t grid, const char* mode) {
  return done(gridSample(
      queueOf(ctx), view(out), view(input), view(grid),
      {interpolationOf(mode), GridPadding::kZeros, /*align_corners=*/false}));
}

diopiError_t diopiExtGridSampler(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t grid,
                                 int64_t interpolation_mode,
                                 int64_t padding_mode, bool align_corners) {
  return done(
      gridSample(queueOf(ctx), view(out), view(input), view(grid),
                 gridOptions(interpolation_mode, padding_mode, align_corners)));
}

diopiError_t diopiExtGridSamplerBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_grid, diopiConstTensorHandle_t grad_output,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t grid,
    int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  return done(gridSampleBackward(
      queueOf(ctx), view(grad_input), view(grad_grid), view(grad_output),
      view(input), view(grid),
      gridOptions(interpolation_mode, padding_mode, align_corners)));
}

}  // extern "C"
