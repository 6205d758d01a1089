// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels::gemm {
namespace {

// Unsigned, so that overflow wraps, and no narrower than int, to which C++
// would promote it.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t,
                                    std::make_unsigned_t<T>>;

template <typename T>
void computeRow(const Problem& p, int64_t matrix, int64_t row) {
  using Sum = Wrapping<T>;
  const T* a = static_cast<const T*>(p.a) + matrix * p.a_strides.batch +
               row * p.a_strides.row;
  const T* b = static_cast<const T*>(p.b) + matrix * p.b_strides.batch;
  T* c =
      static_cast<T*>(p.c) + matrix * p.c_strides.batch + row * p.c_strides.row;
  Sum* sums = workerBuffer<kGemmResultSlot>().get<Sum>(p.columns);
  std::fill(sums, sums + p.columns, Sum(0));
  for (int64_t k = 0; k < p.depth; ++k) {
    const Sum factor = static_cast<Sum>(a[k * p.a_strides.column]);
    const T* from = b + k * p.b_strides.row;
    for (int64_t j = 0; j < p.columns; ++j) {
      sums[j] += factor * static_cast<Sum>(from[j * p.b_strides.column]);
    }
  }
  const Sum alpha = static_cast<Sum>(static_cast<int64_t>(p.alpha));
  const Sum beta = static_cast<Sum>(static_cast<int64_t>(p.beta));
  const T* d = beta == 0
                   ? nullptr
                   : static_cast<const T*>(p.d) + matrix * p.d_strides.batch +
                         row * p.d_strides.row;
  for (int64_t j = 0; j < p.columns; ++j) {
    Sum value = alpha * sums[j];
    if (d != nullptr) {
      value += beta * static_cast<Sum>(d[j * p.d_strides.column]);
    }
    c[j * p.c_strides.column] = static_cast<T>(value);
  }
}

template <typename T>
void runTyped(const Problem& p) {
  const int64_t grain = grainFor(p.columns * (p.depth + 1));
  parallelFor(p.batch * p.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      computeRow<T>(p, i / p.rows, i % p.rows);
    }
  });
}

}  // namespace

void runInteger(const Problem& problem, DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return runTyped<int8_t>(problem);
    case DType::kUInt8:
      return runTyped<uint8_t>(problem);
    case DType::kInt16:
      return runTyped<int16_t>(problem);
    case DType::kInt32:
      return runTyped<int32_t>(problem);
    default:
      return runTyped<int64_t>(problem);
  }
}

}  // namespace dipu::kernels::gemm
