// SPDX-License-Identifier: Apache-2.0
//
// Elements of any type as unsigned keys in the same order, so that one kernel
// orders them all. NaN is the largest number and -0 equals 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/compute/convert.h"
#include "kernels/compute/dtype.h"

namespace dipu::kernels {

inline constexpr uint64_t kSignBit = uint64_t{1} << 63;
// The key of NaN among floating elements.
inline constexpr uint64_t kNaNKey = std::numeric_limits<uint64_t>::max();

// Positive numbers get the sign bit, negative ones are inverted.
inline uint64_t keyOf(double x) {
  if (x != x) return kNaNKey;
  const auto bits = bitCast<uint64_t>(x + 0.0);  // -0 becomes 0
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
inline uint64_t keyOf(int64_t x) { return static_cast<uint64_t>(x) ^ kSignBit; }

// The same in 32 bits, for elements of types that have no more.
inline uint32_t shortKeyOf(double x) {
  if (x != x) return std::numeric_limits<uint32_t>::max();
  const auto bits = bitCast<uint32_t>(static_cast<float>(x) + 0.0f);
  return (bits >> 31) != 0 ? ~bits : bits | uint32_t{1} << 31;
}
// For int32_t and every type that it holds.
inline uint32_t shortKeyOf(int64_t x) {
  return static_cast<uint32_t>(x) ^ uint32_t { 1 } << 31;
}

// An element and its position; equal elements are ordered by position.
struct SortEntry {
  uint64_t key;
  int64_t index;
  bool operator<(const SortEntry& other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

// Reads elements of one type as keys; plain values, for the worker.
struct KeyReader {
  Convert load = nullptr;  // to double or int64; nullptr: no such keys
  bool floating = false;
  bool is_short = false;  // eachShort may be used

  static KeyReader of(DType dtype) {
    KeyReader reader;
    reader.floating = isFloating(dtype);
    reader.is_short = itemSize(dtype) <= 4 && dtype != DType::kUInt32;
    if (dtype != DType::kUInt64) {
      reader.load = convertFunction(
          reader.floating ? DType::kFloat64 : DType::kInt64, dtype);
    }
    return reader;
  }

  bool isNaN(uint64_t key) const { return floating && key == kNaNKey; }

  // Calls body(position, key) for `count` elements `stride` bytes apart.
  template <typename Body>
  void each(const char* from, int64_t stride, int64_t count,
            const Body& body) const {
    eachElement(from, stride, count,
                [&](int64_t i, auto x) { body(i, keyOf(x)); });
  }
  // As each(), with keys of 32 bits.
  template <typename Body>
  void eachShort(const char* from, int64_t stride, int64_t count,
                 const Body& body) const {
    eachElement(from, stride, count,
                [&](int64_t i, auto x) { body(i, shortKeyOf(x)); });
  }

 private:
  template <typename Body>
  void eachElement(const char* from, int64_t stride, int64_t count,
                   const Body& body) const {
    constexpr int64_t kBlock = 256;
    double reals[kBlock];
    int64_t integers[kBlock];
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t some = std::min(kBlock, count - done);
      void* block = floating ? static_cast<void*>(reals) : integers;
      load(block, 8, from + done * stride, stride, some);
      for (int64_t i = 0; i < some; ++i) {
        floating ? body(done + i, reals[i]) : body(done + i, integers[i]);
      }
    }
  }
};

}  // namespace dipu::kernels
