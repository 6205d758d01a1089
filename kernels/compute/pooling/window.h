// SPDX-License-Identifier: Apache-2.0
//
// Images and the windows that pooling moves over them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/operands.h"
#include "kernels/compute/pooling/pool.h"

namespace dipu::kernels::pooling {

// Part of an axis: the elements begin, begin + step, ... below end.
struct Range {
  int64_t begin;
  int64_t end;
  int64_t padded;  // elements of the window including padding
};

struct Windows {
  PoolAxis axis;
  bool adaptive;
  int64_t in;   // size of the input
  int64_t out;  // number of windows

  int64_t step() const { return adaptive ? 1 : axis.dilation; }

  Range at(int64_t index) const {
    if (adaptive) {
      const int64_t begin = index * in / out;
      const int64_t end = ((index + 1) * in + out - 1) / out;
      return {begin, end, end - begin};
    }
    int64_t begin = index * axis.stride - axis.padding;
    const int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
    const int64_t stop = std::min(begin + reach, in + axis.padding);
    const int64_t padded = stop - begin;
    if (begin < 0) {
      begin += (-begin + axis.dilation - 1) / axis.dilation * axis.dilation;
    }
    return {begin, std::min(stop, in), padded};
  }

  // Whether every window contains an element.
  bool valid() const {
    if (in <= 0 || out < 0) return false;
    if (adaptive || out == 0) return true;
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 ||
        axis.padding < 0) {
      return false;
    }
    for (int64_t i : {int64_t{0}, out - 1}) {
      const Range range = at(i);
      if (range.begin >= range.end) return false;
    }
    return true;
  }
};

// A pooling of `samples` x `channels` images.
struct Geometry {
  int64_t samples;
  int64_t channels;
  Windows height;
  Windows width;
  bool interleaved;  // channels innermost

  int64_t planes() const { return samples * channels; }
  int64_t inPixels() const { return height.in * width.in; }
  int64_t outPixels() const { return height.out * width.out; }
};

// The layout in which to pool: channels-last only for 4-D images that lie so.
Order imageOrder(const TensorView& image);

// The geometry between two images. Checks that they fit, in the name of
// `operation`.
Status geometryOf(const char* operation, const TensorView& in,
                  const TensorView& out, const PoolArguments& arguments,
                  Order order, Geometry* geometry);

}  // namespace dipu::kernels::pooling
