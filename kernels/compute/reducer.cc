// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/reducer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/compute/convert.h"
#include "kernels/compute/domain.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/raw.h"
#include "kernels/compute/reduce_task.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kMaxReduceDims = 64;

// `view` with a dimension of size 1 for each reduced one.
struct KeptView {
  int64_t sizes[kMaxReduceDims];
  int64_t strides[kMaxReduceDims];

  TensorView of(const TensorView& view, const TensorView& input,
                const bool* reduced) {
    if (view.ndim == input.ndim) return view;
    int32_t own = 0;
    for (int32_t dim = 0; dim < input.ndim; ++dim) {
      const bool kept = !reduced[dim] && own < view.ndim;
      sizes[dim] = kept ? view.sizes[own] : 1;
      strides[dim] = kept ? view.strides[own++] : 0;
    }
    TensorView result = view;
    result.sizes = sizes;
    result.strides = strides;
    result.ndim = input.ndim;
    return result;
  }
};

Status markReduced(const char* name, const TensorView& input,
                   const int64_t* dims, int64_t ndims, bool* reduced) {
  if (input.ndim > kMaxReduceDims) {
    return fail(Status::kUnsupported, "%s of %d dimensions", name, input.ndim);
  }
  std::fill_n(reduced, input.ndim, ndims == 0);
  for (int64_t i = 0; i < ndims; ++i) {
    const int64_t dim = dims[i] < 0 ? dims[i] + input.ndim : dims[i];
    if (input.ndim == 0 && (dims[i] == 0 || dims[i] == -1)) continue;
    if (dim < 0 || dim >= input.ndim) {
      return fail(Status::kInvalid, "%s: dimension %lld is out of range of %d",
                  name, static_cast<long long>(dims[i]), input.ndim);
    }
    reduced[dim] = true;
  }
  return Status::kOk;
}

// Checks the sizes of a result. A size of 1 where the input has more is a
// reduction, so only what is kept must agree.
Status checkResult(const char* name, const TensorView& result,
                   const TensorView& input, const bool* reduced) {
  for (int32_t dim = 0; dim < input.ndim; ++dim) {
    const int64_t expected = reduced[dim] ? 1 : input.sizes[dim];
    if (result.sizes[dim] != expected) {
      return fail(Status::kInvalid,
                  "%s: the output has size %lld in dimension %d, not %lld",
                  name, static_cast<long long>(result.sizes[dim]), dim,
                  static_cast<long long>(expected));
    }
  }
  return Status::kOk;
}

// Nothing to reduce: every result is that of a fresh accumulator.
Status reduceNothing(const Queue& queue, const Reducer& reducer, const void* op,
                     const TensorView& out) {
  alignas(16) unsigned char acc[kMaxAccBytes];
  alignas(16) unsigned char value[8];
  reducer.start(op, acc, 1);
  reducer.finish(op, value, nullptr, acc, 1);
  Kernel kernel;
  uint64_t bits = 0;
  convertFunction(out.dtype, reducer.output)(&bits, 8, value, 8, 1);
  Status status = Status::kOk;
  dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto constant = [v = static_cast<T>(bits)] { return v; };
    kernel = makeKernel<decltype(constant), T>();
    kernel.types[0] = out.dtype;
    status = elementwise(queue, kernel, constant, {&out});
  });
  return status;
}

// Which dimension is the dense one, see Note [Reductions]. A short one gives
// way to a long one of the other kind, whose elements are then gathered.
void chooseInner(Domain* domain, ReduceTask* task) {
  constexpr int64_t kShort = 8;
  constexpr int64_t kLong = 64;
  const auto isReduced = [domain](int32_t dim) {
    return domain->strides[dim][1] == 0;
  };
  int32_t inner = 0;
  if (domain->sizes[0] < kShort) {
    for (int32_t dim = 1; dim < domain->ndim; ++dim) {
      if (domain->sizes[dim] >= kLong && isReduced(dim) != isReduced(0)) {
        inner = dim;
        break;
      }
    }
  }
  task->inner_reduced = isReduced(inner);
  task->inner.set(*domain, inner);
  for (const bool reduced : {true, false}) {
    for (int32_t dim = 0; dim < domain->ndim; ++dim) {
      if (dim == inner || isReduced(dim) != reduced) continue;
      task->dims[task->reduced_dims + task->kept_dims].set(*domain, dim);
      (reduced ? task->reduced_dims : task->kept_dims) += 1;
    }
  }
}

}  // namespace

Status reduceErased(const Queue& queue, const char* name,
                    const Reducer& reducer, const void* op,
                    std::size_t op_bytes, const TensorView& out,
                    const TensorView& indices, const TensorView& input,
                    const int64_t* dims, int64_t ndims) {
  bool reduced[kMaxReduceDims];
  Status status = markReduced(name, input, dims, ndims, reduced);
  if (status != Status::kOk) return status;
  KeptView kept_out;
  KeptView kept_indices;
  const TensorView& result = out.defined() ? out : indices;
  const TensorView to = kept_out.of(result, input, reduced);
  status = checkResult(name, to, input, reduced);
  if (status != Status::kOk || result.numel == 0) return status;
  if (itemSize(result.dtype) == 0 || itemSize(input.dtype) == 0) {
    return unsupportedDType(name, input.dtype);
  }
  if (input.numel == 0) return reduceNothing(queue, reducer, op, result);
  TensorView positions;
  if (indices.defined()) {
    positions = kept_indices.of(indices, input, reduced);
    status = checkResult(name, positions, input, reduced);
    if (status != Status::kOk) return status;
  }
  Domain domain;
  const TensorView* views[] = {&input, &to, &positions};
  status = buildDomain(views, indices.defined() ? 3 : 2, 1, &domain);
  if (status != Status::kOk) return status;
  // A single element has neither kept nor reduced dimensions.
  if (input.numel == 1) {
    domain.strides[0][1] = 0;
    domain.strides[0][2] = 0;
  }

  ReduceTask task;
  task.reducer = &reducer;
  std::memcpy(task.op, op, op_bytes);
  chooseInner(&domain, &task);
  task.input = queue.translate<char>(input.data, spanBytes(input));
  task.out = queue.translate<char>(result.data, spanBytes(result));
  if (task.input == nullptr || task.out == nullptr) return Status::kOk;
  task.load = convertFunction(reducer.input, input.dtype);
  task.store =
      out.defined() ? convertFunction(out.dtype, reducer.output) : nullptr;
  task.item = static_cast<int64_t>(itemSize(reducer.input));
  task.direct = input.dtype == reducer.input &&
                (task.inner.in == task.item || task.inner.size == 1);
  task.indices = nullptr;
  if (indices.defined()) {
    task.indices = queue.translate<char>(indices.data, spanBytes(indices));
    if (task.indices == nullptr) return Status::kOk;
    task.store_index = convertFunction(indices.dtype, DType::kInt64);
  }
  const int32_t used = task.reduced_dims + task.kept_dims;
  const std::size_t bytes = offsetof(ReduceTask, dims) +
                            static_cast<std::size_t>(used) * sizeof(ReduceDim);
  return queue.launchPrefix(task, bytes) ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels
