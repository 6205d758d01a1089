// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/parallel.h"
#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/pooling/window.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

using pooling::Geometry;
using pooling::Range;

// What the sum of a window is divided by.
struct Divisor {
  bool count_include_pad;
  int64_t fixed;  // 0: the size of the window

  double of(const Range& rows, const Range& columns) const {
    if (fixed != 0) return static_cast<double>(fixed);
    const int64_t elements =
        count_include_pad
            ? rows.padded * columns.padded
            : (rows.end - rows.begin) * (columns.end - columns.begin);
    return static_cast<double>(elements);
  }
};

template <typename T>
struct Average {
  using C = ComputeType<T>;
  Geometry shape;
  Divisor divisor;
  T* image;   // input, or its gradient
  T* result;  // output, or its gradient

  // Calls body(rows, columns, pixel of the result) for all windows.
  template <typename Body>
  void forEachWindow(const Body& body) const {
    int64_t at = 0;
    for (int64_t h = 0; h < shape.height.out; ++h) {
      const Range rows = shape.height.at(h);
      for (int64_t w = 0; w < shape.width.out; ++w) {
        body(rows, shape.width.at(w), at++);
      }
    }
  }

  C sumWindow(const T* from, const Range& rows, const Range& columns) const {
    if (columns.end - columns.begin == shape.width.in) {
      const T* first = from + rows.begin * shape.width.in;
      return static_cast<C>(
          sumTerms<C>((rows.end - rows.begin) * shape.width.in,
                      [first](int64_t i) { return static_cast<C>(first[i]); }));
    }
    C sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const T* row = from + h * shape.width.in;
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        sum += static_cast<C>(row[w]);
      }
    }
    return sum;
  }

  void forwardPlane(int64_t index) const {
    const T* from = image + index * shape.inPixels();
    T* to = result + index * shape.outPixels();
    forEachWindow([&](const Range& rows, const Range& columns, int64_t at) {
      to[at] = static_cast<T>(sumWindow(from, rows, columns) /
                              static_cast<C>(divisor.of(rows, columns)));
    });
  }

  // All channels of one sample, channels innermost.
  void forwardSample(int64_t sample) const {
    const int64_t channels = shape.channels;
    const T* from = image + sample * shape.inPixels() * channels;
    T* to = result + sample * shape.outPixels() * channels;
    C* sums = workerBuffer<kReduceSlot>().get<C>(channels);
    forEachWindow([&](const Range& rows, const Range& columns, int64_t at) {
      std::fill(sums, sums + channels, C(0));
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          const T* pixel = from + (h * shape.width.in + w) * channels;
          for (int64_t c = 0; c < channels; ++c) {
            sums[c] += static_cast<C>(pixel[c]);
          }
        }
      }
      const C scale = static_cast<C>(divisor.of(rows, columns));
      for (int64_t c = 0; c < channels; ++c) {
        to[at * channels + c] = static_cast<T>(sums[c] / scale);
      }
    });
  }

  // `inner` is the number of channels that lie side by side.
  void backwardPlane(int64_t index, int64_t inner) const {
    const int64_t pixels = shape.inPixels() * inner;
    T* to = image + index * pixels;
    const T* from = result + index * shape.outPixels() * inner;
    C* sums = workerBuffer<kReduceSlot>().get<C>(pixels);
    std::fill(sums, sums + pixels, C(0));
    forEachWindow([&](const Range& rows, const Range& columns, int64_t at) {
      const C scale = static_cast<C>(divisor.of(rows, columns));
      for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          C* pixel = sums + (h * shape.width.in + w) * inner;
          for (int64_t c = 0; c < inner; ++c) {
            pixel[c] += static_cast<C>(from[at * inner + c]) / scale;
          }
        }
      }
    });
    for (int64_t i = 0; i < pixels; ++i) to[i] = static_cast<T>(sums[i]);
  }

  void run(bool backward) const {
    const int64_t inner = shape.interleaved ? shape.channels : 1;
    const int64_t units = shape.interleaved ? shape.samples : shape.planes();
    parallelFor(units, grainFor(shape.inPixels() * inner, 4),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    if (backward) {
                      backwardPlane(i, inner);
                    } else if (shape.interleaved) {
                      forwardSample(i);
                    } else {
                      forwardPlane(i);
                    }
                  }
                });
  }
};

Status average(const char* operation, const Queue& queue, bool backward,
               const TensorView& image, const TensorView& result,
               const PoolArguments& arguments) {
  const Order order = pooling::imageOrder(backward ? result : image);
  Geometry shape;
  const Status status =
      pooling::geometryOf(operation, image, result, arguments, order, &shape);
  if (status != Status::kOk || image.numel == 0) return status;
  DenseTensor x(queue, image, order);
  DenseTensor y(queue, result, order);
  const bool ready = backward ? x.open() && y.load() : x.load() && y.open();
  if (!ready) return Status::kFailed;
  const Divisor divisor{arguments.count_include_pad, arguments.divisor};
  const Status sent = launchFloating(
      queue, operation, image.dtype,
      [shape, divisor, backward, x = x.address(), y = y.address()](auto tag) {
        using T = typename decltype(tag)::type;
        Average<T>{shape, divisor, static_cast<T*>(x), static_cast<T*>(y)}.run(
            backward);
      });
  if (sent != Status::kOk) return sent;
  return backward ? x.store() : y.store();
}

}  // namespace

Status avgPool2d(const Queue& queue, const TensorView& out,
                 const TensorView& input, const PoolArguments& arguments) {
  return average("avg_pool2d", queue, false, input, out, arguments);
}

Status avgPool2dBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const PoolArguments& arguments) {
  return average("avg_pool2d_backward", queue, true, grad_input, grad_output,
                 arguments);
}

}  // namespace dipu::kernels
