// SPDX-License-Identifier: Apache-2.0
//
// Copies of matrix blocks in the order in which the micro-kernel reads them.
#pragma once

#include <cstdint>

namespace dipu::kernels::gemm {

// One panel of `Width` lanes (rows of A or columns of B): element (lane, p) of
// the source lies at src[lane * lane_stride + p * depth_stride] and goes to
// dst[p * Width + lane], converted to T. Lanes past `lanes` become zero.
template <int Width, typename T, typename In>
void packPanel(const In* src, int64_t lane_stride, int64_t depth_stride,
               int64_t lanes, int64_t depth, T* __restrict dst) {
  if (lanes == Width && lane_stride == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      const In* __restrict from = src + p * depth_stride;
      for (int q = 0; q < Width; ++q) {
        dst[p * Width + q] = static_cast<T>(from[q]);
      }
    }
    return;
  }
  if (lanes < Width) {
    for (int64_t i = 0; i < depth * Width; ++i) dst[i] = T(0);
  }
  for (int64_t q = 0; q < lanes; ++q) {
    const In* from = src + q * lane_stride;
    if (depth_stride == 1) {
      for (int64_t p = 0; p < depth; ++p) {
        dst[p * Width + q] = static_cast<T>(from[p]);
      }
    } else {
      for (int64_t p = 0; p < depth; ++p) {
        dst[p * Width + q] = static_cast<T>(from[p * depth_stride]);
      }
    }
  }
}

// A block of `lanes` lanes as consecutive panels of Width * depth elements.
template <int Width, typename T, typename In>
void packBlock(const In* src, int64_t lane_stride, int64_t depth_stride,
               int64_t lanes, int64_t depth, T* dst) {
  for (int64_t q = 0; q < lanes; q += Width) {
    const int64_t width = lanes - q < Width ? lanes - q : Width;
    packPanel<Width>(src + q * lane_stride, lane_stride, depth_stride, width,
                     depth, dst);
    dst += depth * Width;
  }
}

}  // namespace dipu::kernels::gemm
