// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index.h"
#include "kernels/compute/indexed_lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/raw.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct GatherTask {
  T* out;
  const T* input;
  IndexedLines indexed;
  void operator()() const {
    indexed.all(
        [to = out, from = input](int64_t i, int64_t at) { to[i] = from[at]; });
  }
};

// `src` is nullptr for a number.
template <typename T>
struct AssignTask {
  T* out;
  const T* src;
  T value;
  IndexedLines indexed;
  void operator()() const {
    if (src == nullptr) {
      indexed.all([to = out, x = value](int64_t, int64_t at) { to[at] = x; });
    } else {
      indexed.all(
          [to = out, from = src](int64_t i, int64_t at) { to[at] = from[i]; });
    }
  }
};

template <typename T>
struct CombineTask {
  T* out;
  const T* src;
  T value;
  bool add;
  IndexedLines indexed;
  void operator()() const {
    using C = ComputeType<T>;
    // A number is a source whose elements are all the same one.
    const T* const source = src != nullptr ? src : &value;
    const int64_t step = src != nullptr ? 1 : 0;
    indexed.all([source, step, sum = add, to = out](int64_t i, int64_t at) {
      const C x = convertValue<C>(to[at]);
      const C y = convertValue<C>(source[i * step]);
      to[at] = convertValue<T>(static_cast<C>(sum ? x + y : x * y));
    });
  }
};

Status scatterAny(const Queue& queue, const TensorView& out, int64_t dim,
                  const TensorView& index, const TensorView& src, uint64_t bits,
                  ScatterMode mode) {
  IndexedLines indexed;
  const TensorView& own = src.defined() ? src : index;
  Status status =
      prepareIndexed(queue, "scatter", index, own, out, &dim, &indexed);
  if (status != Status::kOk || index.numel == 0) return status;
  char* to = translateView<char>(queue, out);
  const char* from = translateView<char>(queue, src);
  if (to == nullptr || indexed.index.data == nullptr ||
      (src.defined() && from == nullptr)) {
    return Status::kOk;
  }
  const auto launch = [&](auto task) {
    using T = std::remove_pointer_t<decltype(task.out)>;
    task.out = reinterpret_cast<T*>(to);
    task.src = reinterpret_cast<const T*>(from);
    std::memcpy(&task.value, &bits, sizeof(T));
    task.indexed = indexed;
    status = queue.launch(task) ? Status::kOk : Status::kFailed;
  };
  bool known = false;
  if (mode == ScatterMode::kAssign) {
    known = dispatchWidth(out.dtype, [&](auto tag) {
      launch(AssignTask<typename decltype(tag)::type>());
    });
  } else {
    known = dispatchAll(out.dtype, [&](auto tag) {
      CombineTask<typename decltype(tag)::type> task;
      task.add = mode == ScatterMode::kAdd;
      launch(task);
    });
  }
  return known ? status : unsupportedDType("scatter", out.dtype);
}

}  // namespace

Status gather(const Queue& queue, const TensorView& out,
              const TensorView& input, int64_t dim, const TensorView& index) {
  if (out.dtype != input.dtype) return unsupportedDType("gather", out.dtype);
  IndexedLines indexed;
  Status status =
      prepareIndexed(queue, "gather", index, out, input, &dim, &indexed);
  if (status != Status::kOk || index.numel == 0) return status;
  char* to = translateView<char>(queue, out);
  const char* from = translateView<char>(queue, input);
  if (to == nullptr || from == nullptr || indexed.index.data == nullptr) {
    return Status::kOk;
  }
  const bool known = dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const GatherTask<T> task{reinterpret_cast<T*>(to),
                             reinterpret_cast<const T*>(from), indexed};
    status = queue.launch(task) ? Status::kOk : Status::kFailed;
  });
  return known ? status : unsupportedDType("gather", out.dtype);
}

Status scatter(const Queue& queue, const TensorView& out, int64_t dim,
               const TensorView& index, const TensorView& src,
               ScatterMode mode) {
  if (src.dtype != out.dtype) return unsupportedDType("scatter", src.dtype);
  return scatterAny(queue, out, dim, index, src, 0, mode);
}

Status scatterScalar(const Queue& queue, const TensorView& out, int64_t dim,
                     const TensorView& index, const Scalar& value,
                     ScatterMode mode) {
  uint64_t bits = 0;
  if (!scalarBits(value, out.dtype, &bits)) {
    return unsupportedDType("scatter", out.dtype);
  }
  return scatterAny(queue, out, dim, index, {}, bits, mode);
}

}  // namespace dipu::kernels
