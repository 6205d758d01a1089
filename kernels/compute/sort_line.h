// SPDX-License-Identifier: Apache-2.0
//
// Sorting one line of entries, each a key with its position. Equal keys keep
// the order of their positions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/compute/sort_key.h"

namespace dipu::kernels {

// A key of 32 bits above a position of 32 bits: one comparison orders both.
using PackedEntry = uint64_t;

inline PackedEntry packEntry(uint32_t key, int64_t index) {
  return uint64_t{key} << 32 | static_cast<uint32_t>(index);
}
inline int64_t indexOf(PackedEntry entry) {
  return static_cast<int64_t>(entry & 0xffffffffu);
}
inline int64_t indexOf(const SortEntry& entry) { return entry.index; }

namespace sort_line {

// Lines from this length on are worth the counting of a radix sort.
constexpr std::size_t kRadixLength = 512;
// Runs that insertion sorts before they are merged.
constexpr std::size_t kRun = 8;

inline void insertionSort(PackedEntry* begin, const PackedEntry* end) {
  for (PackedEntry* next = begin + 1; next < end; ++next) {
    const PackedEntry entry = *next;
    PackedEntry* hole = next;
    for (; hole > begin && entry < hole[-1]; --hole) *hole = hole[-1];
    *hole = entry;
  }
}

// Merges the sorted [left, middle) and [middle, end) into `to`. Random keys
// make every branch a wrong guess, so the loop has none on them.
inline void merge(const PackedEntry* left, const PackedEntry* middle,
                  const PackedEntry* end, PackedEntry* to) {
  const PackedEntry* right = middle;
  while (left != middle && right != end) {
    const PackedEntry a = *left;
    const PackedEntry b = *right;
    const bool take_right = b < a;
    *to++ = take_right ? b : a;
    right += take_right;
    left += !take_right;
  }
  std::copy(right, end, std::copy(left, middle, to));
}

inline void mergeSort(std::vector<PackedEntry>* entries,
                      std::vector<PackedEntry>* scratch) {
  const std::size_t count = entries->size();
  for (std::size_t i = 0; i < count; i += kRun) {
    insertionSort(entries->data() + i,
                  entries->data() + std::min(i + kRun, count));
  }
  for (std::size_t run = kRun; run < count; run *= 2) {
    for (std::size_t i = 0; i < count; i += 2 * run) {
      const PackedEntry* from = entries->data();
      merge(from + i, from + std::min(i + run, count),
            from + std::min(i + 2 * run, count), scratch->data() + i);
    }
    std::swap(*entries, *scratch);
  }
}

// By the bytes of the key, the lowest first; a byte that all keys share is left
// out. The positions are in order at the start, and each pass keeps the order
// of equal bytes.
inline void radixSort(std::vector<PackedEntry>* entries,
                      std::vector<PackedEntry>* scratch) {
  constexpr int kBytes = 4;
  std::array<std::array<uint32_t, 256>, kBytes> counts{};
  for (const PackedEntry entry : *entries) {
    for (int byte = 0; byte < kBytes; ++byte) {
      ++counts[byte][entry >> (32 + 8 * byte) & 0xff];
    }
  }
  for (int byte = 0; byte < kBytes; ++byte) {
    const int shift = 32 + 8 * byte;
    auto& places = counts[byte];
    if (places[entries->front() >> shift & 0xff] == entries->size()) continue;
    uint32_t before = 0;
    for (uint32_t& place : places) before += std::exchange(place, before);
    for (const PackedEntry entry : *entries) {
      (*scratch)[places[entry >> shift & 0xff]++] = entry;
    }
    std::swap(*entries, *scratch);
  }
}

}  // namespace sort_line

// Sorts `entries`, whose positions are in order; fewer than 2^32 of them.
// `scratch` has the same size, and what it holds afterwards means nothing.
inline void sortLine(std::vector<PackedEntry>* entries,
                     std::vector<PackedEntry>* scratch) {
  if (entries->size() < sort_line::kRadixLength) {
    sort_line::mergeSort(entries, scratch);
  } else {
    sort_line::radixSort(entries, scratch);
  }
}
inline void sortLine(std::vector<SortEntry>* entries, std::vector<SortEntry>*) {
  std::sort(entries->begin(), entries->end());
}

}  // namespace dipu::kernels
