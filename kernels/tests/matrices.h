// SPDX-License-Identifier: Apache-2.0
//
// Matrices of rows in double, for tests that multiply factors again.
#pragma once

#include <cstdint>

#include "kernels/tests/derivative.h"

namespace dipu::kernels::testing {

// a @ b for matrices of rows.
inline Values multiply(const Values& a, const Values& b, int64_t m, int64_t k,
                       int64_t n) {
  Values c(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t p = 0; p < k; ++p)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  return c;
}

// The n x m matrix of an m x n matrix.
inline Values transpose(const Values& a, int64_t m, int64_t n) {
  Values t(a.size());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) t[j * m + i] = a[i * n + j];
  }
  return t;
}

// Matrix `index` of several that have `size` elements each.
inline Values part(const Values& all, int64_t index, int64_t size) {
  return {all.begin() + index * size, all.begin() + (index + 1) * size};
}

}  // namespace dipu::kernels::testing
