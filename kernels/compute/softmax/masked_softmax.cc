// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/softmax/masked_softmax.h"

#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/softmax/line_kernels.h"
#include "kernels/compute/status.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 8;
constexpr double kLeftOut = -10000.0;

// Rows of keys: of the result, of one or two inputs, and of the mask.
struct Task {
  Lines<4> lines;
  void* out;
  const void* first;
  const void* second;   // of the backward pass only
  const uint8_t* mask;  // nullptr without one
  int64_t queries;
  bool triangle;
  double scale;

  bool leftOut(int64_t line, int64_t j) const {
    if (triangle) return j > line % queries;
    return mask != nullptr &&
           mask[lines.offset(line, 3) + j * lines.line_strides[3]] != 0;
  }

  template <typename T>
  const T* row(const void* data, int64_t line, int operand) const {
    return static_cast<const T*>(data) + lines.offset(line, operand);
  }

  template <typename T, typename Body>
  void forEachRow(const Body& body) const {
    using C = ComputeType<T>;
    const int64_t n = lines.length;
    parallelFor(lines.count, grainFor(n, kCost),
                [&](int64_t begin, int64_t end) {
                  C* buffer = workerBuffer<kReduceSlot>().get<C>(3 * n);
                  for (int64_t line = begin; line < end; ++line) {
                    body(line, buffer);
                  }
                });
  }

  template <typename T>
  void forward() const {
    using C = ComputeType<T>;
    const int64_t n = lines.length;
    forEachRow<T>([&](int64_t line, C* y) {
      const C* x =
          loadLine(row<T>(first, line, 1), lines.line_strides[1], n, y + n);
      for (int64_t j = 0; j < n; ++j) {
        y[j] = leftOut(line, j) ? static_cast<C>(kLeftOut)
                                : x[j] * static_cast<C>(scale);
      }
      softmaxLine(SoftmaxKind::kPlain, y, n, y);
      storeLine(y, n, static_cast<T*>(out) + lines.offset(line, 0),
                lines.line_strides[0]);
    });
  }

  template <typename T>
  void backward() const {
    using C = ComputeType<T>;
    const int64_t n = lines.length;
    forEachRow<T>([&](int64_t line, C* d) {
      const C* g =
          loadLine(row<T>(first, line, 1), lines.line_strides[1], n, d + n);
      const C* y = loadLine(row<T>(second, line, 2), lines.line_strides[2], n,
                            d + 2 * n);
      softmaxBackwardLine(SoftmaxKind::kPlain, g, y, n, d);
      for (int64_t j = 0; j < n; ++j) {
        d[j] = leftOut(line, j) ? C(0) : d[j] * static_cast<C>(scale);
      }
      storeLine(d, n, static_cast<T*>(out) + lines.offset(line, 0),
                lines.line_strides[0]);
    });
  }
};

// The mask as bytes, in the sizes of the scores.
Status expandMask(const TensorView& mask, const TensorView& scores,
                  ShapedView* result) {
  for (int32_t d = 0; d < scores.ndim; ++d) {
    const int32_t own = d - (scores.ndim - mask.ndim);
    const bool repeats = own < 0 || mask.sizes[own] == 1;
    if (mask.ndim > scores.ndim ||
        (!repeats && mask.sizes[own] != scores.sizes[d])) {
      return fail(Status::kInvalid,
                  "masked_softmax: the mask does not broadcast to the scores");
    }
    result->append(scores.sizes[d], repeats ? 0 : mask.strides[own]);
  }
  return Status::kOk;
}

// Cuts the tensors into rows; `second` may be `first`.
Status prepare(const Queue& queue, const TensorView& out,
               const TensorView& first, const TensorView& second,
               const TensorView& mask, bool triangle, double scale,
               Task* task) {
  ShapedView expanded(mask);
  const Status status = expandMask(mask, out, &expanded);
  if (status != Status::kOk) return status;
  if (!task->lines.cut({&out, &first, &second, &expanded.view}, out.ndim - 1)) {
    return fail(Status::kUnsupported, "masked_softmax: too many dimensions");
  }
  task->out = translateView(queue, out);
  task->first = translateView(queue, first);
  task->second = translateView(queue, second);
  task->mask = triangle ? nullptr : translateView<const uint8_t>(queue, mask);
  task->queries = out.sizes[out.ndim - 2];
  task->triangle = triangle;
  task->scale = scale;
  const bool valid = task->out != nullptr && task->first != nullptr &&
                     task->second != nullptr &&
                     (triangle || task->mask != nullptr);
  return valid ? Status::kOk : Status::kFailed;
}

Status check(const TensorView& out, const TensorView& first,
             const TensorView& second) {
  if (!isFloating(out.dtype)) {
    return unsupportedDType("masked_softmax", out.dtype);
  }
  if (out.ndim >= 2 && out.ndim <= kMaxDims && sameShape(out, first) &&
      sameShape(out, second)) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "masked_softmax: tensors differ in dtype or shape, or are no "
              "matrices");
}

// Calls run(task) with the mask as bytes.
template <typename Run>
Status launch(const Queue& queue, const TensorView& out,
              const TensorView& first, const TensorView& second,
              const ScoreMask& mask, double scale, const Run& run) {
  Status status = check(out, first, second);
  if (status != Status::kOk || out.numel == 0) return status;
  Task task{};
  const bool masked = !mask.triangle && mask.mask.defined();
  DenseTensor bytes(queue, masked ? mask.mask : TensorView(), Order::kRowMajor,
                    DType::kBool);
  if (!bytes.load()) return Status::kFailed;
  if (masked) {
    status =
        prepare(queue, out, first, second, bytes.view(), false, scale, &task);
  } else {
    status =
        prepare(queue, out, first, second, out, mask.triangle, scale, &task);
    task.mask = nullptr;
  }
  return status == Status::kOk ? run(task) : status;
}

}  // namespace

Status maskedSoftmax(const Queue& queue, const TensorView& out,
                     const TensorView& input, const ScoreMask& mask,
                     double scale) {
  return launch(queue, out, input, input, mask, scale, [&](const Task& task) {
    return launchFloating(queue, "masked_softmax", out.dtype, [task](auto tag) {
      task.forward<typename decltype(tag)::type>();
    });
  });
}

Status maskedSoftmaxBackward(const Queue& queue, const TensorView& grad_input,
                             const TensorView& grad_output,
                             const TensorView& output, const ScoreMask& mask,
                             double scale) {
  return launch(queue, grad_input, grad_output, output, mask, scale,
                [&](const Task& task) {
                  return launchFloating(
                      queue, "masked_softmax_backward", grad_input.dtype,
                      [task](auto tag) {
                        task.backward<typename decltype(tag)::type>();
                      });
                });
}

}  // namespace dipu::kernels
