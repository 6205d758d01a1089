// SPDX-License-Identifier: Apache-2.0
//
// Note [Lanes]
// A row is reduced in several lanes side by side, a few registers' worth: one
// chain of operations would wait for each result before the next. Lanes begin
// with the first elements of the row, not with a start value, and are folded in
// halves, which stays vector code.
#pragma once

#include <cstdint>

namespace dipu::kernels {

inline constexpr int64_t kLanes = 32;

namespace detail {
template <int64_t kWidth, typename T, typename Fold>
[[gnu::always_inline]] inline void foldHalf(T* lanes, const Fold& fold) {
  for (int64_t k = 0; k < kWidth; ++k) {
    lanes[k] = fold(lanes[k], lanes[k + kWidth]);
  }
  if constexpr (kWidth > 1) foldHalf<kWidth / 2>(lanes, fold);
}
}  // namespace detail

// All of `lanes`, kLanes values, folded into one.
template <typename T, typename Fold>
[[gnu::always_inline]] inline T foldLanes(T* lanes, const Fold& fold) {
  detail::foldHalf<kLanes / 2>(lanes, fold);
  return lanes[0];
}

}  // namespace dipu::kernels
