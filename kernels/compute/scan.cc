// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/convert.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/reduce.h"

namespace dipu::kernels {
namespace {

// Running sums in Wide of lines of any type, staged in blocks.
template <typename Wide>
struct CumsumTask {
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
    Wide total = 0;
    for (int64_t done = 0; done < lines.length; done += kBlock) {
      const int64_t count = std::min(kBlock, lines.length - done);
      load(block, sizeof(Wide), from + done * in_stride, in_stride, count);
      for (int64_t i = 0; i < count; ++i) block[i] = total += block[i];
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

template <typename Wide>
Status launchCumsum(const Queue& queue, const TensorView& out,
                    const TensorView& input, int64_t dim) {
  CumsumTask<Wide> task;
  const TensorView* views[2] = {&out, &input};
  if (!task.lines.cut(views, dim)) {
    return fail(Status::kUnsupported, "cumsum of %d dimensions", out.ndim);
  }
  task.load = convertFunction(kDTypeOf<Wide>, input.dtype);
  task.store = convertFunction(out.dtype, kDTypeOf<Wide>);
  if (task.load == nullptr || task.store == nullptr) {
    return unsupportedDType("cumsum", input.dtype);
  }
  task.out_item = static_cast<int64_t>(itemSize(out.dtype));
  task.in_item = static_cast<int64_t>(itemSize(input.dtype));
  task.out = translateView<char>(queue, out);
  task.input = translateView<char>(queue, input);
  if (task.out == nullptr || task.input == nullptr) return Status::kOk;
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace

Status cumsum(const Queue& queue, const TensorView& out,
              const TensorView& input, int64_t dim) {
  if (dim < 0) dim += input.ndim;
  const bool scalar = input.ndim == 0 && (dim == 0 || dim == -1);
  if (!scalar && (dim < 0 || dim >= input.ndim)) {
    return fail(Status::kInvalid,
                "cumsum: dimension %lld is out of range of %d",
                static_cast<long long>(dim), input.ndim);
  }
  if (out.ndim != input.ndim ||
      !std::equal(out.sizes, out.sizes + out.ndim, input.sizes)) {
    return fail(Status::kInvalid, "cumsum: sizes of output and input differ");
  }
  if (out.numel == 0) return Status::kOk;
  if (isFloating(out.dtype)) {
    return launchCumsum<double>(queue, out, input, dim);
  }
  return launchCumsum<int64_t>(queue, out, input, dim);
}

}  // namespace dipu::kernels
