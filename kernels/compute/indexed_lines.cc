// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/indexed_lines.h"

#include <algorithm>

#include "kernels/compute/operands.h"

namespace dipu::kernels {

Status prepareIndexed(const Queue& queue, const char* operation,
                      const TensorView& index, const TensorView& own,
                      const TensorView& target, int64_t* dim,
                      IndexedLines* result) {
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
  // A scalar is a line of one element, also beside lines of any stride.
  static constexpr int64_t kOne = 1;
  static constexpr int64_t kNoStride = 0;
  TensorView view[3] = {index, own, target};
  for (TensorView& v : view) {
    if (v.ndim > 0) continue;
    v.ndim = 1;
    v.sizes = &kOne;
    v.strides = &kNoStride;
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

}  // namespace dipu::kernels
