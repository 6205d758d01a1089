// SPDX-License-Identifier: Apache-2.0
//
// The matrix whose product with the weights is a convolution: one row per
// weight of a filter, one column per pixel of the result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/convolution/shape.h"

namespace dipu::kernels::convolution {

// The weight to which a row of the matrix belongs.
struct UnfoldRow {
  int64_t channel;
  int64_t kernel_row;
  int64_t kernel_column;
};

inline UnfoldRow unfoldRow(const Shape& s, int64_t row) {
  return {row / s.kernelPixels(), row % s.kernelPixels() / s.kernel_width,
          row % s.kernel_width};
}

// The input position along an axis of result position `out`, for one position
// of the kernel; outside [0, size) in the padding.
inline int64_t inputPosition(const Shape& s, int axis, int64_t out,
                             int64_t kernel) {
  return out * s.stride[axis] - s.padding[axis] + kernel * s.dilation[axis];
}

// Fills one row of the matrix from the planes at `image`.
template <typename T>
void unfold(const Shape& s, const T* image, int64_t row, T* to) {
  const UnfoldRow at = unfoldRow(s, row);
  const T* plane = image + at.channel * s.height * s.width;
  for (int64_t oh = 0; oh < s.out_height; ++oh) {
    const int64_t h = inputPosition(s, 0, oh, at.kernel_row);
    T* line = to + oh * s.out_width;
    if (h < 0 || h >= s.height) {
      std::fill(line, line + s.out_width, T(0));
      continue;
    }
    for (int64_t ow = 0; ow < s.out_width; ++ow) {
      const int64_t w = inputPosition(s, 1, ow, at.kernel_column);
      line[ow] = w < 0 || w >= s.width ? T(0) : plane[h * s.width + w];
    }
  }
}

// Adds the rows of the matrix that belong to `channel` to its plane.
template <typename T>
void fold(const Shape& s, const T* matrix, int64_t channel, T* plane) {
  std::fill(plane, plane + s.height * s.width, T(0));
  for (int64_t k = 0; k < s.kernelPixels(); ++k) {
    const T* row = matrix + (channel * s.kernelPixels() + k) * s.outPixels();
    const UnfoldRow at = unfoldRow(s, k);
    for (int64_t oh = 0; oh < s.out_height; ++oh) {
      const int64_t h = inputPosition(s, 0, oh, at.kernel_row);
      if (h < 0 || h >= s.height) continue;
      const T* line = row + oh * s.out_width;
      for (int64_t ow = 0; ow < s.out_width; ++ow) {
        const int64_t w = inputPosition(s, 1, ow, at.kernel_column);
        if (w >= 0 && w < s.width) plane[h * s.width + w] += line[ow];
      }
    }
  }
}

}  // namespace dipu::kernels::convolution
