// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "kernels/compute/index_check.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/pooling/window.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

using pooling::Box;
using pooling::Geometry;

constexpr int64_t kCost = 4;

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  Geometry shape;
  const T* input;
  T* out;
  int64_t* indices;

  static bool wins(C value, C best) { return value > best || value != value; }

  void window(const T* image, const Box& box, int64_t at) const {
    int64_t position = shape.first(box);
    C best = -std::numeric_limits<C>::infinity();
    shape.forEachElement(box, [&](int64_t i) {
      const C value = static_cast<C>(image[i]);
      const bool better = wins(value, best);
      best = better ? value : best;
      position = better ? i : position;
    });
    out[at] = static_cast<T>(best);
    if (indices != nullptr) indices[at] = position;
  }

  void plane(int64_t index) const {
    const T* image = input + index * shape.inPixels();
    const int64_t base = index * shape.outPixels();
    shape.forEachWindow(
        [&](const Box& box, int64_t at) { window(image, box, base + at); });
  }

  // One pixel of the result in channels-last images.
  void pixel(int64_t index, C* best, int64_t* position) const {
    const int64_t channels = shape.channels;
    const int64_t sample = index / shape.outPixels();
    const Box box = shape.boxAt(index % shape.outPixels());
    std::fill(best, best + channels, -std::numeric_limits<C>::infinity());
    std::fill(position, position + channels, shape.first(box));
    const T* image = input + sample * shape.inPixels() * channels;
    shape.forEachElement(box, [&](int64_t at) {
      const T* from = image + at * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        const C value = static_cast<C>(from[c]);
        const bool better = wins(value, best[c]);
        best[c] = better ? value : best[c];
        position[c] = better ? at : position[c];
      }
    });
    const int64_t base = index * channels;
    for (int64_t c = 0; c < channels; ++c) {
      out[base + c] = static_cast<T>(best[c]);
    }
    if (indices != nullptr) {
      std::copy(position, position + channels, indices + base);
    }
  }

  void run() const {
    const int64_t area = shape.boxAt(0).padded();
    if (!shape.interleaved) {
      parallelFor(shape.planes(), grainFor(shape.outPixels() * area, kCost),
                  [this](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) plane(i);
                  });
      return;
    }
    parallelFor(shape.samples * shape.outPixels(),
                grainFor(shape.channels * area, kCost),
                [this](int64_t begin, int64_t end) {
                  C* best = workerBuffer<kReduceSlot>().get<C>(shape.channels);
                  int64_t* position =
                      workerBuffer<kLossSlot>().get<int64_t>(shape.channels);
                  for (int64_t i = begin; i < end; ++i)
                    pixel(i, best, position);
                });
  }
};

// Whether an index is a place in an image; if not, the task fails.
bool isInside(int64_t index, int64_t pixels) {
  if (index >= 0 && index < pixels) return true;
  reportIndex(index, pixels);
  return false;
}

// Adds the gradients of one plane to the places of the largest elements.
template <typename T>
void scatterPlane(const T* gradient, const int64_t* indices, int64_t out_pixels,
                  int64_t in_pixels, T* to) {
  using C = ComputeType<T>;
  C* sums = nullptr;
  if constexpr (std::is_same_v<T, C>) {
    sums = to;
  } else {
    sums = workerBuffer<kReduceSlot>().get<C>(in_pixels);
  }
  std::fill(sums, sums + in_pixels, C(0));
  for (int64_t i = 0; i < out_pixels; ++i) {
    if (!isInside(indices[i], in_pixels)) return;
    sums[indices[i]] += static_cast<C>(gradient[i]);
  }
  if constexpr (!std::is_same_v<T, C>) {
    for (int64_t i = 0; i < in_pixels; ++i) to[i] = static_cast<T>(sums[i]);
  }
}

// The same for all channels of one sample, channels innermost.
template <typename T>
void scatterSample(const T* gradient, const int64_t* indices,
                   int64_t out_pixels, int64_t in_pixels, int64_t channels,
                   T* to) {
  std::fill(to, to + in_pixels * channels, T(0));
  for (int64_t i = 0; i < out_pixels * channels; i += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      if (!isInside(indices[i + c], in_pixels)) return;
      to[indices[i + c] * channels + c] += gradient[i + c];
    }
  }
}

struct Planes {
  int64_t samples;
  int64_t channels;
  int64_t in_pixels;
  int64_t out_pixels;
  bool interleaved;
};

Planes planesOf(const TensorView& in, const TensorView& out, int32_t dimensions,
                Order order) {
  const int32_t first = in.ndim - dimensions;
  Planes planes{first == 2 ? in.sizes[0] : 1, in.sizes[first - 1], 1, 1,
                order == Order::kChannelsLast};
  for (int32_t i = first; i < in.ndim; ++i) {
    planes.in_pixels *= in.sizes[i];
    planes.out_pixels *= out.sizes[i];
  }
  return planes;
}

template <typename T>
void backward(const Planes& p, const T* gradient, const int64_t* indices,
              T* to) {
  if constexpr (!kIs16BitFloat<T>) {
    if (p.interleaved) {
      const int64_t in = p.in_pixels * p.channels;
      const int64_t out = p.out_pixels * p.channels;
      parallelFor(p.samples, grainFor(in, 2), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          scatterSample(gradient + i * out, indices + i * out, p.out_pixels,
                        p.in_pixels, p.channels, to + i * in);
        }
      });
      return;
    }
  }
  parallelFor(p.samples * p.channels, grainFor(p.in_pixels, 2),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  scatterPlane(gradient + i * p.out_pixels,
                               indices + i * p.out_pixels, p.out_pixels,
                               p.in_pixels, to + i * p.in_pixels);
                }
              });
}

}  // namespace

Status maxPool(const Queue& queue, const TensorView& out,
               const TensorView& indices, const TensorView& input,
               const PoolArguments& arguments) {
  const Order order = pooling::imageOrder(input, arguments.dimensions);
  Geometry shape;
  const Status status =
      pooling::geometryOf("max_pool", input, out, arguments, order, &shape);
  if (status != Status::kOk || out.numel == 0) return status;
  if (indices.defined() && !pooling::sameSizes(indices, out)) {
    return fail(Status::kInvalid,
                "max_pool: the indices have other sizes than the result");
  }
  DenseTensor x(queue, input, order);
  DenseTensor y(queue, out, order);
  DenseTensor where(queue, indices, order, DType::kInt64);
  if (!x.load() || !y.open() || !where.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "max_pool", input.dtype,
      [shape, x = x.address(), y = y.address(),
       where = where.address<int64_t>()](auto tag) {
        using T = typename decltype(tag)::type;
        Forward<T>{shape, static_cast<const T*>(x), static_cast<T*>(y), where}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&y, &where});
}

Status maxPoolBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output, const TensorView& indices,
                       int32_t dimensions) {
  if (!pooling::belongTogether(grad_input, grad_output, dimensions) ||
      !pooling::sameSizes(grad_output, indices)) {
    return fail(Status::kInvalid,
                "max_pool_backward: gradients and indices do not fit");
  }
  if (grad_input.numel == 0) return Status::kOk;
  const bool narrow = itemSize(grad_input.dtype) == 2;
  const Order order =
      narrow ? Order::kRowMajor : pooling::imageOrder(grad_input, dimensions);
  DenseTensor g(queue, grad_output, order);
  DenseTensor where(queue, indices, order, DType::kInt64);
  DenseTensor dx(queue, grad_input, order);
  if (!g.load() || !where.load() || !dx.open()) return Status::kFailed;
  const Planes planes = planesOf(grad_input, grad_output, dimensions, order);
  const Status sent =
      launchFloating(queue, "max_pool_backward", grad_input.dtype,
                     [planes, g = g.address(), where = where.address<int64_t>(),
                      dx = dx.address()](auto tag) {
                       using T = typename decltype(tag)::type;
                       backward<T>(planes, static_cast<const T*>(g), where,
                                   static_cast<T*>(dx));
                     });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
