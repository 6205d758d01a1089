// SPDX-License-Identifier: Apache-2.0
//
// Index tensors as a worker reads them.
#pragma once

#include <cstdint>

#include "kernels/compute/dtype.h"
#include "kernels/compute/refusal.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Makes the device's error sticky, see Note [Index out of range].
inline void reportIndex(int64_t index, int64_t size) {
  refuse("index %lld is out of range of a dimension of size %lld",
         static_cast<long long>(index), static_cast<long long>(size));
}

inline bool isIndexType(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kInt32;
}

// An index tensor of either type; plain values, for the worker.
struct IndexReader {
  const char* data;
  bool wide;

  int64_t at(int64_t element) const {
    return wide ? reinterpret_cast<const int64_t*>(data)[element]
                : reinterpret_cast<const int32_t*>(data)[element];
  }
};

// Status of `dim` in a tensor of `ndim` dimensions; wraps negative ones.
inline Status wrapDim(const char* operation, int32_t ndim, int64_t* dim) {
  const int64_t dims = ndim == 0 ? 1 : ndim;
  if (*dim < -dims || *dim >= dims) {
    return fail(Status::kInvalid, "%s: dimension %lld is out of range of %d",
                operation, static_cast<long long>(*dim), ndim);
  }
  if (*dim < 0) *dim += dims;
  return Status::kOk;
}

// Product of the sizes from dimension `begin` up to `end`.
inline int64_t sizeBetween(const TensorView& view, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t i = begin; i < end && i < view.ndim; ++i) n *= view.sizes[i];
  return n;
}

}  // namespace dipu::kernels
