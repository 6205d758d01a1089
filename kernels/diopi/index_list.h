// SPDX-License-Identifier: Apache-2.0
//
// The lists of index tensors that DIOPI functions take.
#pragma once

#include <diopi/diopirt.h>

#include "kernels/compute/index.h"
#include "kernels/diopi/tensor_args.h"

namespace dipu::kernels::diopi {

// The index tensors with masks replaced by the positions they select, which
// live as long as the context.
class Indices {
 public:
  // Waits for the stream if there is a mask. Errors have told their reason.
  diopiError_t read(diopiContextHandle_t ctx, const Queue& queue,
                    diopiConstTensorHandle_t* handles, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const TensorView entry = view(handles[i]);
      const bool mask = entry.defined() && (entry.dtype == DType::kBool ||
                                            entry.dtype == DType::kUInt8);
      const diopiError_t error = mask ? addMask(ctx, queue, entry) : add(entry);
      if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
  }

  AdvancedIndex index() const { return {entries_, count_}; }

 private:
  diopiError_t add(const TensorView& entry) {
    if (count_ == AdvancedIndex::kMaxDims) {
      return done(fail(Status::kUnsupported, "more than %d indices",
                       AdvancedIndex::kMaxDims));
    }
    entries_[count_++] = entry;
    return diopiSuccess;
  }

  // One column of the list of positions for each dimension of the mask.
  diopiError_t addMask(diopiContextHandle_t ctx, const Queue& queue,
                       const TensorView& mask) {
    int64_t selected = 0;
    Status status = countNonzero(queue, mask, &selected);
    if (status != Status::kOk) return done(status);
    const int64_t sizes[2] = {selected, mask.ndim};
    diopiTensorHandle_t positions = nullptr;
    const diopiError_t error =
        requireTensor(ctx, sizes, 2, DType::kInt64, &positions);
    if (error != diopiSuccess) return error;
    const TensorView list = view(positions);
    status = nonzero(queue, list, mask);
    if (status != Status::kOk) return done(status);
    for (int32_t dim = 0; dim < mask.ndim; ++dim) {
      TensorView column = list;
      column.ndim = 1;  // borrows size and stride of the rows
      column.numel = selected;
      column.data = static_cast<int64_t*>(list.data) + dim;
      const diopiError_t added = add(column);
      if (added != diopiSuccess) return added;
    }
    return diopiSuccess;
  }

  TensorView entries_[AdvancedIndex::kMaxDims];
  int32_t count_ = 0;
};

}  // namespace dipu::kernels::diopi
