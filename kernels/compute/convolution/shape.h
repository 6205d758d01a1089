// SPDX-License-Identifier: Apache-2.0
//
// The shape of one convolution, and its two implementations.
#pragma once

#include <cstdint>

#include "kernels/compute/convolution/convolution.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::convolution {

inline constexpr int kAxes = 3;

enum class Pass : int64_t { kForward, kInput, kWeight };

// Everything that a prepared kernel depends on; plain int64 values, compared
// and hashed as such. Axes are depth, height and width; the depth of images of
// two dimensions is 1.
struct Shape {
  int64_t dimensions;  // 2 or 3
  int64_t images;
  int64_t channels;  // of the input
  int64_t features;  // channels of the output
  int64_t in[kAxes];
  int64_t out[kAxes];
  int64_t kernel[kAxes];
  int64_t stride[kAxes];
  int64_t padding[kAxes];
  int64_t dilation[kAxes];
  int64_t groups;

  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t kernelPixels() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// kInvalid because of a value of `what`.
Status refuse(const char* what, int64_t value);

// The shape of the convolution from `image` to `result`, or what is wrong with
// it. For a transposed one `image` is the output.
Status shapeOf(const TensorView& image, const TensorView& weight,
               const TensorView& result, const ConvolutionArguments& arguments,
               bool transposed, Shape* shape);

// Worker's addresses of dense tensors. In each pass one of the first three is
// the output, and `bias` may be nullptr.
struct Addresses {
  void* image;   // input or its gradient
  void* weight;  // weight or its gradient
  void* result;  // output or its gradient
  void* bias;    // bias or its gradient
};

// Which tensors are channels-last.
struct Layouts {
  bool image;
  bool weight;
  bool result;
};

// float32 through oneDNN. kUnsupported when it has no kernel for the shape.
Status enqueuePrimitive(const Queue& queue, Pass pass, const Shape& shape,
                        const Layouts& layouts, const Addresses& addresses);

// float32 or float64 as matrix products, all tensors row-major. The weight
// pass leaves the bias alone.
Status enqueueProducts(const Queue& queue, Pass pass, const Shape& shape,
                       DType dtype, const Addresses& addresses);

// bias gradient: sums of the result's gradient, row-major.
Status enqueueBiasSum(const Queue& queue, const Shape& shape, DType dtype,
                      const Addresses& addresses);

}  // namespace dipu::kernels::convolution
