// SPDX-License-Identifier: Apache-2.0
//
// Softmax of one line of dense values, and of a bundle of lines side by side.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compute/math.h"
#include "kernels/compute/softmax/softmax.h"

namespace dipu::kernels {

// The largest value of a line; NaN may be skipped, for it comes back in the
// sum.
template <typename T>
inline T largest(const T* x, int64_t n) {
  constexpr int kLanes = 16;
  T lanes[kLanes];
  for (T& lane : lanes) lane = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
    }
  }
  T result = lanes[0];
  for (int k = 1; k < kLanes; ++k) {
    result = lanes[k] > result ? lanes[k] : result;
  }
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// `x` and `y` may be the same line.
template <typename T>
inline void softmaxLine(SoftmaxKind kind, const T* x, int64_t n, T* y) {
  const T top = largest(x, n);
  T sum = 0;
  if (kind == SoftmaxKind::kLog) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += math::exp(x[i] - top);
    const T shift = top + std::log(sum);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift;
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const T e = math::exp(x[i] - top);
    y[i] = e;
    sum += e;
  }
  const T scale = T(1) / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

// g is the gradient of the result y; d may be g or y.
template <typename T>
inline void softmaxBackwardLine(SoftmaxKind kind, const T* g, const T* y,
                                int64_t n, T* d) {
  T sum = 0;
  if (kind == SoftmaxKind::kLog) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += g[i];
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) d[i] = g[i] - math::exp(y[i]) * sum;
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += g[i] * y[i];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) d[i] = y[i] * (g[i] - sum);
}

// Number of neighbouring lines in a bundle: element i of lane k lies at
// x[i * kBundle + k].
inline constexpr int kBundle = 32;

template <typename T>
inline void softmaxBundle(SoftmaxKind kind, int64_t n, T* x) {
  T top[kBundle];
  T sum[kBundle] = {};
  for (T& lane : top) lane = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kBundle; ++k) {
      const T value = x[i * kBundle + k];
      top[k] = value > top[k] ? value : top[k];
    }
  }
  const bool log = kind == SoftmaxKind::kLog;
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kBundle; ++k) {
      const T e = math::exp(x[i * kBundle + k] - top[k]);
      sum[k] += e;
      if (!log) x[i * kBundle + k] = e;
    }
  }
  for (int k = 0; k < kBundle; ++k) {
    if (log) top[k] += std::log(sum[k]);
    sum[k] = T(1) / sum[k];
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kBundle; ++k) {
      T& value = x[i * kBundle + k];
      value = log ? value - top[k] : value * sum[k];
    }
  }
}

// Replaces the gradients g by those of the input.
template <typename T>
inline void softmaxBackwardBundle(SoftmaxKind kind, int64_t n, const T* y,
                                  T* g) {
  T sum[kBundle] = {};
  const bool log = kind == SoftmaxKind::kLog;
  for (int64_t i = 0; i < n * kBundle; i += kBundle) {
    for (int k = 0; k < kBundle; ++k) {
      sum[k] += log ? g[i + k] : g[i + k] * y[i + k];
    }
  }
  for (int64_t i = 0; i < n * kBundle; i += kBundle) {
    for (int k = 0; k < kBundle; ++k) {
      g[i + k] = log ? g[i + k] - math::exp(y[i + k]) * sum[k]
                     : y[i + k] * (g[i + k] - sum[k]);
    }
  }
}

}  // namespace dipu::kernels
