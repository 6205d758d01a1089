// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/compute/convert.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

struct Sum {
  template <typename T>
  static T start() {
    return 0;
  }
  template <typename T>
  static T combine(T total, T x) {
    return total + x;
  }
};

// Integer overflow wraps, as it does in PyTorch.
struct Product {
  template <typename T>
  static T start() {
    return 1;
  }
  static double combine(double total, double x) { return total * x; }
  static int64_t combine(int64_t total, int64_t x) {
    return static_cast<int64_t>(static_cast<uint64_t>(total) *
                                static_cast<uint64_t>(x));
  }
};

struct LogSumExp {
  template <typename T>
  static T start() {
    return -std::numeric_limits<T>::infinity();
  }
  static double combine(double total, double x) {
    if (x != x || total != total) return x + total;
    const double low = std::min(x, total);
    const double high = std::max(x, total);
    // Two equal infinities have no difference.
    if (low == high && std::isinf(low)) return x;
    return std::log1p(std::exp(low - high)) + high;
  }
};

// Running results in Wide of lines of any type, staged in blocks.
template <typename Wide, typename Step>
struct ScanTask {
  char* out;
  const char* input;
  Convert load;
  Convert store;
  int64_t out_item;
  int64_t in_item;
  Lines<2> lines;  // of the output and the input

  void line(int64_t number) const {
    constexpr int64_t kBlock = 256;
    Wide block[kBlock];
    const int64_t out_stride = lines.line_strides[0] * out_item;
    const int64_t in_stride = lines.line_strides[1] * in_item;
    char* to = out + lines.offset(number, 0) * out_item;
    const char* from = input + lines.offset(number, 1) * in_item;
    Wide total = Step::template start<Wide>();
    for (int64_t done = 0; done < lines.length; done += kBlock) {
      const int64_t count = std::min(kBlock, lines.length - done);
      load(block, sizeof(Wide), from + done * in_stride, in_stride, count);
      for (int64_t i = 0; i < count; ++i) {
        block[i] = total = Step::combine(total, block[i]);
      }
      store(to + done * out_stride, out_stride, block, sizeof(Wide), count);
    }
  }

  void operator()() const {
    parallelFor(lines.count, grainFor(lines.length, 4),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) line(i);
                });
  }
};

Status checkOperands(const char* name, const TensorView& out,
                     const TensorView& input, int64_t* dim) {
  if (out.ndim != input.ndim ||
      !std::equal(out.sizes, out.sizes + out.ndim, input.sizes)) {
    return fail(Status::kInvalid, "%s: sizes of output and input differ", name);
  }
  return wrapDim(name, input.ndim, dim);
}

template <typename Wide, typename Step>
Status launchScan(const Queue& queue, const char* name, const TensorView& out,
                  const TensorView& input, int64_t dim) {
  const Status status = checkOperands(name, out, input, &dim);
  if (status != Status::kOk || out.numel == 0) return status;
  ScanTask<Wide, Step> task;
  if (!task.lines.cut({&out, &input}, dim)) {
    return fail(Status::kUnsupported, "%s of %d dimensions", name, out.ndim);
  }
  task.load = convertFunction(kDTypeOf<Wide>, input.dtype);
  task.store = convertFunction(out.dtype, kDTypeOf<Wide>);
  if (task.load == nullptr || task.store == nullptr) {
    return unsupportedDType(name, input.dtype);
  }
  task.out_item = static_cast<int64_t>(itemSize(out.dtype));
  task.in_item = static_cast<int64_t>(itemSize(input.dtype));
  task.out = translateView<char>(queue, out);
  task.input = translateView<char>(queue, input);
  if (task.out == nullptr || task.input == nullptr) return Status::kOk;
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

template <typename Step>
Status launchSum(const Queue& queue, const char* name, const TensorView& out,
                 const TensorView& input, int64_t dim) {
  return isFloating(out.dtype)
             ? launchScan<double, Step>(queue, name, out, input, dim)
             : launchScan<int64_t, Step>(queue, name, out, input, dim);
}

template <typename Wide>
struct ExtremeTask {
  char* values;
  char* indices;
  const char* input;
  Convert load;
  Convert store_index;
  int64_t item;
  int64_t index_item;
  bool max;
  Lines<3> lines;  // of the input, the values and the indices

  bool replaces(Wide x, Wide best) const {
    return x != x || (best == best && (max ? x >= best : x <= best));
  }

  void line(int64_t number) const {
    const char* from = input + lines.offset(number, 0) * item;
    char* to = values + lines.offset(number, 1) * item;
    char* at = indices + lines.offset(number, 2) * index_item;
    Wide best = 0;
    int64_t position = 0;
    unsigned char bits[8];
    for (int64_t i = 0; i < lines.length; ++i) {
      const char* element = from + i * lines.line_strides[0] * item;
      Wide x;
      load(&x, sizeof(x), element, item, 1);
      if (i == 0 || replaces(x, best)) {
        best = x;
        position = i;
        std::memcpy(bits, element, static_cast<std::size_t>(item));
      }
      std::memcpy(to + i * lines.line_strides[1] * item, bits,
                  static_cast<std::size_t>(item));
      store_index(at + i * lines.line_strides[2] * index_item, index_item,
                  &position, 8, 1);
    }
  }

  void operator()() const {
    parallelFor(lines.count, grainFor(lines.length, 8),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) line(i);
                });
  }
};

template <typename Wide>
Status launchExtreme(const Queue& queue, const char* name, bool max,
                     const TensorView& values, const TensorView& indices,
                     const TensorView& input, int64_t dim) {
  ExtremeTask<Wide> task;
  if (!task.lines.cut({&input, &values, &indices}, dim)) {
    return fail(Status::kUnsupported, "%s of %d dimensions", name, input.ndim);
  }
  task.load = convertFunction(kDTypeOf<Wide>, input.dtype);
  task.store_index = convertFunction(indices.dtype, DType::kInt64);
  if (task.load == nullptr) return unsupportedDType(name, input.dtype);
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  task.index_item = static_cast<int64_t>(itemSize(indices.dtype));
  task.max = max;
  task.values = translateView<char>(queue, values);
  task.indices = translateView<char>(queue, indices);
  task.input = translateView<char>(queue, input);
  if (task.values == nullptr || task.indices == nullptr ||
      task.input == nullptr) {
    return Status::kOk;  // enqueued as a failure
  }
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace

Status cumsum(const Queue& queue, const TensorView& out,
              const TensorView& input, int64_t dim) {
  return launchSum<Sum>(queue, "cumsum", out, input, dim);
}

Status cumprod(const Queue& queue, const TensorView& out,
               const TensorView& input, int64_t dim) {
  return launchSum<Product>(queue, "cumprod", out, input, dim);
}

Status logCumsumExp(const Queue& queue, const TensorView& out,
                    const TensorView& input, int64_t dim) {
  if (!isFloating(out.dtype) || !isFloating(input.dtype)) {
    return unsupportedDType("logcumsumexp", input.dtype);
  }
  return launchScan<double, LogSumExp>(queue, "logcumsumexp", out, input, dim);
}

Status cumExtreme(const Queue& queue, Running which, const TensorView& values,
                  const TensorView& indices, const TensorView& input,
                  int64_t dim) {
  const bool max = which == Running::kMax;
  const char* name = max ? "cummax" : "cummin";
  if (!isIndexType(indices.dtype)) return unsupportedDType(name, indices.dtype);
  if (values.dtype != input.dtype) return unsupportedDType(name, values.dtype);
  Status status = checkOperands(name, values, input, &dim);
  if (status != Status::kOk) return status;
  status = checkOperands(name, indices, input, &dim);
  if (status != Status::kOk || input.numel == 0) return status;
  return isFloating(input.dtype)
             ? launchExtreme<double>(queue, name, max, values, indices, input,
                                     dim)
             : launchExtreme<int64_t>(queue, name, max, values, indices, input,
                                      dim);
}

}  // namespace dipu::kernels
