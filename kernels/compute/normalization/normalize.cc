// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/normalize.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 4;

template <typename C>
double normOf(const C* x, int64_t n, double p) {
  if (p == 2.0) {
    return std::sqrt(sumTerms<C>(n, [x](int64_t i) { return x[i] * x[i]; }));
  }
  if (p == 1.0) {
    return sumTerms<C>(n, [x](int64_t i) { return std::fabs(x[i]); });
  }
  double result = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(static_cast<double>(x[i]));
    if (std::isinf(p)) {
      result = size > result || size != size ? size : result;
    } else {
      result += std::pow(size, p);
    }
  }
  return std::isinf(p) ? result : std::pow(result, 1.0 / p);
}

// d = the derivative of the norm by each element of the line.
template <typename C>
void normSlopes(const C* x, int64_t n, double p, double norm, C* d) {
  const auto top = static_cast<C>(norm);
  double ties = 0;
  for (int64_t i = 0; std::isinf(p) && i < n; ++i) {
    ties += std::fabs(x[i]) == top ? 1.0 : 0.0;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double size = std::fabs(static_cast<double>(x[i]));
    double slope = 0;
    if (std::isinf(p)) {
      slope = std::fabs(x[i]) == top ? 1.0 / ties : 0.0;
    } else if (size > 0) {
      slope = p == 2.0   ? size / norm
              : p == 1.0 ? 1.0
                         : std::pow(size / norm, p - 1);
    }
    d[i] = static_cast<C>(x[i] < 0 ? -slope : slope);
  }
}

struct Forward {
  Lines<2> lines;
  void* out;
  const void* input;
  double p;
  double eps;

  template <typename T>
  void run() const {
    using C = ComputeType<T>;
    const int64_t n = lines.length;
    parallelFor(
        lines.count, grainFor(n, kCost), [&](int64_t begin, int64_t end) {
          C* buffer = workerBuffer<kReduceSlot>().get<C>(n);
          for (int64_t line = begin; line < end; ++line) {
            T* to = static_cast<T*>(out) + lines.offset(line, 0);
            const C* x =
                loadLine(static_cast<const T*>(input) + lines.offset(line, 1),
                         lines.line_strides[1], n, buffer);
            C* y = openLine(to, lines.line_strides[0], buffer);
            const C divisor = static_cast<C>(std::max(normOf(x, n, p), eps));
            for (int64_t i = 0; i < n; ++i) y[i] = x[i] / divisor;
            storeLine(y, n, to, lines.line_strides[0]);
          }
        });
  }
};

struct Backward {
  Lines<3> lines;
  void* grad_input;
  const void* grad_output;
  const void* input;
  double p;
  double eps;

  // With norm m and sum s of g * x: d = g / m - s / m^2 * slope, without the
  // second part where eps takes the place of the norm.
  template <typename C>
  void line(const C* g, const C* x, C* d) const {
    const int64_t n = lines.length;
    const double norm = normOf(x, n, p);
    const double divisor = std::max(norm, eps);
    double common = 0;
    if (norm > eps) {
      common = sumTerms<C>(n, [=](int64_t i) { return g[i] * x[i]; }) /
               (norm * norm);
      normSlopes(x, n, p, norm, d);
    } else {
      std::fill(d, d + n, C(0));
    }
    for (int64_t i = 0; i < n; ++i) {
      d[i] = static_cast<C>(static_cast<double>(g[i]) / divisor -
                            common * static_cast<double>(d[i]));
    }
  }

  template <typename T>
  void run() const {
    using C = ComputeType<T>;
    const int64_t n = lines.length;
    parallelFor(
        lines.count, grainFor(n, 2 * kCost), [&](int64_t begin, int64_t end) {
          C* buffer = workerBuffer<kReduceSlot>().get<C>(3 * n);
          for (int64_t i = begin; i < end; ++i) {
            const C* g = loadLine(
                static_cast<const T*>(grad_output) + lines.offset(i, 1),
                lines.line_strides[1], n, buffer + n);
            const C* x =
                loadLine(static_cast<const T*>(input) + lines.offset(i, 2),
                         lines.line_strides[2], n, buffer + 2 * n);
            line(g, x, buffer);
            storeLine(buffer, n,
                      static_cast<T*>(grad_input) + lines.offset(i, 0),
                      lines.line_strides[0]);
          }
        });
  }
};

Status check(const char* name, const TensorView& a, const TensorView& b,
             double p, int64_t* dim) {
  const Status status = wrapDim(name, a.ndim, dim);
  if (status != Status::kOk) return status;
  if (!sameShape(a, b)) {
    return fail(Status::kInvalid, "%s: tensors differ in dtype or shape", name);
  }
  if (!(p > 0)) return fail(Status::kInvalid, "%s: norm of power %g", name, p);
  return Status::kOk;
}

}  // namespace

Status normalize(const Queue& queue, const TensorView& out,
                 const TensorView& input, double p, int64_t dim, double eps) {
  const Status status = check("normalize", out, input, p, &dim);
  if (status != Status::kOk || out.numel == 0) return status;
  Forward task{
      {}, translateView(queue, out), translateView(queue, input), p, eps};
  if (!task.lines.cut({&out, &input}, dim)) {
    return fail(Status::kUnsupported, "normalize: too many dimensions");
  }
  if (task.out == nullptr || task.input == nullptr) return Status::kFailed;
  return launchFloating(queue, "normalize", out.dtype, [task](auto tag) {
    task.run<typename decltype(tag)::type>();
  });
}

Status normalizeBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         double p, int64_t dim, double eps) {
  constexpr const char* kName = "normalize_backward";
  Status status = check(kName, grad_input, grad_output, p, &dim);
  if (status == Status::kOk) status = check(kName, grad_input, input, p, &dim);
  if (status != Status::kOk || input.numel == 0) return status;
  Backward task{{},
                translateView(queue, grad_input),
                translateView(queue, grad_output),
                translateView(queue, input),
                p,
                eps};
  if (!task.lines.cut({&grad_input, &grad_output, &input}, dim)) {
    return fail(Status::kUnsupported, "%s: too many dimensions", kName);
  }
  if (task.grad_input == nullptr || task.grad_output == nullptr ||
      task.input == nullptr) {
    return Status::kFailed;
  }
  return launchFloating(queue, kName, input.dtype, [task](auto tag) {
    task.run<typename decltype(tag)::type>();
  });
}

}  // namespace dipu::kernels
