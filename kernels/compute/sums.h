// SPDX-License-Identifier: Apache-2.0
//
// Sums over many elements: in the compute type over short blocks, which
// vectorise, and in double across blocks, so that the error does not grow with
// the length.
//
// The functions are always inlined: called from the body of a parallel loop
// they would stay calls, whose terms the compiler does not vectorise.
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

// The sums of term(i), a Pair<T>, for i in [begin, end). Four chains of
// additions side by side hide their latency.
template <typename T, typename Term>
[[gnu::always_inline]] inline Pair<T> sumBlock(int64_t begin, int64_t end,
                                               const Term& term) {
  const int64_t quarter = (end - begin) / 4;
  T a0 = 0, a1 = 0, a2 = 0, a3 = 0;
  T b0 = 0, b1 = 0, b2 = 0, b3 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, b0, b1, b2, b3)
  for (int64_t i = begin; i < begin + quarter; ++i) {
    const Pair<T> v0 = term(i);
    const Pair<T> v1 = term(i + quarter);
    const Pair<T> v2 = term(i + 2 * quarter);
    const Pair<T> v3 = term(i + 3 * quarter);
    a0 += v0.first;
    b0 += v0.second;
    a1 += v1.first;
    b1 += v1.second;
    a2 += v2.first;
    b2 += v2.second;
    a3 += v3.first;
    b3 += v3.second;
  }
  for (int64_t i = begin + 4 * quarter; i < end; ++i) {
    const Pair<T> v = term(i);
    a0 += v.first;
    b0 += v.second;
  }
  return {(a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)};
}

// The sums of term(i), a Pair<T>, for i in [0, count).
template <typename T, typename Term>
[[gnu::always_inline]] inline Pair<double> sumPairs(int64_t count,
                                                    const Term& term) {
  Pair<double> total{0, 0};
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t end = std::min(count, begin + kSumBlock);
    const Pair<T> sums = sumBlock<T>(begin, end, term);
    total.first += static_cast<double>(sums.first);
    total.second += static_cast<double>(sums.second);
  }
  return total;
}

// The sum of term(i), a T.
template <typename T, typename Term>
[[gnu::always_inline]] inline double sumTerms(int64_t count, const Term& term) {
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kSumBlock) {
    const int64_t end = std::min(count, begin + kSumBlock);
    const int64_t quarter = (end - begin) / 4;
    T a0 = 0, a1 = 0, a2 = 0, a3 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3)
    for (int64_t i = begin; i < begin + quarter; ++i) {
      a0 += term(i);
      a1 += term(i + quarter);
      a2 += term(i + 2 * quarter);
      a3 += term(i + 3 * quarter);
    }
    for (int64_t i = begin + 4 * quarter; i < end; ++i) a0 += term(i);
    total += static_cast<double>((a0 + a1) + (a2 + a3));
  }
  return total;
}

}  // namespace dipu::kernels
