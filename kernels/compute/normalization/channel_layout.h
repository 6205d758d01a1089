// SPDX-License-Identifier: Apache-2.0
//
// How a tensor's channels lie in memory, and scratch memory for their sums.
#pragma once

#include "kernels/compute/normalization/channels.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {

// The layout of an [N, C] or [N, C, ...] tensor that is dense in `order`.
ChannelLayout channelLayout(const TensorView& view, Order order);

// Scratch memory of one normalization, as addresses of the worker.
class ChannelScratch {
 public:
  static constexpr int64_t kFactors = 4;

  ChannelScratch(const Queue& queue, const ChannelLayout& layout,
                 DType compute);

  bool valid() const { return sums_ != nullptr; }
  // layout.scratchElements() elements.
  double* sums() const { return sums_; }
  // kFactors values of the compute type per channel.
  void* factors() const { return factors_; }

 private:
  double* sums_ = nullptr;
  void* factors_ = nullptr;
};

}  // namespace dipu::kernels
