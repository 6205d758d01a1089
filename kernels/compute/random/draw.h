// SPDX-License-Identifier: Apache-2.0
//
// Filling dense arrays from a sequence of random numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/parallel.h"
#include "kernels/compute/random/philox.h"
#include "kernels/compute/random/random.h"

namespace dipu::kernels {

// Elements that are drawn at a time; a multiple of 4, so that every chunk
// starts with a block of its own.
inline constexpr int64_t kDrawChunk = 1024;
// Relative cost of an element.
inline constexpr int64_t kDrawCost = 4;

// Where a call's numbers start.
struct Numbers {
  uint64_t seed;
  uint64_t first;
};

inline Numbers takeNumbers(RandomSource* source, int64_t count) {
  return {source->seed(), source->take(count)};
}

// Calls body(begin, end, numbers) for chunks of [0, count), with PerElement
// numbers for each element.
template <int PerElement, typename Body>
void drawChunks(const Numbers& numbers, int64_t count, const Body& body) {
  const int64_t chunks = (count + kDrawChunk - 1) / kDrawChunk;
  parallelFor(chunks, grainFor(kDrawChunk, kDrawCost * PerElement),
              [&](int64_t first, int64_t last) {
                uint32_t drawn[kDrawChunk * PerElement];
                for (int64_t i = first; i < last; ++i) {
                  const int64_t begin = i * kDrawChunk;
                  const int64_t end = std::min(count, begin + kDrawChunk);
                  // A whole number of blocks: pairs may reach past the end.
                  const int64_t wanted =
                      ((end - begin) * PerElement + 3) / 4 * 4;
                  philox::fillNumbers(
                      numbers.seed,
                      numbers.first + static_cast<uint64_t>(begin * PerElement),
                      wanted, drawn);
                  body(begin, end, static_cast<const uint32_t*>(drawn));
                }
              });
}

// 64 random bits from two numbers.
inline uint64_t wideNumber(const uint32_t* numbers) {
  return (uint64_t{numbers[1]} << 32) | numbers[0];
}

// [0, 1) with 53 bits.
inline double unitDouble(const uint32_t* numbers) {
  return static_cast<double>(wideNumber(numbers) >> 11) * 0x1.0p-53;
}

// [0, range) without division; range 0 stands for 2^64.
inline uint64_t scaleWide(uint64_t number, uint64_t range) {
  if (range == 0) return number;
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(number) * range) >> 64);
}

}  // namespace dipu::kernels
