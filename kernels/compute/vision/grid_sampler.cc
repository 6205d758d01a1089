// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/vision/grid_sampler.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/vision/grid_axis.h"

namespace dipu::kernels {
namespace {

using grid::Axis;
using grid::axisOf;
using grid::kMaxTaps;

constexpr int64_t kCost = 16;

// Depth, height and width; an image has the depth 1.
struct Shape {
  int64_t samples = 0;
  int64_t channels = 0;
  int64_t sizes[3] = {1, 1, 1};
  int64_t dims = 2;    // coordinates of a place: 2 or 3
  int64_t places = 1;  // of one sample

  int64_t pixels() const { return sizes[0] * sizes[1] * sizes[2]; }
};

// The pixels that one place depends on.
template <typename T>
struct Taps {
  static constexpr int kMost = kMaxTaps * kMaxTaps;

  int count = 0;
  int64_t offset[kMost];
  T weight[kMost];
  T slope[kMost][3];  // by depth, height and width
};

// Zero times the weights of pixels outside of an image, which is NaN at places
// that are not finite, as on PyTorch's CPU.
template <typename T>
struct Outside {
  T sum = T(0);
  T slope[3] = {};  // by depth, height and width
};

template <typename T>
struct Sampler {
  Shape shape;
  GridOptions options;
  const T* grid;

  // Place `i` of all samples' places.
  Taps<T> tapsOf(int64_t i) const {
    const T* at = grid + i * shape.dims;
    const bool image = shape.dims == 2;
    const Axis<T> z =
        image ? Axis<T>() : axisOf(at[2], shape.sizes[0], options, image);
    const Axis<T> y = axisOf(at[1], shape.sizes[1], options, image);
    const Axis<T> x = axisOf(at[0], shape.sizes[2], options, image);
    Taps<T> taps;
    for (int a = 0; a < z.taps; ++a) {
      for (int b = 0; b < y.taps; ++b) {
        for (int c = 0; c < x.taps; ++c) {
          if (z.index[a] < 0 || y.index[b] < 0 || x.index[c] < 0) continue;
          const int k = taps.count++;
          taps.offset[k] =
              (z.index[a] * shape.sizes[1] + y.index[b]) * shape.sizes[2] +
              x.index[c];
          taps.weight[k] = z.weight[a] * y.weight[b] * x.weight[c];
          taps.slope[k][0] = z.slope[a] * y.weight[b] * x.weight[c];
          taps.slope[k][1] = z.weight[a] * y.slope[b] * x.weight[c];
          taps.slope[k][2] = z.weight[a] * y.weight[b] * x.slope[c];
        }
      }
    }
    return taps;
  }

  // What the pixels outside of an image add at place `i`.
  Outside<T> outsideOf(int64_t i) const {
    const bool weighs = options.interpolation != GridInterpolation::kNearest;
    if (!weighs || shape.dims != 2) return {};
    const T* at = grid + i * 2;
    if (std::isfinite(at[0] + at[1])) return {};
    return outsideAt(at);
  }

  // Not part of the loops over places, which it would slow down.
  [[gnu::noinline]] Outside<T> outsideAt(const T* at) const {
    const Axis<T> y = axisOf(at[1], shape.sizes[1], options, true);
    const Axis<T> x = axisOf(at[0], shape.sizes[2], options, true);
    Outside<T> outside;
    for (int b = 0; b < y.taps; ++b) {
      for (int c = 0; c < x.taps; ++c) {
        if (y.index[b] >= 0 && x.index[c] >= 0) continue;
        outside.sum += y.weight[b] * x.weight[c] * T(0);
        outside.slope[1] += y.slope[b] * x.weight[c] * T(0);
        outside.slope[2] += y.weight[b] * x.slope[c] * T(0);
      }
    }
    return outside;
  }

  void sample(const T* input, T* out) const {
    const int64_t pixels = shape.pixels();
    const int64_t places = shape.places;
    parallelFor(shape.samples * places, grainFor(shape.channels, kCost),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const Taps<T> taps = tapsOf(i);
                    const T outside = outsideOf(i).sum;
                    const int64_t first = i / places * shape.channels;
                    for (int64_t c = first; c < first + shape.channels; ++c) {
                      T sum = outside;
                      for (int k = 0; k < taps.count; ++k) {
                        sum +=
                            input[c * pixels + taps.offset[k]] * taps.weight[k];
                      }
                      out[c * places + i % places] = sum;
                    }
                  }
                });
  }

  // Gradients of planes: those of a piece belong to whole channels.
  void inputGradient(const T* grad_output, T* grad_input) const {
    const int64_t pixels = shape.pixels();
    const int64_t places = shape.places;
    const int64_t channels = shape.channels;
    parallelFor(shape.samples * channels, grainFor(places, kCost),
                [&](int64_t begin, int64_t end) {
                  std::fill(grad_input + begin * pixels,
                            grad_input + end * pixels, T(0));
                  for (int64_t n = begin / channels; n * channels < end; ++n) {
                    const int64_t first = std::max(begin, n * channels);
                    const int64_t last = std::min(end, (n + 1) * channels);
                    for (int64_t i = 0; i < places; ++i) {
                      const Taps<T> taps = tapsOf(n * places + i);
                      for (int64_t c = first; c < last; ++c) {
                        const T grad = grad_output[c * places + i];
                        for (int k = 0; k < taps.count; ++k) {
                          grad_input[c * pixels + taps.offset[k]] +=
                              grad * taps.weight[k];
                        }
                      }
                    }
                  }
                });
  }

  void gridGradient(const T* grad_output, const T* input, T* grad_grid) const {
    const int64_t pixels = shape.pixels();
    const int64_t places = shape.places;
    parallelFor(shape.samples * places, grainFor(shape.channels, kCost),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const Taps<T> taps = tapsOf(i);
                    const int64_t first = i / places * shape.channels;
                    const Outside<T> outside = outsideOf(i);
                    T sums[3] = {outside.slope[0], outside.slope[1],
                                 outside.slope[2]};
                    for (int k = 0; k < taps.count; ++k) {
                      T product = 0;
                      for (int64_t c = first; c < first + shape.channels; ++c) {
                        product += grad_output[c * places + i % places] *
                                   input[c * pixels + taps.offset[k]];
                      }
                      for (int d = 0; d < 3; ++d)
                        sums[d] += product * taps.slope[k][d];
                    }
                    for (int64_t d = 0; d < shape.dims; ++d) {
                      grad_grid[i * shape.dims + d] = sums[2 - d];
                    }
                  }
                });
  }
};

Status check(const TensorView& result, const TensorView& input,
             const TensorView& grid, const GridOptions& options, Shape* shape) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("grid_sampler", input.dtype);
  }
  const int32_t dims = input.ndim - 2;
  if ((dims != 2 && dims != 3) || grid.ndim != input.ndim ||
      result.ndim != input.ndim || grid.sizes[input.ndim - 1] != dims) {
    return fail(Status::kInvalid, "grid_sampler: sizes do not fit");
  }
  if (dims == 3 && options.interpolation == GridInterpolation::kCubic) {
    return fail(Status::kUnsupported,
                "grid_sampler: bicubic interpolation is for images");
  }
  shape->samples = input.sizes[0];
  shape->channels = input.sizes[1];
  shape->dims = dims;
  for (int32_t d = 0; d < dims; ++d) {
    shape->sizes[3 - dims + d] = input.sizes[2 + d];
    shape->places *= grid.sizes[1 + d];
  }
  if (shape->pixels() == 0 || grid.sizes[0] != shape->samples ||
      result.numel != shape->samples * shape->channels * shape->places) {
    return fail(Status::kInvalid, "grid_sampler: sizes do not fit");
  }
  return Status::kOk;
}

DType realOf(const TensorView& view) {
  return view.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

}  // namespace

Status gridSample(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& grid,
                  const GridOptions& options) {
  Shape shape;
  const Status status = check(out, input, grid, options, &shape);
  if (status != Status::kOk || out.numel == 0) return status;
  const DType compute = realOf(input);
  DenseTensor x(queue, input, Order::kRowMajor, compute);
  DenseTensor places(queue, grid, Order::kRowMajor, compute);
  DenseTensor y(queue, out, Order::kRowMajor, compute);
  if (!x.load() || !places.load() || !y.open()) return Status::kFailed;
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Sampler<T> sampler{shape, options, places.address<T>()};
    sent = queue.launch([sampler, x = x.address<T>(), y = y.address<T>()] {
      sampler.sample(x, y);
    });
  });
  return sent ? y.store() : Status::kFailed;
}

Status gridSampleBackward(const Queue& queue, const TensorView& grad_input,
                          const TensorView& grad_grid,
                          const TensorView& grad_output,
                          const TensorView& input, const TensorView& grid,
                          const GridOptions& options) {
  Shape shape;
  const Status status = check(grad_output, input, grid, options, &shape);
  if (status != Status::kOk) return status;
  const DType compute = realOf(input);
  DenseTensor g(queue, grad_output, Order::kRowMajor, compute);
  DenseTensor x(queue, input, Order::kRowMajor, compute);
  DenseTensor places(queue, grid, Order::kRowMajor, compute);
  DenseTensor dx(queue, grad_input, Order::kRowMajor, compute);
  DenseTensor dgrid(queue, grad_grid, Order::kRowMajor, compute);
  if (!g.load() || !x.load() || !places.load() || !dx.open() || !dgrid.open()) {
    return Status::kFailed;
  }
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Sampler<T> sampler{shape, options, places.address<T>()};
    sent = queue.launch([sampler, g = g.address<T>(), x = x.address<T>(),
                         dx = dx.address<T>(), dgrid = dgrid.address<T>()] {
      sampler.inputGradient(g, dx);
      sampler.gridGradient(g, x, dgrid);
    });
  });
  return sent ? storeAll({&dx, &dgrid}) : Status::kFailed;
}

}  // namespace dipu::kernels
