// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/folds.h"
#include "kernels/compute/index_combine.h"
#include "kernels/compute/indexed_lines.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {
namespace {

// Elements of a line of the index combine into one line of the output, so
// lines do not disturb each other.
template <typename Fold>
struct ReduceTask {
  using T = typename Fold::Type;
  T* out;
  const T* src;
  int64_t* counts;  // elements that each output took; nullptr: not needed
  int64_t elements;
  bool include_self;
  bool mean;
  IndexedLines indexed;

  void take(int64_t from, int64_t to) const {
    const bool first = counts != nullptr && counts[to]++ == 0 && !include_self;
    out[to] = first ? src[from] : Fold::apply(out[to], src[from]);
  }

  void operator()() const {
    if (counts != nullptr) std::fill_n(counts, elements, int64_t{0});
    indexed.all([this](int64_t from, int64_t to) { take(from, to); });
    if (!mean) return;
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t count = counts[i] + (include_self ? 1 : 0);
      if (count > 1) out[i] = meanOf(out[i], count);
    }
  }
};

}  // namespace

Status scatterReduce(const Queue& queue, const TensorView& out, int64_t dim,
                     const TensorView& index, const TensorView& src,
                     Combine combine, bool include_self) {
  const bool mean = combine == Combine::kMean;
  const DType compute = foldType(out.dtype);
  if (itemSize(out.dtype) == 0 || src.dtype != out.dtype ||
      (mean && out.dtype == DType::kBool)) {
    return unsupportedDType("scatter_reduce", out.dtype);
  }
  DenseTensor to(queue, out, Order::kRowMajor, compute);
  DenseTensor from(queue, src, Order::kRowMajor, compute);
  if (!to.load() || !from.load()) return Status::kFailed;
  IndexedLines indexed;
  Status status = prepareIndexed(queue, "scatter_reduce", index, from.view(),
                                 to.view(), &dim, &indexed);
  if (status != Status::kOk || index.numel == 0) return status;
  if (indexed.index.data == nullptr) return Status::kOk;
  int64_t* counts = nullptr;
  if (mean || !include_self) {
    counts = static_cast<int64_t*>(scratchAddress(
        queue, out.numel * static_cast<int64_t>(sizeof(int64_t))));
    if (counts == nullptr) return Status::kFailed;
  }
  const bool known = dispatchFold(combine, compute, [&](auto fold) {
    using T = typename decltype(fold)::Type;
    const ReduceTask<decltype(fold)> task{to.address<T>(), from.address<T>(),
                                          counts,          out.numel,
                                          include_self,    mean,
                                          indexed};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return known ? status : unsupportedDType("scatter_reduce", out.dtype);
}

}  // namespace dipu::kernels
