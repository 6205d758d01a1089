// SPDX-License-Identifier: Apache-2.0
//
// Advanced indexing in two steps: the positions that the index tensors name
// become offsets into the tensor, once; then elements are moved.
#include <algorithm>
#include <cstring>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kMaxIndexDims = AdvancedIndex::kMaxDims;

// How the dimensions of the tensor and of the result correspond. The result
// is [outer dimensions, broadcast index, inner dimensions]; the outer ones are
// those before the first index, if the indices stand side by side.
struct Plan {
  int32_t ndim = 0;  // of the tensor
  bool indexed[kMaxIndexDims] = {};
  int32_t first = 0;  // indexed dimension
  bool adjacent = true;
  int64_t index_sizes[kMaxIndexDims] = {};
  int32_t index_ndim = 0;

  bool isOuter(int32_t dim) const {
    return !indexed[dim] && adjacent && dim < first;
  }
  bool isInner(int32_t dim) const { return !indexed[dim] && !isOuter(dim); }
  int64_t indexCount() const {
    int64_t n = 1;
    for (int32_t i = 0; i < index_ndim; ++i) n *= index_sizes[i];
    return n;
  }
};

Status broadcastInto(const TensorView& index, Plan* plan) {
  if (!isIndexType(index.dtype)) return unsupportedDType("index", index.dtype);
  if (index.ndim > kMaxIndexDims) {
    return fail(Status::kUnsupported, "index of %d dimensions", index.ndim);
  }
  if (index.ndim > plan->index_ndim) {
    const int32_t shift = index.ndim - plan->index_ndim;
    std::copy_backward(plan->index_sizes, plan->index_sizes + plan->index_ndim,
                       plan->index_sizes + index.ndim);
    std::fill_n(plan->index_sizes, shift, 1);
    plan->index_ndim = index.ndim;
  }
  for (int32_t i = 0; i < index.ndim; ++i) {
    int64_t& size = plan->index_sizes[plan->index_ndim - index.ndim + i];
    if (size == 1) {
      size = index.sizes[i];
    } else if (index.sizes[i] != 1 && index.sizes[i] != size) {
      return fail(Status::kInvalid,
                  "index: sizes %lld and %lld of two indices "
                  "do not broadcast",
                  static_cast<long long>(size),
                  static_cast<long long>(index.sizes[i]));
    }
  }
  return Status::kOk;
}

Status makePlan(const TensorView& tensor, const AdvancedIndex& index,
                Plan* plan) {
  if (tensor.ndim > kMaxIndexDims || index.count > tensor.ndim) {
    return fail(Status::kUnsupported, "index of %d dimensions by %d tensors",
                tensor.ndim, index.count);
  }
  plan->ndim = tensor.ndim;
  int32_t last = -1;
  for (int32_t dim = 0; dim < index.count; ++dim) {
    if (!index.indices[dim].defined()) continue;
    if (last < 0) plan->first = dim;
    if (last >= 0 && last != dim - 1) plan->adjacent = false;
    last = dim;
    plan->indexed[dim] = true;
    const Status status = broadcastInto(index.indices[dim], plan);
    if (status != Status::kOk) return status;
  }
  if (last < 0) return fail(Status::kInvalid, "index: no index was given");
  return Status::kOk;
}

// offsets[i] = element offset that the indices at position i name, or -1.
struct OffsetTask {
  int64_t* offsets;
  int64_t count;
  int32_t tensors;
  int32_t ndim;
  int64_t sizes[kMaxIndexDims];
  IndexReader readers[kMaxIndexDims];
  int64_t reader_strides[kMaxIndexDims][kMaxIndexDims];
  int64_t limits[kMaxIndexDims];
  int64_t strides[kMaxIndexDims];

  int64_t offsetAt(int64_t position) const {
    int64_t offset = 0;
    for (int32_t k = 0; k < tensors; ++k) {
      int64_t element = 0;
      int64_t rest = position;
      for (int32_t d = ndim - 1; d >= 0; --d) {
        element += rest % sizes[d] * reader_strides[k][d];
        rest /= sizes[d];
      }
      const int64_t index = readers[k].at(element);
      if (index < -limits[k] || index >= limits[k]) {
        reportIndex(index, limits[k]);
        return -1;
      }
      offset += (index < 0 ? index + limits[k] : index) * strides[k];
    }
    return offset;
  }
  void operator()() const {
    parallelFor(count, grainFor(1, 8L * tensors),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    offsets[i] = offsetAt(i);
                  }
                });
  }
};

// Enqueues the computation of offsets into `tensor`; nullptr on failure.
int64_t* launchOffsets(const Queue& queue, const TensorView& tensor,
                       const AdvancedIndex& index, const Plan& plan) {
  OffsetTask task{};
  task.count = plan.indexCount();
  task.ndim = plan.index_ndim;
  std::copy_n(plan.index_sizes, plan.index_ndim, task.sizes);
  for (int32_t dim = 0; dim < index.count; ++dim) {
    if (!plan.indexed[dim]) continue;
    const TensorView& view = index.indices[dim];
    const int32_t k = task.tensors++;
    task.readers[k] = {translateView<char>(queue, view),
                       view.dtype == DType::kInt64};
    if (task.readers[k].data == nullptr) return nullptr;
    for (int32_t i = 0; i < view.ndim; ++i) {
      const bool broadcast = view.sizes[i] == 1;
      task.reader_strides[k][plan.index_ndim - view.ndim + i] =
          broadcast ? 0 : view.strides[i];
    }
    task.limits[k] = tensor.sizes[dim];
    task.strides[k] = tensor.strides[dim];
  }
  task.offsets = static_cast<int64_t*>(scratchAddress(
      queue, task.count * static_cast<int64_t>(sizeof(int64_t))));
  if (task.offsets == nullptr || !queue.launch(task)) return nullptr;
  return task.offsets;
}

// The dimensions that no index touches, with their strides in the tensor.
struct Untouched {
  int32_t ndim = 0;
  int64_t sizes[kMaxIndexDims] = {};
  int64_t strides[kMaxIndexDims] = {};
  int64_t count = 1;

  void add(int64_t size, int64_t stride) {
    sizes[ndim] = size;
    strides[ndim++] = stride;
    count *= size;
  }
  int64_t offset(int64_t position) const {
    int64_t result = 0;
    for (int32_t d = ndim - 1; d >= 0; --d) {
      result += position % sizes[d] * strides[d];
      position /= sizes[d];
    }
    return result;
  }
  // Whether the elements lie one after another.
  bool dense() const {
    int64_t expected = 1;
    for (int32_t d = ndim - 1; d >= 0; --d) {
      if (sizes[d] != 1 && strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }
};

// The dense side is [outer, index, inner]; the other side is the tensor.
struct Move {
  const int64_t* offsets;
  int64_t index_count;
  bool inner_dense;
  Untouched outer;
  Untouched inner;

  int64_t rows() const { return outer.count * index_count; }
  // Offset of row `row` in the tensor, -1 if its index is out of range.
  int64_t rowOffset(int64_t row) const {
    const int64_t offset = offsets[row % index_count];
    return offset < 0 ? -1 : offset + outer.offset(row / index_count);
  }
  int64_t grain() const { return grainFor(inner.count + 8); }
};

template <typename T>
struct GetTask {
  T* dense;
  const T* tensor;
  Move move;
  void operator()() const {
    parallelFor(move.rows(), move.grain(), [this](int64_t begin, int64_t end) {
      const int64_t width = move.inner.count;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t offset = move.rowOffset(row);
        if (offset < 0) continue;
        T* to = dense + row * width;
        const T* from = tensor + offset;
        if (move.inner_dense) {
          std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(T));
        } else {
          for (int64_t i = 0; i < width; ++i)
            to[i] = from[move.inner.offset(i)];
        }
      }
    });
  }
};

// Rows in order on one thread: they may name the same elements.
template <typename T>
struct PutTask {
  T* tensor;
  const T* dense;
  bool accumulate;
  Move move;

  void put(T* to, T value) const {
    if (!accumulate) {
      *to = value;
    } else {
      using C = ComputeType<T>;
      *to = convertValue<T>(
          static_cast<C>(convertValue<C>(*to) + convertValue<C>(value)));
    }
  }
  void operator()() const {
    const int64_t width = move.inner.count;
    for (int64_t row = 0; row < move.rows(); ++row) {
      const int64_t offset = move.rowOffset(row);
      if (offset < 0) continue;
      T* to = tensor + offset;
      const T* from = dense + row * width;
      for (int64_t i = 0; i < width; ++i) {
        put(to + (move.inner_dense ? i : move.inner.offset(i)), from[i]);
      }
    }
  }
};

bool makeMove(const Queue& queue, const TensorView& tensor,
              const AdvancedIndex& index, const Plan& plan, Move* move) {
  move->offsets = launchOffsets(queue, tensor, index, plan);
  if (move->offsets == nullptr) return false;
  move->index_count = plan.indexCount();
  for (int32_t dim = 0; dim < plan.ndim; ++dim) {
    if (plan.indexed[dim]) continue;
    (plan.isOuter(dim) ? move->outer : move->inner)
        .add(tensor.sizes[dim], tensor.strides[dim]);
  }
  move->inner_dense = move->inner.dense();
  return true;
}

}  // namespace

Status indexedSizes(const TensorView& input, const AdvancedIndex& index,
                    int64_t* sizes, int32_t* ndim) {
  Plan plan;
  const Status status = makePlan(input, index, &plan);
  if (status != Status::kOk) return status;
  *ndim = 0;
  for (int32_t dim = 0; dim < plan.ndim; ++dim) {
    if (plan.isOuter(dim)) sizes[(*ndim)++] = input.sizes[dim];
  }
  for (int32_t i = 0; i < plan.index_ndim; ++i) {
    sizes[(*ndim)++] = plan.index_sizes[i];
  }
  for (int32_t dim = 0; dim < plan.ndim; ++dim) {
    if (plan.isInner(dim)) sizes[(*ndim)++] = input.sizes[dim];
  }
  return Status::kOk;
}

Status indexGet(const Queue& queue, const TensorView& out,
                const TensorView& input, const AdvancedIndex& index) {
  Plan plan;
  Status status = makePlan(input, index, &plan);
  if (status != Status::kOk || out.numel == 0) return status;
  const char* from = translateView<char>(queue, input);
  DenseTensor to(queue, out, Order::kRowMajor, input.dtype);
  Move move;
  if (from == nullptr || !to.open() ||
      !makeMove(queue, input, index, plan, &move)) {
    return Status::kFailed;
  }
  const bool known = dispatchWidth(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const GetTask<T> task{to.address<T>(), reinterpret_cast<const T*>(from),
                          move};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return known ? status : unsupportedDType("index", input.dtype);
}

Status indexPut(const Queue& queue, const TensorView& out,
                const TensorView& values, const AdvancedIndex& index,
                bool accumulate) {
  int64_t sizes[2 * kMaxIndexDims];
  TensorView shape;
  shape.ndim = 0;
  shape.sizes = sizes;
  shape.dtype = out.dtype;
  Plan plan;
  Status status = makePlan(out, index, &plan);
  if (status != Status::kOk) return status;
  status = indexedSizes(out, index, sizes, &shape.ndim);
  if (status != Status::kOk) return status;
  shape.numel = sizeBetween(shape, 0, shape.ndim);
  if (shape.numel == 0) return Status::kOk;
  ScratchTensor expanded(queue, shape, out.dtype);
  char* to = translateView<char>(queue, out);
  Move move;
  if (!expanded.valid() || to == nullptr) return Status::kFailed;
  status = convertTensor(queue, expanded.view(), values);
  if (status != Status::kOk) return status;
  if (!makeMove(queue, out, index, plan, &move)) return Status::kFailed;
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const PutTask<T> task{reinterpret_cast<T*>(to), expanded.address<T>(),
                          accumulate, move};
    status = queue.launch(task) ? Status::kOk : Status::kFailed;
  };
  const bool known = accumulate ? dispatchAll(out.dtype, launch)
                                : dispatchWidth(out.dtype, launch);
  return known ? status : unsupportedDType("index_put", out.dtype);
}

}  // namespace dipu::kernels
