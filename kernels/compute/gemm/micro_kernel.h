// SPDX-License-Identifier: Apache-2.0
//
// The innermost loop of the packed matrix product.
#pragma once

#include <cstdint>

namespace dipu::kernels::gemm {

// Shape of the block of the result that stays in registers: 6 rows of two
// 32-byte vectors use 12 of the 16 vector registers; two hold a row of B and
// one a broadcast element of A.
template <typename T>
struct Tile {
  static constexpr int kRows = 6;
  static constexpr int kLanes = 32 / sizeof(T);
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int kElements = kRows * kColumns;
};

// acc += A * B for one tile. `a` holds depth columns of kRows elements, `b`
// depth rows of kColumns elements, `acc` kRows rows of kColumns elements; all
// are dense and aligned to 32 bytes. `first` overwrites acc.
template <typename T>
inline void multiplyTile(int64_t depth, const T* __restrict a,
                         const T* __restrict b, bool first, T* __restrict acc) {
  using Shape = Tile<T>;
  typedef T Vector __attribute__((vector_size(32)));
  Vector sum[Shape::kRows][2];
  Vector* out = reinterpret_cast<Vector*>(acc);
#pragma GCC unroll 6
  for (int i = 0; i < Shape::kRows; ++i) {
    sum[i][0] = first ? Vector{} : out[2 * i];
    sum[i][1] = first ? Vector{} : out[2 * i + 1];
  }
  for (int64_t p = 0; p < depth; ++p) {
    const Vector b0 = *reinterpret_cast<const Vector*>(b);
    const Vector b1 = *reinterpret_cast<const Vector*>(b + Shape::kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < Shape::kRows; ++i) {
      sum[i][0] += a[i] * b0;
      sum[i][1] += a[i] * b1;
    }
    a += Shape::kRows;
    b += Shape::kColumns;
  }
#pragma GCC unroll 6
  for (int i = 0; i < Shape::kRows; ++i) {
    out[2 * i] = sum[i][0];
    out[2 * i + 1] = sum[i][1];
  }
}

}  // namespace dipu::kernels::gemm
