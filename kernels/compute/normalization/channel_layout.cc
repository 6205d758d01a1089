// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/channel_layout.h"

namespace dipu::kernels {

ChannelLayout channelLayout(const TensorView& view, Order order) {
  ChannelLayout layout{view.sizes[0], view.sizes[1], 1, false};
  for (int32_t i = 2; i < view.ndim; ++i) layout.pixels *= view.sizes[i];
  if (order == Order::kChannelsLast || view.ndim == 2) {
    layout.pixels *= layout.images;
    layout.images = 1;
    layout.interleaved = true;
  }
  return layout;
}

ChannelScratch::ChannelScratch(const Queue& queue, const ChannelLayout& layout,
                               DType compute) {
  const int64_t sums =
      layout.scratchElements() * static_cast<int64_t>(sizeof(double));
  const int64_t factors =
      layout.channels * kFactors * static_cast<int64_t>(itemSize(compute));
  sums_ = static_cast<double*>(scratchAddress(queue, sums + factors));
  if (sums_ != nullptr) factors_ = sums_ + layout.scratchElements();
}

}  // namespace dipu::kernels
