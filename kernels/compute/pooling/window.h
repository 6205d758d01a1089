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
    // Not by std::min, whose references to locals gcc 12's address sanitizer
    // takes for dangling ones when it unrolls the caller's loop.
    return {begin, stop < in ? stop : in, padded};
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

// One window.
struct Box {
  Range depth;
  Range rows;
  Range columns;

  int64_t padded() const { return depth.padded * rows.padded * columns.padded; }
  // Elements inside the image; windows of averages have no gaps.
  int64_t inside() const {
    return (depth.end - depth.begin) * (rows.end - rows.begin) *
           (columns.end - columns.begin);
  }
};

// A pooling of `samples` x `channels` images.
struct Geometry {
  int64_t samples;
  int64_t channels;
  Windows depth;
  Windows height;
  Windows width;
  bool interleaved;  // channels innermost

  int64_t planes() const { return samples * channels; }
  int64_t inPixels() const { return depth.in * height.in * width.in; }
  int64_t outPixels() const { return depth.out * height.out * width.out; }
  // Position of the row (d, h) of an image.
  int64_t row(int64_t d, int64_t h) const {
    return (d * height.in + h) * width.in;
  }
  int64_t first(const Box& box) const {
    return row(box.depth.begin, box.rows.begin) + box.columns.begin;
  }

  // The window of a pixel of the result.
  Box boxAt(int64_t pixel) const {
    const int64_t rest = pixel / width.out;
    return {depth.at(rest / height.out), height.at(rest % height.out),
            width.at(pixel % width.out)};
  }

  // Calls body(window, pixel of the result) for all windows.
  template <typename Body>
  void forEachWindow(const Body& body) const {
    int64_t at = 0;
    for (int64_t d = 0; d < depth.out; ++d) {
      const Range slices = depth.at(d);
      for (int64_t h = 0; h < height.out; ++h) {
        const Range rows = height.at(h);
        for (int64_t w = 0; w < width.out; ++w) {
          body(Box{slices, rows, width.at(w)}, at++);
        }
      }
    }
  }

  // Calls body(position) for the elements of a window.
  template <typename Body>
  void forEachElement(const Box& box, const Body& body) const {
    for (int64_t d = box.depth.begin; d < box.depth.end; d += depth.step()) {
      for (int64_t h = box.rows.begin; h < box.rows.end; h += height.step()) {
        const int64_t base = row(d, h);
        for (int64_t w = box.columns.begin; w < box.columns.end;
             w += width.step()) {
          body(base + w);
        }
      }
    }
  }
};

// Whether two images differ in nothing but the sizes of their last dimensions,
// `dimensions` of them.
bool belongTogether(const TensorView& in, const TensorView& out,
                    int32_t dimensions);

// Whether all sizes agree.
bool sameSizes(const TensorView& a, const TensorView& b);

// The layout in which to pool: channels-last only for images with a sample
// dimension that lie so.
Order imageOrder(const TensorView& image, int32_t dimensions);

// The geometry between two images. Checks that they fit, in the name of
// `operation`.
Status geometryOf(const char* operation, const TensorView& in,
                  const TensorView& out, const PoolArguments& arguments,
                  Order order, Geometry* geometry);

}  // namespace dipu::kernels::pooling
