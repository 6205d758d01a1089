// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for one element of a tensor, as many as it happens to need.
//
// Note [Numbers by element]
// Methods that reject candidates need an unknown number of random numbers. Each
// element reads a Philox stream of its own, numbered by the element, from where
// the generator stands; a call reserves kReservedNumbers of every stream, which
// no element exhausts in practice. So results depend on the number of threads
// as little as those of the other functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/compute/random/draw.h"
#include "kernels/compute/random/philox.h"

namespace dipu::kernels {

inline constexpr int64_t kReservedNumbers = 4096;

class ElementReader {
 public:
  ElementReader(const Numbers& numbers, int64_t element)
      : seed_(numbers.seed),
        block_(numbers.first / 4),
        stream_(static_cast<uint64_t>(element) + 1) {}

  // [0, 1) with 53 bits.
  double uniform() { return unitDouble(next()); }
  // (0, 1].
  double positive() { return 1.0 - uniform(); }

  // Normal with mean 0 and deviation 1.
  double normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log(positive()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  static constexpr int kCount = 4 * philox::kLanes;

  const uint32_t* next() {
    if (position_ == kCount) {
      uint32_t words[4][philox::kLanes];
      philox::computeBlocks(seed_, block_, words, stream_);
      for (int k = 0; k < philox::kLanes; ++k) {
        for (int w = 0; w < 4; ++w) drawn_[4 * k + w] = words[w][k];
      }
      block_ += philox::kLanes;
      position_ = 0;
    }
    position_ += 2;
    return drawn_ + position_ - 2;
  }

  uint64_t seed_;
  uint64_t block_;
  uint64_t stream_;
  int position_ = kCount;
  uint32_t drawn_[kCount];
};

}  // namespace dipu::kernels
