// SPDX-License-Identifier: Apache-2.0
//
// The norms behind distances: how a coordinate's difference counts, and how it
// takes part in the gradient. Internal to distance.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dipu::kernels::distance {

// NaN stays. Written so that a loop over it vectorises.
template <typename T>
T signOf(T x) {
  const T sign = x == T(0) ? T(0) : std::copysign(T(1), x);
  return x != x ? x : sign;
}

// A norm has distance(a, b, width) and slope(d, grad, distance), which is the
// share of the gradient `grad` that a coordinate with the difference `d` gets.
template <typename T>
struct CountNorm {
  T distance(const T* a, const T* b, int64_t width) const {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; ++k) {
      const T d = a[k] - b[k];
      const T count = d != T(0) ? T(1) : T(0);
      sum += d != d ? d : count;
    }
    return sum;
  }
  T slope(T, T, T) const { return T(0); }
};

template <typename T>
struct AbsoluteNorm {
  T distance(const T* a, const T* b, int64_t width) const {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; ++k) sum += std::fabs(a[k] - b[k]);
    return sum;
  }
  T slope(T d, T grad, T) const { return grad * signOf(d); }
};

template <typename T>
struct EuclideanNorm {
  T distance(const T* a, const T* b, int64_t width) const {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < width; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(sum);
  }
  T slope(T d, T grad, T distance) const {
    return distance == T(0) ? T(0) : grad * d / distance;
  }
};

// PyTorch's CPU passes over NaN between the points of two sets, but not between
// those of one.
template <typename T, bool keep_nan>
struct MaximumNorm {
  T distance(const T* a, const T* b, int64_t width) const {
    T most = 0;
    int32_t nans = 0;
#pragma omp simd reduction(max : most) reduction(+ : nans)
    for (int64_t k = 0; k < width; ++k) {
      const T d = std::fabs(a[k] - b[k]);
      most = d > most ? d : most;
      if (keep_nan) nans += d != d ? 1 : 0;
    }
    return nans == 0 ? most : std::numeric_limits<T>::quiet_NaN();
  }
  T slope(T d, T grad, T distance) const {
    const T gap = std::fabs(d) - distance;
    const T share = gap == T(0) ? grad * signOf(d) : T(0);
    return gap != gap ? gap : share;
  }
};

template <typename T>
struct PowerNorm {
  T p;
  T distance(const T* a, const T* b, int64_t width) const {
    T sum = 0;
    for (int64_t k = 0; k < width; ++k) {
      sum += std::pow(std::fabs(a[k] - b[k]), p);
    }
    return std::pow(sum, T(1) / p);
  }
  T slope(T d, T grad, T distance) const {
    if (distance == T(0) || d == T(0)) return T(0);
    return grad * signOf(d) * std::pow(std::fabs(d) / distance, p - T(1));
  }
};

// Calls body(norm) with the norm for `p`, and returns what it returns.
template <typename T, bool keep_nan, typename Body>
auto withNorm(double p, const Body& body) {
  if (p == 0.0) return body(CountNorm<T>());
  if (p == 1.0) return body(AbsoluteNorm<T>());
  if (p == 2.0) return body(EuclideanNorm<T>());
  if (std::isinf(p)) return body(MaximumNorm<T, keep_nan>());
  return body(PowerNorm<T>{static_cast<T>(p)});
}

}  // namespace dipu::kernels::distance
