// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/convert.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/raw.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

// The loops below move bits of an element's width. Their kernels name the
// output's dtype as the type of such operands, so that inputs of other types
// are converted to it.

// `a` where `condition` is not 0, else `b`. By masks: a random condition would
// mislead the branches that the compiler makes of a conditional expression, and
// it does not vectorise loops over bool.
template <typename T>
T choose(uint8_t condition, T a, T b) {
  const T mask = static_cast<T>(-static_cast<T>(condition != 0));
  return static_cast<T>((a & mask) | (b & ~mask));
}

template <typename T>
struct Where {
  T operator()(uint8_t condition, T a, T b) const {
    return choose(condition, a, b);
  }
};

template <typename T>
struct MaskedFill {
  T value;
  T operator()(T x, uint8_t mask) const { return choose(mask, value, x); }
};

template <typename T>
struct Fill {
  T value;
  T operator()() const { return value; }
};

// Counts along the row-major order of a dense output. Works in double or
// int64 and stores with one conversion.
template <typename C>
struct CountTask {
  char* out;
  Convert store;
  int64_t item;
  int64_t count;
  C start;
  C step;
  C end;
  int64_t middle;  // elements from here on are counted back from `end`

  void operator()() const {
    parallelFor(count, kGrain / 4, [this](int64_t begin, int64_t stop) {
      constexpr int64_t kBlock = 256;
      C block[kBlock];
      for (; begin < stop; begin += kBlock) {
        const int64_t length = std::min(kBlock, stop - begin);
        for (int64_t i = 0; i < length; ++i) {
          const int64_t index = begin + i;
          block[i] = index < middle
                         ? start + step * static_cast<C>(index)
                         : end - step * static_cast<C>(count - 1 - index);
        }
        store(out + begin * item, item, block, sizeof(C), length);
      }
    });
  }
};

template <typename C>
Status launchCount(const Queue& queue, const char* name, const TensorView& out,
                   C start, C step, C end, int64_t middle) {
  if (!isContiguous(out)) {
    return fail(Status::kUnsupported, "%s needs a contiguous output", name);
  }
  if (out.numel == 0) return Status::kOk;
  CountTask<C> task;
  task.out = queue.translate<char>(out.data, spanBytes(out));
  if (task.out == nullptr) return Status::kOk;  // enqueued as a failure
  task.store = convertFunction(out.dtype, kDTypeOf<C>);
  if (task.store == nullptr) return unsupportedDType(name, out.dtype);
  task.item = static_cast<int64_t>(itemSize(out.dtype));
  task.count = out.numel;
  task.start = start;
  task.step = step;
  task.end = end;
  task.middle = middle;
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace

Status where(const Queue& queue, const TensorView& out,
             const TensorView& condition, const TensorView& a,
             const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Kernel kernel = makeKernel<Where<T>, T, uint8_t, T, T>();
    kernel.types[0] = kernel.types[2] = kernel.types[3] = out.dtype;
    kernel.types[1] = DType::kBool;
    status = elementwise(queue, kernel, Where<T>(), {&out, &condition, &a, &b});
  });
  return known ? status : unsupportedDType("where", out.dtype);
}

Status maskedFill(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& mask,
                  const Scalar& value) {
  const Status fits = checkNumber("masked_fill", value, out.dtype);
  if (fits != Status::kOk) return fits;
  uint64_t bits = 0;
  if (!scalarBits(value, out.dtype, &bits)) {
    return unsupportedDType("masked_fill", out.dtype);
  }
  Status status = Status::kOk;
  dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Kernel kernel = makeKernel<MaskedFill<T>, T, T, uint8_t>();
    kernel.types[0] = kernel.types[1] = out.dtype;
    kernel.types[2] = DType::kBool;
    status = elementwise(queue, kernel, MaskedFill<T>{static_cast<T>(bits)},
                         {&out, &input, &mask});
  });
  return status;
}

Status fill(const Queue& queue, const TensorView& out, const Scalar& value) {
  // PyTorch fills with what torch.where() got as a number, where the 16-bit
  // floating types hold infinity instead.
  if (out.dtype != DType::kFloat16 && out.dtype != DType::kBFloat16) {
    const Status fits = checkNumber("fill", value, out.dtype);
    if (fits != Status::kOk) return fits;
  }
  uint64_t bits = 0;
  if (!scalarBits(value, out.dtype, &bits)) {
    return unsupportedDType("fill", out.dtype);
  }
  Status status = Status::kOk;
  dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Kernel kernel = makeKernel<Fill<T>, T>();
    kernel.types[0] = out.dtype;
    status = elementwise(queue, kernel, Fill<T>{static_cast<T>(bits)}, {&out});
  });
  return status;
}

Status arange(const Queue& queue, const TensorView& out, const Scalar& start,
              const Scalar& step) {
  if (isFloating(out.dtype)) {
    return launchCount(queue, "arange", out, start.to<double>(),
                       step.to<double>(), 0.0, out.numel);
  }
  return launchCount(queue, "arange", out, start.to<int64_t>(),
                     step.to<int64_t>(), int64_t{0}, out.numel);
}

Status linspace(const Queue& queue, const TensorView& out, const Scalar& start,
                const Scalar& end, int64_t steps) {
  if (steps != out.numel) {
    return fail(Status::kInvalid, "linspace of %lld steps into %lld elements",
                static_cast<long long>(steps),
                static_cast<long long>(out.numel));
  }
  const auto toElement = [&out](const Scalar& value) {
    return isFloating(out.dtype) ? value.to<double>()
                                 : static_cast<double>(value.to<int64_t>());
  };
  const double first = toElement(start);
  const double last = toElement(end);
  const double step =
      steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0.0;
  const int64_t middle = steps > 1 ? steps / 2 : 1;
  return launchCount(queue, "linspace", out, first, step, last, middle);
}

}  // namespace dipu::kernels
