// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/upsample.h"

#include <algorithm>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

constexpr int kAxes = 3;

// Planes of three axes, of which the outer ones may have size 1.
struct Volume {
  int64_t planes = 1;
  int64_t small[kAxes] = {1, 1, 1};
  int64_t large[kAxes] = {1, 1, 1};

  int64_t smallSize() const { return small[0] * small[1] * small[2]; }
  int64_t largeSize() const { return large[0] * large[1] * large[2]; }

  // In float, as PyTorch computes it.
  int64_t source(int axis, int64_t index) const {
    const float scale =
        static_cast<float>(small[axis]) / static_cast<float>(large[axis]);
    const auto position =
        static_cast<int64_t>(static_cast<float>(index) * scale);
    return std::min(position, small[axis] - 1);
  }

  // Calls body(offset of the small element, offset of the large one).
  template <typename Body>
  void forEachElement(const Body& body) const {
    int64_t at = 0;
    for (int64_t d = 0; d < large[0]; ++d) {
      for (int64_t h = 0; h < large[1]; ++h) {
        const int64_t row = (source(0, d) * small[1] + source(1, h)) * small[2];
        for (int64_t w = 0; w < large[2]; ++w) body(row + source(2, w), at++);
      }
    }
  }
};

Status volumeOf(const TensorView& small, const TensorView& large,
                Volume* volume) {
  if (small.ndim < 3 || small.ndim > 5 || large.ndim != small.ndim ||
      small.dtype != large.dtype ||
      !std::equal(small.sizes, small.sizes + 2, large.sizes)) {
    return fail(Status::kInvalid,
                "upsample_nearest: images of %d and %d dimensions do not "
                "belong together",
                small.ndim, large.ndim);
  }
  volume->planes = small.sizes[0] * small.sizes[1];
  for (int32_t i = 2; i < small.ndim; ++i) {
    const int32_t axis = kAxes - small.ndim + i;
    volume->small[axis] = small.sizes[i];
    volume->large[axis] = large.sizes[i];
  }
  if (large.numel > 0 && small.numel == 0) {
    return fail(Status::kInvalid, "upsample_nearest: the input is empty");
  }
  return Status::kOk;
}

template <typename T>
void enlarge(const Volume& v, const T* input, T* out) {
  parallelFor(
      v.planes, grainFor(v.largeSize(), 2), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const T* from = input + p * v.smallSize();
          T* to = out + p * v.largeSize();
          v.forEachElement([&](int64_t i, int64_t o) { to[o] = from[i]; });
        }
      });
}

template <typename T>
void gather(const Volume& v, const T* grad_output, T* grad_input) {
  using C = ComputeType<T>;
  const int64_t size = v.smallSize();
  parallelFor(v.planes, grainFor(v.largeSize(), 2),
              [&](int64_t begin, int64_t end) {
                C* sums = workerBuffer<kReduceSlot>().get<C>(size);
                for (int64_t p = begin; p < end; ++p) {
                  const T* from = grad_output + p * v.largeSize();
                  T* to = grad_input + p * size;
                  std::fill(sums, sums + size, C(0));
                  v.forEachElement([&](int64_t i, int64_t o) {
                    sums[i] += static_cast<C>(from[o]);
                  });
                  for (int64_t i = 0; i < size; ++i) {
                    to[i] = static_cast<T>(sums[i]);
                  }
                }
              });
}

}  // namespace

Status upsampleNearest(const Queue& queue, const TensorView& out,
                       const TensorView& input) {
  Volume volume;
  const Status status = volumeOf(input, out, &volume);
  if (status != Status::kOk || out.numel == 0) return status;
  DenseTensor x(queue, input, Order::kRowMajor);
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!x.load() || !y.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "upsample_nearest", out.dtype,
      [volume, x = x.address(), y = y.address()](auto tag) {
        using T = typename decltype(tag)::type;
        enlarge(volume, static_cast<const T*>(x), static_cast<T*>(y));
      });
  return sent == Status::kOk ? y.store() : sent;
}

Status upsampleNearestBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output) {
  Volume volume;
  const Status status = volumeOf(grad_input, grad_output, &volume);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  DenseTensor g(queue, grad_output, Order::kRowMajor);
  DenseTensor dx(queue, grad_input, Order::kRowMajor);
  if (!g.load() || !dx.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "upsample_nearest_backward", grad_input.dtype,
      [volume, g = g.address(), dx = dx.address()](auto tag) {
        using T = typename decltype(tag)::type;
        gather(volume, static_cast<const T*>(g), static_cast<T*>(dx));
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
