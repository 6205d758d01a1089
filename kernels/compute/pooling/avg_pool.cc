// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/parallel.h"
#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/pooling/window.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

using pooling::Box;
using pooling::Geometry;

// What the sum of a window is divided by.
struct Divisor {
  bool count_include_pad;
  int64_t fixed;  // 0: the size of the window

  double of(const Box& box) const {
    if (fixed != 0) return static_cast<double>(fixed);
    return static_cast<double>(count_include_pad ? box.padded() : box.inside());
  }
};

template <typename T>
struct Average {
  using C = ComputeType<T>;
  Geometry shape;
  Divisor divisor;
  T* image;   // input, or its gradient
  T* result;  // output, or its gradient

  // Rows one after the other, where a window takes all of each, count as one.
  C sumWindow(const T* from, const Box& box) const {
    const bool whole = box.columns.end - box.columns.begin == shape.width.in;
    C sum = 0;
    for (int64_t d = box.depth.begin; d < box.depth.end; ++d) {
      if (whole) {
        const T* first = from + shape.row(d, box.rows.begin);
        sum += static_cast<C>(sumTerms<C>(
            (box.rows.end - box.rows.begin) * shape.width.in,
            [first](int64_t i) { return static_cast<C>(first[i]); }));
        continue;
      }
      for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
        const T* row = from + shape.row(d, h);
        for (int64_t w = box.columns.begin; w < box.columns.end; ++w) {
          sum += static_cast<C>(row[w]);
        }
      }
    }
    return sum;
  }

  void forwardPlane(int64_t index) const {
    const T* from = image + index * shape.inPixels();
    T* to = result + index * shape.outPixels();
    shape.forEachWindow([&](const Box& box, int64_t at) {
      to[at] = static_cast<T>(sumWindow(from, box) /
                              static_cast<C>(divisor.of(box)));
    });
  }

  // All channels of one sample, channels innermost.
  void forwardSample(int64_t sample) const {
    const int64_t channels = shape.channels;
    const T* from = image + sample * shape.inPixels() * channels;
    T* to = result + sample * shape.outPixels() * channels;
    C* sums = workerBuffer<kReduceSlot>().get<C>(channels);
    shape.forEachWindow([&](const Box& box, int64_t at) {
      std::fill(sums, sums + channels, C(0));
      shape.forEachElement(box, [&](int64_t position) {
        const T* pixel = from + position * channels;
        for (int64_t c = 0; c < channels; ++c) {
          sums[c] += static_cast<C>(pixel[c]);
        }
      });
      const C scale = static_cast<C>(divisor.of(box));
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
    shape.forEachWindow([&](const Box& box, int64_t at) {
      const C scale = static_cast<C>(divisor.of(box));
      shape.forEachElement(box, [&](int64_t position) {
        C* pixel = sums + position * inner;
        for (int64_t c = 0; c < inner; ++c) {
          pixel[c] += static_cast<C>(from[at * inner + c]) / scale;
        }
      });
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
  const Order order =
      pooling::imageOrder(backward ? result : image, arguments.dimensions);
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

Status avgPool(const Queue& queue, const TensorView& out,
               const TensorView& input, const PoolArguments& arguments) {
  return average("avg_pool", queue, false, input, out, arguments);
}

Status avgPoolBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const PoolArguments& arguments) {
  return average("avg_pool_backward", queue, true, grad_input, grad_output,
                 arguments);
}

}  // namespace dipu::kernels
