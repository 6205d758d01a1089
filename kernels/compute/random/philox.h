// SPDX-License-Identifier: Apache-2.0
//
// Philox-4x32-10: a counter-based generator of 32-bit numbers.
//
// The sequence of a seed is an array: number i is lane i % 4 of the block whose
// counter is i / 4, so any part of it can be computed by any thread. A seed has
// 2^64 such sequences ("streams"); functions that do not say otherwise use
// stream 0.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dipu::kernels::philox {

// Blocks that are computed side by side, one per vector lane.
inline constexpr int kLanes = 8;

// Ten rounds over kLanes counters first, first + 1, ...; words[w][k] is word w
// of block k.
inline void computeBlocks(uint64_t seed, uint64_t first,
                          uint32_t (&words)[4][kLanes], uint64_t stream = 0) {
  uint32_t (&a)[kLanes] = words[0];
  uint32_t (&b)[kLanes] = words[1];
  uint32_t (&c)[kLanes] = words[2];
  uint32_t (&d)[kLanes] = words[3];
  for (int k = 0; k < kLanes; ++k) {
    const uint64_t counter = first + static_cast<uint64_t>(k);
    a[k] = static_cast<uint32_t>(counter);
    b[k] = static_cast<uint32_t>(counter >> 32);
    c[k] = static_cast<uint32_t>(stream);
    d[k] = static_cast<uint32_t>(stream >> 32);
  }
  auto key_low = static_cast<uint32_t>(seed);
  auto key_high = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int k = 0; k < kLanes; ++k) {
      const uint64_t first_product = uint64_t{0xD2511F53U} * a[k];
      const uint64_t second_product = uint64_t{0xCD9E8D57U} * c[k];
      const auto next_a =
          static_cast<uint32_t>(second_product >> 32) ^ b[k] ^ key_low;
      const auto next_c =
          static_cast<uint32_t>(first_product >> 32) ^ d[k] ^ key_high;
      b[k] = static_cast<uint32_t>(second_product);
      d[k] = static_cast<uint32_t>(first_product);
      a[k] = next_a;
      c[k] = next_c;
    }
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
}

// Numbers first, first + 1, ... of the sequence; `first` is a multiple of 4.
inline void fillNumbers(uint64_t seed, uint64_t first, int64_t count,
                        uint32_t* numbers) {
  constexpr int64_t kStep = 4 * kLanes;
  uint32_t words[4][kLanes];
  for (int64_t i = 0; i < count; i += kStep) {
    computeBlocks(seed, (first + static_cast<uint64_t>(i)) / 4, words);
    uint32_t ordered[kStep];
    for (int k = 0; k < kLanes; ++k) {
      for (int w = 0; w < 4; ++w) ordered[4 * k + w] = words[w][k];
    }
    std::copy_n(ordered, std::min(kStep, count - i), numbers + i);
  }
}

}  // namespace dipu::kernels::philox
