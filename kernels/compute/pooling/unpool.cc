// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/unpool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pooling/window.h"

namespace dipu::kernels {
namespace {

int64_t sizeFrom(const TensorView& view, int32_t first) {
  int64_t size = 1;
  for (int32_t i = first; i < view.ndim; ++i) size *= view.sizes[i];
  return size;
}

template <typename T>
void unpool(const T* input, const int64_t* indices, int64_t planes,
            int64_t pooled, int64_t pixels, T* out) {
  parallelFor(planes, grainFor(pixels + 2 * pooled),
              [=](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) {
                  T* to = out + p * pixels;
                  std::fill(to, to + pixels, T(0));
                  for (int64_t i = p * pooled; i < (p + 1) * pooled; ++i) {
                    if (indices[i] < 0 || indices[i] >= pixels) {
                      return reportIndex(indices[i], pixels);
                    }
                    to[indices[i]] = input[i];
                  }
                }
              });
}

constexpr int kAxes = 3;

// A pooling whose windows start where a random number decides.
template <typename T>
struct Fractional {
  const T* input;
  const T* samples;  // per plane one number for each of the last axes
  T* out;
  int64_t* indices;
  int64_t planes;
  int64_t dimensions;
  int64_t in[kAxes];
  int64_t results[kAxes];
  int64_t kernel[kAxes];

  // The whole part of any number, as far as an integer can hold it.
  static int64_t whole(T at) {
    constexpr T kMost = T(int64_t{1} << 52);
    return static_cast<int64_t>(std::min(std::max(-kMost, at), kMost));
  }

  // Where the windows along an axis start: on average (in - kernel) / (out - 1)
  // apart, the last one at the end.
  std::vector<int64_t> starts(int axis, T sample) const {
    std::vector<int64_t> result;
    const int64_t last = in[axis] - kernel[axis];
    const int64_t count = results[axis];
    const T step =
        count > 1 ? static_cast<T>(last) / static_cast<T>(count - 1) : T(0);
    for (int64_t i = 0; i + 1 < count; ++i) {
      const int64_t place =
          whole((static_cast<T>(i) + sample) * step) - whole(sample * step);
      // Samples are between 0 and 1; others must not leave the image.
      result.push_back(std::clamp<int64_t>(place, 0, last));
    }
    result.push_back(last);
    return result;
  }

  T sampleOf(int64_t plane, int axis) const {
    const int64_t k = axis - (kAxes - dimensions);
    if (k < 0) return T(0);
    // In two dimensions the number for the width comes first.
    return samples[plane * dimensions + (dimensions == 2 ? 1 - k : k)];
  }

  void window(const T* image, const int64_t (&start)[kAxes], int64_t at) const {
    int64_t best = (start[0] * in[1] + start[1]) * in[2] + start[2];
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t d = start[0]; d < start[0] + kernel[0]; ++d) {
      for (int64_t h = start[1]; h < start[1] + kernel[1]; ++h) {
        const int64_t row = (d * in[1] + h) * in[2];
        for (int64_t w = start[2]; w < start[2] + kernel[2]; ++w) {
          const T value = image[row + w];
          if (value > largest || value != value) {
            largest = value;
            best = row + w;
          }
        }
      }
    }
    out[at] = largest;
    indices[at] = best;
  }

  void plane(int64_t index) const {
    std::array<std::vector<int64_t>, kAxes> places;
    for (int i = 0; i < kAxes; ++i) places[i] = starts(i, sampleOf(index, i));
    const T* image = input + index * in[0] * in[1] * in[2];
    int64_t at = index * results[0] * results[1] * results[2];
    for (int64_t d : places[0]) {
      for (int64_t h : places[1]) {
        for (int64_t w : places[2]) window(image, {d, h, w}, at++);
      }
    }
  }

  void operator()() const {
    const int64_t work = results[0] * results[1] * results[2] * kernel[0] *
                         kernel[1] * kernel[2];
    parallelFor(planes, grainFor(work, 2), [this](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) plane(p);
    });
  }
};

Status refuseSizes(const char* operation) {
  return fail(Status::kInvalid, "%s: the tensors do not fit each other",
              operation);
}

// Sizes and windows of a fractional pooling; false when they do not fit.
template <typename T>
bool describe(const TensorView& out, const TensorView& input,
              const PoolArguments& arguments, Fractional<T>* f) {
  const PoolAxis* const axes[] = {&arguments.depth, &arguments.height,
                                  &arguments.width};
  f->dimensions = arguments.dimensions;
  for (int i = 0; i < kAxes; ++i) {
    const int32_t dim = input.ndim - kAxes + i;
    const bool present = i >= kAxes - arguments.dimensions;
    f->in[i] = present ? input.sizes[dim] : 1;
    f->results[i] = present ? out.sizes[dim] : 1;
    f->kernel[i] = present ? axes[i]->kernel : 1;
    if (f->kernel[i] < 1 || f->kernel[i] > f->in[i]) return false;
  }
  const int32_t first = input.ndim - arguments.dimensions;
  f->planes = sizeFrom(input, 0) / sizeFrom(input, first);
  return true;
}

template <typename T>
Status fractional(const Queue& queue, const TensorView& out,
                  const TensorView& indices, const TensorView& input,
                  const TensorView& samples, const PoolArguments& arguments) {
  Fractional<T> f{};
  if (!describe(out, input, arguments, &f) ||
      samples.numel < f.planes * f.dimensions) {
    return refuseSizes("fractional_max_pool");
  }
  constexpr Order kRow = Order::kRowMajor;
  DenseTensor x(queue, input, kRow);
  DenseTensor s(queue, samples, kRow, kDTypeOf<T>);
  DenseTensor y(queue, out, kRow);
  DenseTensor where(queue, indices, kRow, DType::kInt64);
  if (!x.load() || !s.load() || !y.open() || !where.open()) {
    return Status::kFailed;
  }
  f.input = x.address<const T>();
  f.samples = s.address<const T>();
  f.out = y.address<T>();
  f.indices = where.address<int64_t>();
  return queue.launch(f) ? storeAll({&y, &where}) : Status::kFailed;
}

}  // namespace

Status maxUnpool(const Queue& queue, const TensorView& out,
                 const TensorView& input, const TensorView& indices,
                 int32_t dimensions) {
  const int32_t first = input.ndim - dimensions;
  if (first < 1 || out.ndim != input.ndim || out.dtype != input.dtype ||
      indices.dtype != DType::kInt64 || !pooling::sameSizes(input, indices) ||
      !std::equal(input.sizes, input.sizes + first, out.sizes)) {
    return refuseSizes("max_unpool");
  }
  if (out.numel == 0) return Status::kOk;
  const int64_t pooled = sizeFrom(input, first);
  const int64_t pixels = sizeFrom(out, first);
  DenseTensor x(queue, input, Order::kRowMajor);
  DenseTensor where(queue, indices, Order::kRowMajor);
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!x.load() || !where.load() || !y.open()) return Status::kFailed;
  bool sent = false;
  dispatchWidth(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch(
        [x = x.address<const T>(), where = where.address<const int64_t>(),
         planes = out.numel / pixels, pooled, pixels,
         y = y.address<T>()] { unpool(x, where, planes, pooled, pixels, y); });
  });
  return sent ? y.store() : Status::kFailed;
}

Status fractionalMaxPool(const Queue& queue, const TensorView& out,
                         const TensorView& indices, const TensorView& input,
                         const TensorView& samples,
                         const PoolArguments& arguments) {
  const bool wide = input.dtype == DType::kFloat64;
  if (!wide && input.dtype != DType::kFloat32) {
    return unsupportedDType("fractional_max_pool", input.dtype);
  }
  if (arguments.dimensions < 2 || arguments.dimensions > kAxes ||
      !pooling::belongTogether(input, out, arguments.dimensions) ||
      !pooling::sameSizes(out, indices)) {
    return refuseSizes("fractional_max_pool");
  }
  if (out.numel == 0) return Status::kOk;
  return wide ? fractional<double>(queue, out, indices, input, samples,
                                   arguments)
              : fractional<float>(queue, out, indices, input, samples,
                                  arguments);
}

}  // namespace dipu::kernels
