// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "kernels/compute/dtype.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels::gemm {
namespace {

// Columns of the matrix that one task multiplies.
constexpr int64_t kColumns = 256;

// The problem whose result is one row: c' = b' a' turns a column into one.
Problem asRow(const Problem& p) {
  if (p.rows == 1) return p;
  const auto flip = [](Strides s) {
    std::swap(s.row, s.column);
    return s;
  };
  Problem t = p;
  std::swap(t.rows, t.columns);
  t.a = p.b;
  t.b = p.a;
  t.a_strides = flip(p.b_strides);
  t.b_strides = flip(p.a_strides);
  t.c_strides = flip(p.c_strides);
  t.d_strides = flip(p.d_strides);
  return t;
}

// Sums of the products of the dense vector `a` with `count` columns, whose
// elements are dense. Four columns at a time keep four chains of additions.
template <typename T, typename In>
void dotColumns(const T* a, int64_t depth, const In* b, int64_t stride,
                int64_t count, T* sums) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const In* b0 = b + j * stride;
    const In* b1 = b0 + stride;
    const In* b2 = b1 + stride;
    const In* b3 = b2 + stride;
    T s0 = 0;
    T s1 = 0;
    T s2 = 0;
    T s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (int64_t k = 0; k < depth; ++k) {
      s0 += a[k] * static_cast<T>(b0[k]);
      s1 += a[k] * static_cast<T>(b1[k]);
      s2 += a[k] * static_cast<T>(b2[k]);
      s3 += a[k] * static_cast<T>(b3[k]);
    }
    sums[j] = s0;
    sums[j + 1] = s1;
    sums[j + 2] = s2;
    sums[j + 3] = s3;
  }
  for (; j < count; ++j) {
    const In* column = b + j * stride;
    sums[j] = static_cast<T>(sumTerms<T>(depth, [a, column](int64_t k) {
      return a[k] * static_cast<T>(column[k]);
    }));
  }
}

// The same for a matrix whose rows are dense: adds its rows, four at a time.
template <typename T, typename In>
void addRows(const T* a, int64_t depth, const In* b, int64_t stride,
             int64_t count, T* sums) {
  std::fill(sums, sums + count, T(0));
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const In* b0 = b + k * stride;
    const In* b1 = b0 + stride;
    const In* b2 = b1 + stride;
    const In* b3 = b2 + stride;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      sums[j] +=
          a[k] * static_cast<T>(b0[j]) + a[k + 1] * static_cast<T>(b1[j]) +
          (a[k + 2] * static_cast<T>(b2[j]) + a[k + 3] * static_cast<T>(b3[j]));
    }
  }
  for (; k < depth; ++k) {
    const In* row = b + k * stride;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      sums[j] += a[k] * static_cast<T>(row[j]);
    }
  }
}

template <typename T, typename In>
void computeColumns(const Problem& p, int64_t matrix, int64_t first) {
  const int64_t count = std::min(kColumns, p.columns - first);
  const In* from = static_cast<const In*>(p.a) + matrix * p.a_strides.batch;
  const In* b = static_cast<const In*>(p.b) + matrix * p.b_strides.batch +
                first * p.b_strides.column;
  const T* a = loadLine(from, p.a_strides.column, p.depth,
                        workerBuffer<kGemmRowsSlot>().get<T>(p.depth));
  T sums[kColumns];
  if (p.b_strides.row == 1) {
    dotColumns(a, p.depth, b, p.b_strides.column, count, sums);
  } else {
    addRows(a, p.depth, b, p.b_strides.row, count, sums);
  }
  In* c = static_cast<In*>(p.c) + matrix * p.c_strides.batch +
          first * p.c_strides.column;
  const In* d = p.beta == 0.0
                    ? nullptr
                    : static_cast<const In*>(p.d) + matrix * p.d_strides.batch +
                          first * p.d_strides.column;
  const T alpha = static_cast<T>(p.alpha);
  const T beta = static_cast<T>(p.beta);
  for (int64_t j = 0; j < count; ++j) {
    T value = alpha * sums[j];
    if (d != nullptr) {
      value += beta * static_cast<T>(d[j * p.d_strides.column]);
    }
    c[j * p.c_strides.column] = static_cast<In>(value);
  }
}

template <typename T, typename In>
void runTyped(const Problem& p) {
  const int64_t blocks = (p.columns + kColumns - 1) / kColumns;
  parallelFor(p.batch * blocks,
              grainFor(std::min(kColumns, p.columns) * p.depth),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  computeColumns<T, In>(p, i / blocks, i % blocks * kColumns);
                }
              });
}

}  // namespace

bool vectorAccepts(const Problem& p) {
  if ((p.rows != 1 && p.columns != 1) || p.depth == 0) return false;
  const Problem row = asRow(p);
  return row.b_strides.row == 1 || row.b_strides.column == 1;
}

void runVector(const Problem& problem, DType dtype) {
  const Problem p = asRow(problem);
  switch (dtype) {
    case DType::kFloat32:
      return runTyped<float, float>(p);
    case DType::kFloat64:
      return runTyped<double, double>(p);
    case DType::kFloat16:
      return runTyped<float, Float16>(p);
    default:
      return runTyped<float, BFloat16>(p);
  }
}

}  // namespace dipu::kernels::gemm
