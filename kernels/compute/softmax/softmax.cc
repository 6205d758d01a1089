// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/softmax/softmax.h"

#include <algorithm>

#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/softmax/line_kernels.h"
#include "kernels/compute/status.h"
#include "kernels/compute/wide.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

// Relative cost of an element, for the choice of the number of threads.
constexpr int64_t kCost = 8;

// Whether neighbouring lines lie side by side in memory, so that a bundle of
// them is read row by row.
template <int Operands>
bool formsBundles(const Lines<Operands>& lines) {
  if (lines.ndim == 0 || lines.sizes[0] < kBundle / 2) return false;
  for (int k = 0; k < Operands; ++k) {
    if (lines.strides[0][k] != 1 || lines.line_strides[k] == 1) return false;
  }
  return true;
}

// Calls body(first line, number of lines) for bundles that do not cross the
// end of the innermost dimension.
template <int Operands, typename Body>
void forEachBundle(const Lines<Operands>& lines, const Body& body) {
  const int64_t width = lines.sizes[0];
  const int64_t per_row = (width + kBundle - 1) / kBundle;
  const int64_t rows = lines.count / width;
  parallelFor(rows * per_row, grainFor(lines.length * kBundle, kCost),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t start = i % per_row * kBundle;
                  body(i / per_row * width + start,
                       std::min<int64_t>(kBundle, width - start));
                }
              });
}

template <typename T>
void loadBundle(const T* from, int64_t stride, int64_t length, int64_t lanes,
                ComputeType<T>* to) {
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lanes; ++k) {
      to[i * kBundle + k] = static_cast<ComputeType<T>>(from[i * stride + k]);
    }
    for (int64_t k = lanes; k < kBundle; ++k) to[i * kBundle + k] = 0;
  }
}

template <typename T>
void storeBundle(const ComputeType<T>* from, int64_t stride, int64_t length,
                 int64_t lanes, T* to) {
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lanes; ++k) {
      to[i * stride + k] = static_cast<T>(from[i * kBundle + k]);
    }
  }
}

template <typename T>
DIPU_WIDE void softmaxLineWide(SoftmaxKind kind, const T* x, int64_t n, T* y) {
  softmaxLine(kind, x, n, y);
}

template <typename T>
DIPU_WIDE void softmaxBackwardLineWide(SoftmaxKind kind, const T* g, const T* y,
                                       int64_t n, T* d) {
  softmaxBackwardLine(kind, g, y, n, d);
}

template <typename T>
void forward(SoftmaxKind kind, const Lines<2>& lines, T* out, const T* input) {
  using C = ComputeType<T>;
  const int64_t n = lines.length;
  if (formsBundles(lines)) {
    forEachBundle(lines, [&](int64_t line, int64_t lanes) {
      C* x = workerBuffer<kReduceSlot>().get<C>(n * kBundle);
      loadBundle(input + lines.offset(line, 1), lines.line_strides[1], n, lanes,
                 x);
      softmaxBundle(kind, n, x);
      storeBundle(x, lines.line_strides[0], n, lanes,
                  out + lines.offset(line, 0));
    });
    return;
  }
  parallelFor(lines.count, grainFor(n, kCost), [&](int64_t begin, int64_t end) {
    C* buffer = workerBuffer<kReduceSlot>().get<C>(n);
    for (int64_t line = begin; line < end; ++line) {
      T* to = out + lines.offset(line, 0);
      const C* x = loadLine(input + lines.offset(line, 1),
                            lines.line_strides[1], n, buffer);
      C* y = openLine(to, lines.line_strides[0], buffer);
      hasWideVectors() ? softmaxLineWide(kind, x, n, y)
                       : softmaxLine(kind, x, n, y);
      storeLine(y, n, to, lines.line_strides[0]);
    }
  });
}

template <typename T>
void backward(SoftmaxKind kind, const Lines<3>& lines, T* grad_input,
              const T* grad_output, const T* output) {
  using C = ComputeType<T>;
  const int64_t n = lines.length;
  if (formsBundles(lines)) {
    forEachBundle(lines, [&](int64_t line, int64_t lanes) {
      C* g = workerBuffer<kReduceSlot>().get<C>(2 * n * kBundle);
      C* y = g + n * kBundle;
      loadBundle(grad_output + lines.offset(line, 1), lines.line_strides[1], n,
                 lanes, g);
      loadBundle(output + lines.offset(line, 2), lines.line_strides[2], n,
                 lanes, y);
      softmaxBackwardBundle(kind, n, y, g);
      storeBundle(g, lines.line_strides[0], n, lanes,
                  grad_input + lines.offset(line, 0));
    });
    return;
  }
  parallelFor(lines.count, grainFor(n, kCost), [&](int64_t begin, int64_t end) {
    C* buffer = workerBuffer<kReduceSlot>().get<C>(2 * n);
    for (int64_t line = begin; line < end; ++line) {
      T* to = grad_input + lines.offset(line, 0);
      const C* g = loadLine(grad_output + lines.offset(line, 1),
                            lines.line_strides[1], n, buffer);
      const C* y = loadLine(output + lines.offset(line, 2),
                            lines.line_strides[2], n, buffer + n);
      C* d = openLine(to, lines.line_strides[0], buffer);
      hasWideVectors() ? softmaxBackwardLineWide(kind, g, y, n, d)
                       : softmaxBackwardLine(kind, g, y, n, d);
      storeLine(d, n, to, lines.line_strides[0]);
    }
  });
}

// Wraps a negative dimension and checks the arguments.
Status check(const char* name, const TensorView& a, const TensorView& b,
             int64_t* dim) {
  const int64_t ndim = std::max(a.ndim, 1);
  if (*dim < 0) *dim += ndim;
  if (*dim < 0 || *dim >= ndim) {
    return fail(Status::kInvalid, "%s: dim %ld of a tensor with %d dimensions",
                name, long(*dim), a.ndim);
  }
  if (!sameShape(a, b)) {
    return fail(Status::kInvalid, "%s: tensors differ in dtype or shape", name);
  }
  return Status::kOk;
}

}  // namespace

Status softmax(const Queue& queue, SoftmaxKind kind, const TensorView& out,
               const TensorView& input, int64_t dim) {
  const Status status = check("softmax", out, input, &dim);
  if (status != Status::kOk || out.numel == 0) return status;
  Lines<2> lines;
  if (!lines.cut({&out, &input}, dim)) {
    return fail(Status::kUnsupported, "softmax: too many dimensions");
  }
  void* to = translateView(queue, out);
  const void* from = translateView(queue, input);
  if (to == nullptr || from == nullptr) return Status::kFailed;
  return launchFloating(queue, "softmax", out.dtype, [=](auto tag) {
    using T = typename decltype(tag)::type;
    forward(kind, lines, static_cast<T*>(to), static_cast<const T*>(from));
  });
}

Status softmaxBackward(const Queue& queue, SoftmaxKind kind,
                       const TensorView& grad_input,
                       const TensorView& grad_output, const TensorView& output,
                       int64_t dim) {
  Status status = check("softmax_backward", grad_input, grad_output, &dim);
  if (status == Status::kOk) {
    status = check("softmax_backward", grad_input, output, &dim);
  }
  if (status != Status::kOk || grad_input.numel == 0) return status;
  Lines<3> lines;
  if (!lines.cut({&grad_input, &grad_output, &output}, dim)) {
    return fail(Status::kUnsupported, "softmax_backward: too many dimensions");
  }
  void* to = translateView(queue, grad_input);
  const void* gradient = translateView(queue, grad_output);
  const void* result = translateView(queue, output);
  if (to == nullptr || gradient == nullptr || result == nullptr) {
    return Status::kFailed;
  }
  return launchFloating(queue, "softmax_backward", output.dtype, [=](auto tag) {
    using T = typename decltype(tag)::type;
    backward(kind, lines, static_cast<T*>(to), static_cast<const T*>(gradient),
             static_cast<const T*>(result));
  });
}

}  // namespace dipu::kernels
