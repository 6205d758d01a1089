// SPDX-License-Identifier: Apache-2.0
//
// Which pixels along one axis a place depends on. Interpolation of any kind is
// a product over the axes. Internal to grid_sampler.cc.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/compute/vision/grid_sampler.h"

namespace dipu::kernels::grid {

inline constexpr int kMaxTaps = 4;

// Pixels with their weights, and how the weights change with the coordinate of
// the grid. An index of -1 is outside and counts nothing.
template <typename T>
struct Axis {
  int taps = 1;
  int64_t index[kMaxTaps] = {};
  T weight[kMaxTaps] = {T(1)};
  T slope[kMaxTaps] = {};
};

// A position in pixels, and how it changes with the coordinate.
template <typename T>
struct Position {
  T at;
  T slope;
};

template <typename T>
Position<T> positionOf(T coordinate, int64_t size, bool align_corners) {
  const T extent = static_cast<T>(align_corners ? size - 1 : size);
  const T start = align_corners ? T(0) : T(-0.5);
  return {(coordinate + T(1)) / T(2) * extent + start, extent / T(2)};
}

template <typename T>
Position<T> reflected(Position<T> p, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5);
  const T span = static_cast<T>(align_corners ? size - 1 : size);
  if (span == T(0)) return {T(0), T(0)};
  const bool below = p.at < low;
  const T distance = below ? low - p.at : p.at - low;
  const T slope = below ? -p.slope : p.slope;
  const T rest = std::fmod(distance, span);
  const bool forward = std::fmod(std::floor(distance / span), T(2)) == T(0);
  return forward ? Position<T>{low + rest, slope}
                 : Position<T>{low + span - rest, -slope};
}

// NaN becomes the first pixel of an image's axis and the last of a volume's, as
// on PyTorch's CPU.
template <typename T>
Position<T> clipped(Position<T> p, int64_t size, bool image) {
  const T last = static_cast<T>(size - 1);
  if (p.at <= T(0) || (image && p.at != p.at)) return {T(0), T(0)};
  return p.at < last ? p : Position<T>{last, T(0)};
}

template <typename T>
Position<T> padded(Position<T> p, int64_t size, const GridOptions& options,
                   bool image) {
  if (options.padding == GridPadding::kZeros) return p;
  if (options.padding == GridPadding::kReflection) {
    p = reflected(p, size, options.align_corners);
  }
  return clipped(p, size, image);
}

// The pixel at a whole position, -1 outside; any value, NaN too.
template <typename T>
int64_t pixelAt(T position, int64_t size) {
  return position >= T(0) && position < static_cast<T>(size)
             ? static_cast<int64_t>(position)
             : -1;
}

// The cubic convolution kernel at a distance, and its derivative.
template <typename T>
Position<T> cubic(T d) {
  constexpr T kA = T(-0.75);
  if (d <= T(1)) {
    return {((kA + T(2)) * d - (kA + T(3))) * d * d + T(1),
            (T(3) * (kA + T(2)) * d - T(2) * (kA + T(3))) * d};
  }
  return {((kA * d - T(5) * kA) * d + T(8) * kA) * d - T(4) * kA,
          (T(3) * kA * d - T(10) * kA) * d + T(8) * kA};
}

template <typename T>
Axis<T> cubicAxis(Position<T> p, int64_t size, const GridOptions& options) {
  Axis<T> axis;
  axis.taps = 4;
  const T whole = std::floor(p.at);
  const T share = p.at - whole;
  for (int k = 0; k < 4; ++k) {
    const T offset = static_cast<T>(k - 1);
    const T place = whole + offset;
    const T distance = share - offset;
    const Position<T> kernel = cubic(std::fabs(distance));
    axis.index[k] =
        pixelAt(padded(Position<T>{place, T(0)}, size, options, true).at, size);
    axis.weight[k] = kernel.at;
    axis.slope[k] = (distance < T(0) ? -kernel.slope : kernel.slope) * p.slope;
  }
  return axis;
}

template <typename T>
Axis<T> linearAxis(Position<T> p, int64_t size) {
  Axis<T> axis;
  axis.taps = 2;
  const T first = std::floor(p.at);
  const T share = p.at - first;
  axis.index[0] = pixelAt(first, size);
  axis.index[1] = pixelAt(first + T(1), size);
  axis.weight[0] = T(1) - share;
  axis.weight[1] = share;
  axis.slope[0] = -p.slope;
  axis.slope[1] = p.slope;
  return axis;
}

// `image` is false for volumes.
template <typename T>
Axis<T> axisOf(T coordinate, int64_t size, const GridOptions& options,
               bool image) {
  const Position<T> p = positionOf(coordinate, size, options.align_corners);
  if (options.interpolation == GridInterpolation::kCubic) {
    return cubicAxis(p, size, options);
  }
  const Position<T> inside = padded(p, size, options, image);
  if (options.interpolation == GridInterpolation::kLinear) {
    return linearAxis(inside, size);
  }
  Axis<T> axis;
  axis.index[0] = pixelAt(std::nearbyint(inside.at), size);
  return axis;
}

}  // namespace dipu::kernels::grid
