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
  int64_t kernel[kAxes];
};

inline UnfoldRow unfoldRow(const Shape& s, int64_t row) {
  const int64_t at = row % s.kernelPixels();
  return {row / s.kernelPixels(),
          {at / (s.kernel[1] * s.kernel[2]), at / s.kernel[2] % s.kernel[1],
           at % s.kernel[2]}};
}

// The input position along an axis of result position `out`, for one position
// of the kernel; outside [0, size) in the padding.
inline int64_t inputPosition(const Shape& s, int axis, int64_t out,
                             int64_t kernel) {
  return out * s.stride[axis] - s.padding[axis] + kernel * s.dilation[axis];
}

// Calls body(offset of the row in the plane or -1 in the padding, offset of the
// row in the result) for the rows of the result.
template <typename Body>
void forEachResultRow(const Shape& s, const UnfoldRow& at, const Body& body) {
  for (int64_t od = 0; od < s.out[0]; ++od) {
    const int64_t d = inputPosition(s, 0, od, at.kernel[0]);
    for (int64_t oh = 0; oh < s.out[1]; ++oh) {
      const int64_t h = inputPosition(s, 1, oh, at.kernel[1]);
      const bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
      body(inside ? (d * s.in[1] + h) * s.in[2] : -1,
           (od * s.out[1] + oh) * s.out[2]);
    }
  }
}

// Fills one row of the matrix from the planes at `image`.
template <typename T>
void unfold(const Shape& s, const T* image, int64_t row, T* to) {
  const UnfoldRow at = unfoldRow(s, row);
  const T* plane = image + at.channel * s.inPixels();
  forEachResultRow(s, at, [&](int64_t from, int64_t offset) {
    T* line = to + offset;
    if (from < 0) {
      std::fill(line, line + s.out[2], T(0));
      return;
    }
    for (int64_t ow = 0; ow < s.out[2]; ++ow) {
      const int64_t w = inputPosition(s, 2, ow, at.kernel[2]);
      line[ow] = w < 0 || w >= s.in[2] ? T(0) : plane[from + w];
    }
  });
}

// Adds the rows of the matrix that belong to `channel` to its plane.
template <typename T>
void fold(const Shape& s, const T* matrix, int64_t channel, T* plane) {
  std::fill(plane, plane + s.inPixels(), T(0));
  for (int64_t k = 0; k < s.kernelPixels(); ++k) {
    const T* row = matrix + (channel * s.kernelPixels() + k) * s.outPixels();
    const UnfoldRow at = unfoldRow(s, k);
    forEachResultRow(s, at, [&](int64_t to, int64_t offset) {
      if (to < 0) return;
      const T* line = row + offset;
      for (int64_t ow = 0; ow < s.out[2]; ++ow) {
        const int64_t w = inputPosition(s, 2, ow, at.kernel[2]);
        if (w >= 0 && w < s.in[2]) plane[to + w] += line[ow];
      }
    });
  }
}

}  // namespace dipu::kernels::convolution
