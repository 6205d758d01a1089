// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/raw.h"

namespace dipu::kernels {
namespace {

// Lines of the index, of the tensor whose sizes it has, and of the tensor it
// points into, all along one dimension.
struct IndexedLines {
  IndexReader index;
  Lines<3> lines;
  int64_t size;  // of the dimension that the index points into

  // Calls body(element offset, offset pointed at) along one line.
  template <typename Body>
  void each(const char* operation, int64_t line, const Body& body) const {
    const int64_t first = lines.offset(line, 0);
    const int64_t own = lines.offset(line, 1);
    const int64_t other = lines.offset(line, 2);
    for (int64_t i = 0; i < lines.length; ++i) {
      const int64_t at = index.at(first + i * lines.line_strides[0]);
      if (at < 0 || at >= size) {
        reportIndex(operation, at, size);
        continue;
      }
      body(own + i * lines.line_strides[1], other + at * lines.line_strides[2]);
    }
  }

  template <typename Body>
  void all(const char* operation, const Body& body) const {
    parallelFor(lines.count, grainFor(lines.length, 4),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    each(operation, i, body);
                  }
                });
  }
};

template <typename T>
struct GatherTask {
  T* out;
  const T* input;
  IndexedLines indexed;
  void operator()() const {
    indexed.all("gather",
                [this](int64_t to, int64_t from) { out[to] = input[from]; });
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
    indexed.all("scatter", [this](int64_t from, int64_t to) {
      out[to] = src != nullptr ? src[from] : value;
    });
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
    indexed.all("scatter", [this](int64_t from, int64_t to) {
      const C x = convertValue<C>(out[to]);
      const C y = convertValue<C>(src != nullptr ? src[from] : value);
      out[to] = convertValue<T>(static_cast<C>(add ? x + y : x * y));
    });
  }
};

// Fills everything but the addresses of data. `own` has the sizes of `index`
// or more, and `target` at least those in all dimensions but `dim`.
Status prepare(const Queue& queue, const char* operation,
               const TensorView& index, const TensorView& own,
               const TensorView& target, int64_t* dim, IndexedLines* result) {
  if (!isIndexType(index.dtype))
    return unsupportedDType(operation, index.dtype);
  const Status status = wrapDim(operation, target.ndim, dim);
  if (status != Status::kOk) return status;
  const auto rank = std::max(target.ndim, 1);
  if (std::max(index.ndim, 1) != rank || std::max(own.ndim, 1) != rank) {
    return fail(Status::kInvalid, "%s: numbers of dimensions differ",
                operation);
  }
  for (int32_t d = 0; d < index.ndim && d < target.ndim; ++d) {
    const bool fits = own.ndim == 0 || index.sizes[d] <= own.sizes[d];
    if (!fits || (d != *dim && index.sizes[d] > target.sizes[d])) {
      return fail(Status::kInvalid,
                  "%s: the index is larger than a tensor in "
                  "dimension %d",
                  operation, d);
    }
  }
  static constexpr int64_t kScalar = 0;
  TensorView view[3] = {index, own, target};
  for (TensorView& v : view) {
    if (v.ndim == 0) v.strides = &kScalar;
  }
  const TensorView* views[3] = {&view[0], &view[1], &view[2]};
  if (!result->lines.cut(views, *dim)) {
    return fail(Status::kUnsupported, "%s of %d dimensions", operation,
                index.ndim);
  }
  result->size = target.ndim == 0 ? 1 : target.sizes[*dim];
  result->index = {translateView<char>(queue, index),
                   index.dtype == DType::kInt64};
  return Status::kOk;
}

Status scatterAny(const Queue& queue, const TensorView& out, int64_t dim,
                  const TensorView& index, const TensorView& src, uint64_t bits,
                  ScatterMode mode) {
  IndexedLines indexed;
  const TensorView& own = src.defined() ? src : index;
  Status status = prepare(queue, "scatter", index, own, out, &dim, &indexed);
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
  Status status = prepare(queue, "gather", index, out, input, &dim, &indexed);
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
