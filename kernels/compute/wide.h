// SPDX-License-Identifier: Apache-2.0
//
// Note [Wide vectors]
// Kernels are compiled for vectors of 256 bits (x86-64-v3). Where computing
// takes longer than loading and storing, a processor with AVX-512 is up to
// twice as fast with 512 bits. Such loops are compiled twice, in a function as
// any other and in one that DIPU_WIDE stands before:
//
//   static void sum(...) { hasWideVectors() ? sumWide(...) : sumOf(...); }
//   DIPU_WIDE static void sumWide(...) { sumOf(...); }
//
// All that a wide function calls is inlined into it, so that no code for
// AVX-512 is shared with others. Elementwise results are the same bits in both;
// sums may add up in another order.
#pragma once

#include <atomic>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define DIPU_WIDE                                                   \
  [[gnu::flatten, gnu::target("avx512f,avx512bw,avx512dq,avx512vl," \
                              "prefer-vector-width=512")]]
#define DIPU_KNOWS_WIDE_VECTORS 1
#else
#define DIPU_WIDE
#define DIPU_KNOWS_WIDE_VECTORS 0
#endif

namespace dipu::kernels {

// Whether this processor has what DIPU_WIDE asks for.
inline bool detectWideVectors() noexcept {
#if DIPU_KNOWS_WIDE_VECTORS
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

// Tests set it to false, to try the other loops.
inline std::atomic<bool> g_wide_vectors{detectWideVectors()};

// Whether wide functions are to be called.
inline bool hasWideVectors() noexcept {
  return g_wide_vectors.load(std::memory_order_relaxed);
}

}  // namespace dipu::kernels
