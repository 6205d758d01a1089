// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/unfold.h"

#include <algorithm>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

// The windows of one image: one row of the matrix per place in a window.
struct Columns {
  PoolAxis height;
  PoolAxis width;
  int64_t planes;  // samples times channels
  int64_t rows;    // of an image
  int64_t columns;
  int64_t out_rows;  // windows
  int64_t out_columns;

  int64_t pixels() const { return rows * columns; }
  int64_t windows() const { return out_rows * out_columns; }
  int64_t places() const { return height.kernel * width.kernel; }

  // Calls body(position in the image or -1, window) for a place.
  template <typename Body>
  void forEachWindow(int64_t place, const Body& body) const {
    const int64_t kh = place / width.kernel * height.dilation - height.padding;
    const int64_t kw = place % width.kernel * width.dilation - width.padding;
    int64_t window = 0;
    for (int64_t oh = 0; oh < out_rows; ++oh) {
      const int64_t h = oh * height.stride + kh;
      const bool inside = h >= 0 && h < rows;
      for (int64_t ow = 0; ow < out_columns; ++ow) {
        const int64_t w = ow * width.stride + kw;
        const bool hit = inside && w >= 0 && w < columns;
        body(hit ? h * columns + w : -1, window++);
      }
    }
  }
};

int64_t windowsAlong(const PoolAxis& axis, int64_t size) {
  const int64_t room =
      size + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
  return room < 0 ? 0 : room / axis.stride + 1;
}

bool isValid(const PoolAxis& axis) {
  return axis.kernel > 0 && axis.stride > 0 && axis.dilation > 0 &&
         axis.padding >= 0;
}

Status describe(const TensorView& image, const TensorView& matrix,
                const PoolArguments& arguments, Columns* c) {
  const int32_t first = image.ndim - 3;
  bool fits = (first == 0 || first == 1) && matrix.ndim == image.ndim - 1 &&
              matrix.dtype == image.dtype && isValid(arguments.height) &&
              isValid(arguments.width);
  if (fits) {
    *c = {arguments.height,
          arguments.width,
          1,
          image.sizes[first + 1],
          image.sizes[first + 2],
          0,
          0};
    for (int32_t i = 0; i <= first; ++i) c->planes *= image.sizes[i];
    c->out_rows = windowsAlong(c->height, c->rows);
    c->out_columns = windowsAlong(c->width, c->columns);
    fits = matrix.sizes[first] == image.sizes[first] * c->places() &&
           matrix.sizes[first + 1] == c->windows() &&
           matrix.numel == c->planes * c->places() * c->windows();
  }
  return fits ? Status::kOk
              : fail(Status::kInvalid,
                     "im2col: an image of %d and columns of %d dimensions do "
                     "not belong together",
                     image.ndim, matrix.ndim);
}

template <typename T>
void toColumns(const Columns& c, const T* image, T* matrix) {
  parallelFor(c.planes * c.places(), grainFor(c.windows(), 2),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const T* from = image + row / c.places() * c.pixels();
                  T* to = matrix + row * c.windows();
                  c.forEachWindow(
                      row % c.places(), [=](int64_t position, int64_t window) {
                        to[window] = position < 0 ? T(0) : from[position];
                      });
                }
              });
}

template <typename T>
void toImage(const Columns& c, const T* matrix, T* image) {
  using C = ComputeType<T>;
  const auto plane = [&](int64_t p) {
    C* sums = workerBuffer<kReduceSlot>().get<C>(c.pixels());
    std::fill(sums, sums + c.pixels(), C(0));
    for (int64_t k = 0; k < c.places(); ++k) {
      const T* from = matrix + (p * c.places() + k) * c.windows();
      c.forEachWindow(k, [=](int64_t position, int64_t window) {
        if (position >= 0) sums[position] += static_cast<C>(from[window]);
      });
    }
    T* to = image + p * c.pixels();
    for (int64_t i = 0; i < c.pixels(); ++i) to[i] = static_cast<T>(sums[i]);
  };
  parallelFor(c.planes, grainFor(c.places() * c.windows(), 2),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) plane(p);
              });
}

// Windows along the middle of [outer, length, inner].
struct Line {
  int64_t outer;
  int64_t length;
  int64_t inner;
  int64_t windows;
  int64_t size;
  int64_t step;
};

// [outer, windows, inner, size] summed to [outer, length, inner].
template <typename T>
void sumWindows(const Line& line, const T* from, T* to) {
  using C = ComputeType<T>;
  const auto element = [&](int64_t i) {
    const int64_t inner = i % line.inner;
    const int64_t position = i / line.inner % line.length;
    const T* base = from + i / (line.inner * line.length) * line.windows *
                               line.inner * line.size;
    const int64_t before = position - line.size + 1;
    const int64_t first =
        before <= 0 ? 0 : (before + line.step - 1) / line.step;
    const int64_t last = std::min(line.windows - 1, position / line.step);
    C sum = 0;
    for (int64_t w = first; w <= last; ++w) {
      sum += static_cast<C>(base[(w * line.inner + inner) * line.size +
                                 position - w * line.step]);
    }
    to[i] = static_cast<T>(sum);
  };
  parallelFor(line.outer * line.length * line.inner,
              grainFor(line.size / line.step + 1, 8),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) element(i);
              });
}

// Whether dimensions other than `dim` have the same sizes.
bool agreeBeside(const TensorView& whole, const TensorView& windows,
                 int64_t dim) {
  for (int32_t d = 0; d < whole.ndim; ++d) {
    if (d != dim && whole.sizes[d] != windows.sizes[d]) return false;
  }
  return true;
}

// Wraps `dim` and checks that the windows are those of the whole.
Status checkWindows(const TensorView& whole, const TensorView& windows,
                    int64_t* dim, int64_t size, int64_t step) {
  if (*dim < 0) *dim += whole.ndim;
  const bool fits =
      *dim >= 0 && *dim < whole.ndim && windows.ndim == whole.ndim + 1 &&
      windows.dtype == whole.dtype && step > 0 && size >= 0 &&
      size <= whole.sizes[*dim] && windows.sizes[whole.ndim] == size &&
      windows.sizes[*dim] == (whole.sizes[*dim] - size) / step + 1 &&
      agreeBeside(whole, windows, *dim);
  return fits ? Status::kOk
              : fail(Status::kInvalid,
                     "unfold: windows of %ld elements, %ld apart, do not fit "
                     "tensors of %d and %d dimensions",
                     long(size), long(step), whole.ndim, windows.ndim);
}

// The windows along dimension `dim` of `view`.
Line lineAlong(const TensorView& view, int64_t dim, int64_t windows,
               int64_t size, int64_t step) {
  Line line{1, view.sizes[dim], 1, windows, size, step};
  for (int64_t i = 0; i < view.ndim; ++i) {
    if (i < dim) line.outer *= view.sizes[i];
    if (i > dim) line.inner *= view.sizes[i];
  }
  return line;
}

}  // namespace

Status imageToColumns(const Queue& queue, const TensorView& columns,
                      const TensorView& image, const PoolArguments& arguments) {
  Columns c{};
  const Status status = describe(image, columns, arguments, &c);
  if (status != Status::kOk || columns.numel == 0) return status;
  DenseTensor x(queue, image, Order::kRowMajor);
  DenseTensor y(queue, columns, Order::kRowMajor);
  if (!x.load() || !y.open()) return Status::kFailed;
  bool sent = false;
  dispatchWidth(image.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch([c, x = x.address<const T>(), y = y.address<T>()] {
      toColumns(c, x, y);
    });
  });
  return sent ? y.store() : Status::kFailed;
}

Status columnsToImage(const Queue& queue, const TensorView& image,
                      const TensorView& columns,
                      const PoolArguments& arguments) {
  if (!isFloating(image.dtype)) return unsupportedDType("col2im", image.dtype);
  Columns c{};
  const Status status = describe(image, columns, arguments, &c);
  if (status != Status::kOk || image.numel == 0) return status;
  DenseTensor x(queue, columns, Order::kRowMajor);
  DenseTensor y(queue, image, Order::kRowMajor);
  if (!x.load() || !y.open()) return Status::kFailed;
  const Status sent =
      launchFloating(queue, "col2im", image.dtype,
                     [c, x = x.address(), y = y.address()](auto tag) {
                       using T = typename decltype(tag)::type;
                       toImage(c, static_cast<const T*>(x), static_cast<T*>(y));
                     });
  return sent == Status::kOk ? y.store() : sent;
}

Status unfoldDimension(const Queue& queue, const TensorView& out,
                       const TensorView& input, int64_t dim, int64_t size,
                       int64_t step) {
  if (input.ndim < 1 || out.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "unfold: %d dimensions", input.ndim);
  }
  const Status status = checkWindows(input, out, &dim, size, step);
  if (status != Status::kOk || out.numel == 0) return status;
  // The windows are a view of the input.
  int64_t strides[kMaxDims];
  std::copy_n(input.strides, input.ndim, strides);
  strides[input.ndim] = input.strides[dim];
  strides[dim] *= step;
  TensorView windows = out;
  windows.data = input.data;
  windows.strides = strides;
  return convertTensor(queue, out, windows);
}

Status unfoldDimensionBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output, int64_t dim,
                               int64_t size, int64_t step) {
  if (!isFloating(grad_input.dtype)) {
    return unsupportedDType("unfold_backward", grad_input.dtype);
  }
  Line line{1, 1, 1, 1, size, step};
  if (grad_input.ndim == 0) {  // one window, of the number or of nothing
    if (size < 0 || size > 1 || grad_output.ndim != 1 ||
        grad_output.numel != size) {
      return fail(Status::kInvalid,
                  "unfold_backward: a number has no windows of %lld elements",
                  static_cast<long long>(size));
    }
  } else {
    const Status status =
        checkWindows(grad_input, grad_output, &dim, size, step);
    if (status != Status::kOk || grad_input.numel == 0) return status;
    line = lineAlong(grad_input, dim, grad_output.sizes[dim], size, step);
  }
  DenseTensor g(queue, grad_output, Order::kRowMajor);
  DenseTensor dx(queue, grad_input, Order::kRowMajor);
  if (!g.load() || !dx.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "unfold_backward", grad_input.dtype,
      [line, g = g.address(), dx = dx.address()](auto tag) {
        using T = typename decltype(tag)::type;
        sumWindows(line, static_cast<const T*>(g), static_cast<T*>(dx));
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
