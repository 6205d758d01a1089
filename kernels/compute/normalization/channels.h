// SPDX-License-Identifier: Apache-2.0
//
// Sums and maps per channel over a tensor in either layout.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"
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
  // Elements of the scratch array that sumInterleaved needs.
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

// The sums of term(offset, channel), a Pair<C>, over one channel of a planar
// tensor.
template <typename C, typename Term>
Pair<double> sumChannel(const ChannelLayout& layout, int64_t channel,
                        const Term& term) {
  Pair<double> total{0, 0};
  for (int64_t n = 0; n < layout.images; ++n) {
    const int64_t base = (n * layout.channels + channel) * layout.pixels;
    const Pair<double> part = sumPairs<C>(
        layout.pixels,
        [&term, base, channel](int64_t i) { return term(base + i, channel); });
    total.first += part.first;
    total.second += part.second;
  }
  return total;
}

// Calls map(offset, channel) for the elements of one channel of a planar
// tensor.
template <typename Map>
void mapChannel(const ChannelLayout& layout, int64_t channel, const Map& map) {
  for (int64_t n = 0; n < layout.images; ++n) {
    const int64_t base = (n * layout.channels + channel) * layout.pixels;
#pragma GCC ivdep
    for (int64_t i = 0; i < layout.pixels; ++i) map(base + i, channel);
  }
}

// Calls body(channel) for all channels of a planar tensor. What one call reads
// twice comes from the cache.
template <typename Body>
void forEachChannel(const ChannelLayout& layout, const Body& body) {
  parallelFor(layout.channels, grainFor(layout.perChannel(), 3 * kChannelCost),
              [&body](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) body(c);
              });
}

// For each channel of an interleaved tensor the sums of term(offset, channel),
// a Pair<C>, in double: the first sums of all channels, then the second ones.
// They are left at the start of `scratch`, which has scratchElements()
// elements.
template <typename C, typename Term>
void sumInterleaved(const ChannelLayout& layout, const Term& term,
                    double* scratch) {
  const int64_t channels = layout.channels;
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

// Calls map(offset, channel) for every element of an interleaved tensor.
template <typename Map>
void mapInterleaved(const ChannelLayout& layout, const Map& map) {
  const int64_t channels = layout.channels;
  parallelFor(layout.pixels, grainFor(channels, kChannelCost),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const int64_t base = row * channels;
#pragma GCC ivdep
                  for (int64_t c = 0; c < channels; ++c) map(base + c, c);
                }
              });
}

}  // namespace dipu::kernels
