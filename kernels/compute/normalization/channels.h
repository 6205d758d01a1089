// SPDX-License-Identifier: Apache-2.0
//
// Sums and maps per channel over a tensor in either layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/sums.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {

// `images` x `channels` x `pixels` elements, either planar (pixels innermost)
// or interleaved (channels innermost). Interleaved tensors have one image.
struct ChannelLayout {
  int64_t images;
  int64_t channels;
  int64_t pixels;
  bool interleaved;

  int64_t perChannel() const { return images * pixels; }

  // Interleaved rows are summed in this many fixed blocks.
  int64_t blocks() const {
    return interleaved ? std::clamp<int64_t>(pixels / 64, 1, 32) : 0;
  }
  // Elements of the scratch array that sumChannels needs.
  int64_t scratchElements() const { return (blocks() + 1) * channels * 2; }
};

inline constexpr int64_t kChannelCost = 2;
// Rows whose sums are kept in the compute type before they go to double.
inline constexpr int64_t kRowBlock = 256;

// Sums of one block of interleaved rows into `to`: all first sums, then all
// second ones.
template <typename C, typename Term>
void sumRows(const ChannelLayout& layout, int64_t block, const Term& term,
             double* to) {
  const int64_t channels = layout.channels;
  const int64_t end = layout.pixels * (block + 1) / layout.blocks();
  C* first = workerBuffer<kReduceSlot>().get<C>(2 * channels);
  C* second = first + channels;
  std::fill(to, to + 2 * channels, 0.0);
  for (int64_t row = layout.pixels * block / layout.blocks(); row < end;) {
    const int64_t stop = std::min(end, row + kRowBlock);
    std::fill(first, first + 2 * channels, C(0));
    for (; row < stop; ++row) {
      const int64_t base = row * channels;
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) {
        const Pair<C> value = term(base + c, c);
        first[c] += value.first;
        second[c] += value.second;
      }
    }
    for (int64_t c = 0; c < 2 * channels; ++c) {
      to[c] += static_cast<double>(first[c]);
    }
  }
}

// For each channel the sums of term(offset, channel), a Pair<C>, in double:
// the first sums of all channels, then the second ones. They are left at the
// start of `scratch`, which has scratchElements() elements.
template <typename C, typename Term>
void sumChannels(const ChannelLayout& layout, const Term& term,
                 double* scratch) {
  const int64_t channels = layout.channels;
  if (!layout.interleaved) {
    const int64_t grain = grainFor(layout.perChannel(), kChannelCost);
    parallelFor(channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        Pair<double> total{0, 0};
        for (int64_t n = 0; n < layout.images; ++n) {
          const int64_t base = (n * channels + c) * layout.pixels;
          const Pair<double> part = sumPairs<C>(
              layout.pixels, [&](int64_t i) { return term(base + i, c); });
          total.first += part.first;
          total.second += part.second;
        }
        scratch[c] = total.first;
        scratch[channels + c] = total.second;
      }
    });
    return;
  }
  const int64_t blocks = layout.blocks();
  const int64_t work = (layout.pixels / blocks + 1) * channels;
  double* partial = scratch + 2 * channels;
  parallelFor(blocks, grainFor(work, kChannelCost),
              [&](int64_t begin, int64_t end) {
                for (int64_t b = begin; b < end; ++b) {
                  sumRows<C>(layout, b, term, partial + b * 2 * channels);
                }
              });
  for (int64_t c = 0; c < 2 * channels; ++c) {
    scratch[c] = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      scratch[c] += partial[b * 2 * channels + c];
    }
  }
}

// Calls map(offset, channel) for every element, in loops that vectorise.
template <typename Map>
void mapChannels(const ChannelLayout& layout, const Map& map) {
  const int64_t rows =
      layout.interleaved ? layout.pixels : layout.images * layout.channels;
  const int64_t length = layout.interleaved ? layout.channels : layout.pixels;
  parallelFor(rows, grainFor(length, kChannelCost),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const int64_t base = row * length;
                  if (layout.interleaved) {
#pragma GCC ivdep
                    for (int64_t c = 0; c < length; ++c) map(base + c, c);
                  } else {
                    const int64_t channel = row % layout.channels;
#pragma GCC ivdep
                    for (int64_t i = 0; i < length; ++i) map(base + i, channel);
                  }
                }
              });
}

}  // namespace dipu::kernels
