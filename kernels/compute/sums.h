// SPDX-License-Identifier: Apache-2.0
//
// Sums over many elements: in the compute type over short blocks, which
// vectorise, and in double across blocks, so that the error does not grow with
// the length.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dipu::kernels {

// Two sums that are taken in one pass.
template <typename T>
struct Pair {
  T first;
  T second;
};

inline constexpr int64_t kSumBlock = 2048;

// The sums of term(i), a Pair<T>, for i in [0, count).
template <typename T, typename Term>
inline Pair<double> sumPairs(int64_t count, const Term& term) {
  Pair<double> total{0, 0};
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t end = std::min(count, begin + kSumBlock);
    T first = 0;
    T second = 0;
#pragma omp simd reduction(+ : first, second)
    for (int64_t i = begin; i < end; ++i) {
      const Pair<T> value = term(i);
      first += value.first;
      second += value.second;
    }
    total.first += static_cast<double>(first);
    total.second += static_cast<double>(second);
  }
  return total;
}

// The sum of term(i), a T.
template <typename T, typename Term>
inline double sumTerms(int64_t count, const Term& term) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t end = std::min(count, begin + kSumBlock);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += term(i);
    total += static_cast<double>(sum);
  }
  return total;
}

}  // namespace dipu::kernels
