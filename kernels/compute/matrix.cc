// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/matrix.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/convert.h"
#include "kernels/compute/dispatch.h"
#include "kernels/compute/gemm/gemm.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/shaped_view.h"

namespace dipu::kernels {
namespace {

int64_t diagonalSize(const TensorView& matrix) {
  return std::min(matrix.sizes[0], matrix.sizes[1]);
}
int64_t diagonalStride(const TensorView& matrix) {
  return matrix.strides[0] + matrix.strides[1];
}

struct TriangleTask {
  int64_t* out;  // [2, count]
  int64_t count;
  int64_t columns;
  int64_t offset;
  bool lower;

  void operator()() const {
    int64_t done = 0;
    for (int64_t row = 0; done < count; ++row) {
      const int64_t border =
          std::clamp<int64_t>(row + offset + (lower ? 1 : 0), 0, columns);
      const int64_t end = lower ? border : columns;
      for (int64_t column = lower ? 0 : border; column < end; ++column) {
        if (done == count) return;
        out[done] = row;
        out[count + done++] = column;
      }
    }
  }
};

template <typename T>
struct CrossTask {
  T* out;
  const T* a;
  const T* b;
  Lines<3> lines;  // of the output and the vectors

  void operator()() const {
    using C = ComputeType<T>;
    const int64_t step_a = lines.line_strides[1];
    const int64_t step_b = lines.line_strides[2];
    for (int64_t line = 0; line < lines.count; ++line) {
      const T* x = a + lines.offset(line, 1);
      const T* y = b + lines.offset(line, 2);
      T* z = out + lines.offset(line, 0);
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t j = (i + 1) % 3;
        const int64_t k = (i + 2) % 3;
        const C left =
            convertValue<C>(x[j * step_a]) * convertValue<C>(y[k * step_b]);
        const C right =
            convertValue<C>(x[k * step_a]) * convertValue<C>(y[j * step_b]);
        z[i * lines.line_strides[0]] =
            convertValue<T>(static_cast<C>(left - right));
      }
    }
  }
};

struct LogSpaceTask {
  double* out;
  int64_t count;
  double start;
  double end;
  double base;

  void operator()() const {
    const double step =
        count > 1 ? (end - start) / static_cast<double>(count - 1) : 0.0;
    const int64_t half = count > 1 ? count / 2 : 1;
    parallelFor(count, grainFor(1, 32), [&](int64_t begin, int64_t stop) {
      for (int64_t i = begin; i < stop; ++i) {
        const double exponent =
            i < half ? start + step * static_cast<double>(i)
                     : end - step * static_cast<double>(count - 1 - i);
        out[i] = std::pow(base, exponent);
      }
    });
  }
};

}  // namespace

Status trace(const Queue& queue, const TensorView& out,
             const TensorView& input) {
  if (input.ndim != 2) {
    return fail(Status::kInvalid, "trace: expected a matrix");
  }
  ShapedView diagonal(input);
  diagonal.append(diagonalSize(input), diagonalStride(input));
  return sum(queue, out, diagonal.view, {});
}

Status eye(const Queue& queue, const TensorView& out) {
  if (out.ndim != 2) return fail(Status::kInvalid, "eye: expected a matrix");
  const Status status = fill(queue, out, {true, 0, 0.0});
  if (status != Status::kOk || out.numel == 0) return status;
  ShapedView diagonal(out);
  diagonal.append(diagonalSize(out), diagonalStride(out));
  return fill(queue, diagonal.view, {true, 1, 1.0});
}

Status triangleIndices(const Queue& queue, const TensorView& out, bool lower,
                       int64_t columns, int64_t offset) {
  if (out.ndim != 2 || out.sizes[0] != 2) {
    return fail(Status::kInvalid, "triangle indices: the sizes do not fit");
  }
  if (out.numel == 0) return Status::kOk;
  DenseTensor to(queue, out, Order::kRowMajor, DType::kInt64);
  if (!to.open()) return Status::kFailed;
  const TriangleTask task{to.address<int64_t>(), out.sizes[1], columns, offset,
                          lower};
  return queue.launch(task) ? to.store() : Status::kFailed;
}

Status cross(const Queue& queue, const TensorView& out, const TensorView& a,
             const TensorView& b, int64_t dim) {
  Status status = wrapDim("cross", out.ndim, &dim);
  if (status != Status::kOk) return status;
  if (a.dtype != out.dtype || b.dtype != out.dtype) {
    return unsupportedDType("cross", a.dtype);
  }
  if (a.ndim != out.ndim || b.ndim != out.ndim || out.ndim == 0 ||
      out.ndim > kMaxDims || out.sizes[dim] != 3) {
    return fail(Status::kInvalid, "cross: the sizes do not fit");
  }
  ShapedView left(a);
  ShapedView right(b);
  for (int32_t d = 0; d < out.ndim; ++d) {
    left.append(out.sizes[d], a.sizes[d] == 1 ? 0 : a.strides[d]);
    right.append(out.sizes[d], b.sizes[d] == 1 ? 0 : b.strides[d]);
  }
  Lines<3> lines;
  if (!lines.cut({&out, &left.view, &right.view}, dim)) {
    return fail(Status::kUnsupported, "cross of %d dimensions", out.ndim);
  }
  if (out.numel == 0) return Status::kOk;
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const CrossTask<T> task{translateView<T>(queue, out),
                            translateView<T>(queue, a),
                            translateView<T>(queue, b), lines};
    if (task.out == nullptr || task.a == nullptr || task.b == nullptr) return;
    status = queue.launch(task) ? Status::kOk : Status::kFailed;
  };
  const bool known =
      dispatchFloating(out.dtype, launch) || dispatchInteger(out.dtype, launch);
  return known ? status : unsupportedDType("cross", out.dtype);
}

Status addmv(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& matrix, const TensorView& vector, double alpha,
             double beta) {
  if (out.ndim != 1 || matrix.ndim != 2 || vector.ndim != 1 || input.ndim > 1) {
    return fail(Status::kInvalid, "addmv: the sizes do not fit");
  }
  ShapedView column(vector);
  column.append(vector.sizes[0], vector.strides[0]).append(1, 1);
  ShapedView result(out);
  result.append(out.sizes[0], out.strides[0]).append(1, 1);
  ShapedView addend(input);
  const bool repeats = input.ndim == 0 || input.sizes[0] == 1;
  addend.append(out.sizes[0], repeats ? 0 : input.strides[0]).append(1, 1);
  return addmm(queue, result.view, addend.view, matrix, column.view, alpha,
               beta);
}

Status addbmm(const Queue& queue, const TensorView& out,
              const TensorView& input, const TensorView& batch1,
              const TensorView& batch2, double alpha, double beta) {
  if (batch1.ndim != 3 || batch2.ndim != 3 || out.ndim != 2 ||
      batch1.sizes[0] != batch2.sizes[0] ||
      batch1.sizes[2] != batch2.sizes[1]) {
    return fail(Status::kInvalid, "addbmm: the sizes do not fit");
  }
  if (itemSize(batch1.dtype) == 0 || itemSize(batch2.dtype) == 0) {
    return unsupportedDType("addbmm", batch1.dtype);
  }
  // One product of [n, batch * m] and [batch * m, p].
  const int64_t depth = batch1.sizes[0] * batch1.sizes[2];
  ShapedView turned(batch1);
  for (const int d : {1, 0, 2})
    turned.append(batch1.sizes[d], batch1.strides[d]);
  DenseTensor left(queue, turned.view, Order::kRowMajor);
  DenseTensor right(queue, batch2, Order::kRowMajor);
  if (!left.load() || !right.load()) return Status::kFailed;
  ShapedView a(left.view());
  a.append(batch1.sizes[1], depth).append(depth, 1);
  ShapedView b(right.view());
  b.append(depth, batch2.sizes[2]).append(batch2.sizes[2], 1);
  return addmm(queue, out, input, a.view, b.view, alpha, beta);
}

Status logspace(const Queue& queue, const TensorView& out, double start,
                double end, double base) {
  if (itemSize(out.dtype) == 0) return unsupportedDType("logspace", out.dtype);
  if (out.numel == 0) return Status::kOk;
  if (!isFloating(out.dtype)) {
    start = std::trunc(start);
    end = std::trunc(end);
  }
  DenseTensor to(queue, out, Order::kRowMajor, DType::kFloat64);
  if (!to.open()) return Status::kFailed;
  const LogSpaceTask task{to.address<double>(), out.numel, start, end, base};
  return queue.launch(task) ? to.store() : Status::kFailed;
}

}  // namespace dipu::kernels
