// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/flat_index.h"

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

// The position that `index` means among `size` elements, or -1: reported.
int64_t wrapIndex(int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    reportIndex(index, size);
    return -1;
  }
  return index < 0 ? index + size : index;
}

template <typename T>
struct TakeTask {
  T* out;
  const T* input;
  IndexReader index;
  int64_t count;
  int64_t size;

  void operator()() const {
    parallelFor(count, kGrain / 4, [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = wrapIndex(index.at(i), size);
        if (at >= 0) out[i] = input[at];
      }
    });
  }
};

template <typename T>
struct PutTask {
  T* out;
  const T* source;
  IndexReader index;
  int64_t count;
  int64_t size;

  void operator()() const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = wrapIndex(index.at(i), size);
      if (at >= 0) out[at] = source[i];
    }
  }
};

template <typename T>
struct AccumulateTask {
  T* out;
  const T* source;
  IndexReader index;
  int64_t count;
  int64_t size;

  void operator()() const {
    using C = ComputeType<T>;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = wrapIndex(index.at(i), size);
      if (at < 0) continue;
      out[at] = convertValue<T>(static_cast<C>(convertValue<C>(out[at]) +
                                               convertValue<C>(source[i])));
    }
  }
};

template <typename T>
struct MaskedScatterTask {
  T* out;
  const T* source;
  const bool* mask;
  int64_t count;
  int64_t available;

  void operator()() const {
    int64_t taken = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!mask[i]) continue;
      if (taken == available) {
        return refuse(
            "the mask selects more than the %lld elements of the source",
            static_cast<long long>(available));
      }
      out[i] = source[taken++];
    }
  }
};

}  // namespace

Status take(const Queue& queue, const TensorView& out, const TensorView& input,
            const TensorView& index) {
  if (!isIndexType(index.dtype)) return unsupportedDType("take", index.dtype);
  if (out.dtype != input.dtype || itemSize(input.dtype) == 0) {
    return unsupportedDType("take", input.dtype);
  }
  if (out.numel != index.numel) {
    return fail(Status::kInvalid, "take: output and index differ in size");
  }
  if (out.numel == 0) return Status::kOk;
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, input, Order::kRowMajor);
  DenseTensor at(queue, index, Order::kRowMajor);
  if (!to.open() || !from.load() || !at.load()) return Status::kFailed;
  const IndexReader reader{at.address<char>(), index.dtype == DType::kInt64};
  Status status = Status::kOk;
  dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const TakeTask<T> task{to.address<T>(), from.address<T>(), reader,
                           index.numel, input.numel};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return status;
}

Status put(const Queue& queue, const TensorView& out, const TensorView& index,
           const TensorView& source, bool accumulate) {
  if (!isIndexType(index.dtype)) return unsupportedDType("put", index.dtype);
  if (source.dtype != out.dtype || itemSize(out.dtype) == 0) {
    return unsupportedDType("put", source.dtype);
  }
  if (source.numel != index.numel) {
    return fail(Status::kInvalid,
                "put: %lld indices for %lld elements of the source",
                static_cast<long long>(index.numel),
                static_cast<long long>(source.numel));
  }
  if (index.numel == 0) return Status::kOk;
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, source, Order::kRowMajor);
  DenseTensor at(queue, index, Order::kRowMajor);
  if (!to.load() || !from.load() || !at.load()) return Status::kFailed;
  const IndexReader reader{at.address<char>(), index.dtype == DType::kInt64};
  Status status = Status::kOk;
  const auto launch = [&](auto task) {
    using T = std::remove_pointer_t<decltype(task.out)>;
    task = {to.address<T>(), from.address<T>(), reader, index.numel, out.numel};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  };
  const bool known = accumulate
                         ? dispatchAll(out.dtype,
                                       [&](auto tag) {
                                         using T = typename decltype(tag)::type;
                                         launch(AccumulateTask<T>());
                                       })
                         : dispatchWidth(out.dtype, [&](auto tag) {
                             launch(PutTask<typename decltype(tag)::type>());
                           });
  return known ? status : unsupportedDType("put", out.dtype);
}

Status maskedScatter(const Queue& queue, const TensorView& out,
                     const TensorView& mask, const TensorView& source) {
  if (source.dtype != out.dtype || itemSize(out.dtype) == 0) {
    return unsupportedDType("masked_scatter", source.dtype);
  }
  if (out.numel == 0) return Status::kOk;
  ScratchTensor flags(queue, out, DType::kBool);
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, source, Order::kRowMajor);
  if (!flags.valid() || !to.load() || !from.load()) return Status::kFailed;
  Status status = convertTensor(queue, flags.view(), mask);
  if (status != Status::kOk) return status;
  dispatchWidth(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const MaskedScatterTask<T> task{to.address<T>(), from.address<T>(),
                                    flags.address<bool>(), out.numel,
                                    source.numel};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return status;
}

}  // namespace dipu::kernels
