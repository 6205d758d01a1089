// SPDX-License-Identifier: Apache-2.0
//
// Random numbers.
//
// Note [Who advances the generator]
// A function takes the numbers that it needs from a RandomSource and thereby
// moves its offset, rounded up to a multiple of 4, before it returns. The DIOPI
// export reads seed and offset of the generator before the call and, when the
// call succeeded, writes the new offset back; the host advances nothing. How
// many numbers a call takes depends on its arguments only (each function says
// how many), never on the number of threads, and neither do the results.
//
// Outputs may have any strides. Floating types are float32, float64, float16
// and bfloat16; others give kUnsupported. Every function enqueues and returns.
#pragma once

#include <cstdint>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// A position in the Philox sequence of a seed, counted in 32-bit numbers.
class RandomSource {
 public:
  RandomSource(uint64_t seed, uint64_t offset) : seed_(seed), offset_(offset) {}

  uint64_t seed() const { return seed_; }
  uint64_t offset() const { return offset_; }

  // Reserves `numbers` and returns the position of the first.
  uint64_t take(int64_t numbers) {
    offset_ = (offset_ + 3) / 4 * 4;
    const uint64_t first = offset_;
    offset_ += (static_cast<uint64_t>(numbers) + 3) / 4 * 4;
    return first;
  }

 private:
  uint64_t seed_;
  uint64_t offset_;
};

// Uniform over [from, to). Takes one number per element, two for float64.
Status uniform(const Queue& queue, const TensorView& out, double from,
               double to, RandomSource* source);

// Normal by the method of Box and Muller. Takes one number per element, two
// for float64, each rounded up to a pair of elements.
Status normal(const Queue& queue, const TensorView& out, double mean,
              double deviation, RandomSource* source);

// out = mean + deviation * normal, rounded once; tensors broadcast to `out`.
Status normalOf(const Queue& queue, const TensorView& out,
                const TensorView& mean, const TensorView& deviation,
                RandomSource* source);
// The same with a number for the deviation, or for the mean.
Status normalAround(const Queue& queue, const TensorView& out,
                    const TensorView& mean, double deviation,
                    RandomSource* source);
Status normalSpread(const Queue& queue, const TensorView& out, double mean,
                    const TensorView& deviation, RandomSource* source);

// 1 with the given probability, else 0, in any dtype. One number per element.
Status bernoulli(const Queue& queue, const TensorView& out, double probability,
                 RandomSource* source);
// The probabilities have the shape of `out` and a floating type; one outside
// [0, 1] fails on the device.
Status bernoulliOf(const Queue& queue, const TensorView& out,
                   const TensorView& probabilities, RandomSource* source);

// Integers of [from, from + range) in any dtype; a range of 0 stands for 2^64.
// One number per element up to a range of 2^32, else two.
Status randomIntegers(const Queue& queue, const TensorView& out, int64_t from,
                      uint64_t range, RandomSource* source);

// A permutation of 0 .. out.numel - 1 in any dtype. Two numbers per element.
Status randomPermutation(const Queue& queue, const TensorView& out,
                         RandomSource* source);

// Indices drawn with the chances that `weights`, [n] or [m, n], stand to each
// other; out is [samples] or [m, samples], int64. Two numbers per sample, or
// per weight without replacement. Weights that are negative or not finite, or
// whose sum is 0, fail on the device.
Status multinomial(const Queue& queue, const TensorView& out,
                   const TensorView& weights, bool replacement,
                   RandomSource* source);

// out = input / (1 - p) where an element is kept, with probability 1 - p, else
// 0; `mask`, bool, tells which and may be undefined. One number per element.
Status dropout(const Queue& queue, const TensorView& out,
               const TensorView& mask, const TensorView& input, double p,
               RandomSource* source);

}  // namespace dipu::kernels
