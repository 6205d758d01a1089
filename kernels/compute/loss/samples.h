// SPDX-License-Identifier: Apache-2.0
//
// Losses that are computed sample by sample, from rows of class scores.
// Internal to the losses.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {

struct SampleShape {
  int64_t samples;
  int64_t classes;
};

// [C] is one sample, a scalar one sample of one class.
inline SampleShape sampleShape(const TensorView& input) {
  if (input.ndim == 0) return {1, 1};
  if (input.ndim == 1) return {1, input.sizes[0]};
  return {input.sizes[0], input.sizes[1]};
}

// Writes loss(i) of each sample, a double, or their sum or mean, in an order
// that does not depend on threads. `cost` is that of a sample.
template <typename T, typename Loss>
void reduceSamples(int64_t samples, int64_t cost, Reduction reduction, T* out,
                   const Loss& loss) {
  using C = ComputeType<T>;
  if (reduction == Reduction::kNone) {
    parallelFor(samples, grainFor(cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(static_cast<C>(loss(i)));
      }
    });
    return;
  }
  constexpr int64_t kBlocks = 64;
  double partial[kBlocks];
  parallelFor(kBlocks, grainFor(cost * (samples / kBlocks + 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t b = begin; b < end; ++b) {
                  partial[b] = 0;
                  const int64_t last = samples * (b + 1) / kBlocks;
                  for (int64_t i = samples * b / kBlocks; i < last; ++i) {
                    partial[b] += loss(i);
                  }
                }
              });
  double total = 0;
  for (const double part : partial) total += part;
  if (reduction == Reduction::kMean) total /= static_cast<double>(samples);
  *out = static_cast<T>(static_cast<C>(total));
}

// The factor of sample i's gradient.
template <typename T>
ComputeType<T> sampleGradient(const T* grad_output, int64_t i, int64_t samples,
                              Reduction reduction) {
  using C = ComputeType<T>;
  if (reduction == Reduction::kNone) return static_cast<C>(grad_output[i]);
  const C grad = static_cast<C>(*grad_output);
  return reduction == Reduction::kMean ? grad / static_cast<C>(samples) : grad;
}

}  // namespace dipu::kernels
