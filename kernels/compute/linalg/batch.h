// SPDX-License-Identifier: Apache-2.0
//
// Batches of matrices, and how their factorizations are enqueued.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/status.h"

namespace dipu::kernels::linalg {

// Sizes of [batch..., rows, columns].
struct Batch {
  int64_t count = 1;
  int64_t rows = 0;
  int64_t columns = 0;
};

inline Batch batchOf(const TensorView& view) {
  Batch batch;
  for (int32_t d = 0; d + 2 < view.ndim; ++d) batch.count *= view.sizes[d];
  batch.rows = view.sizes[view.ndim - 2];
  batch.columns = view.sizes[view.ndim - 1];
  return batch;
}

// A batch of matrices, or their transposes.
struct Turned : ShapedView {
  Turned(const TensorView& tensor, bool turn) : ShapedView(tensor) {
    const int32_t last = tensor.ndim - 1;
    for (int32_t d = 0; d <= last; ++d) {
      const int32_t own = turn && d + 1 >= last ? 2 * last - 1 - d : d;
      append(tensor.sizes[own], tensor.strides[own]);
    }
  }
};

// Status of a batch of matrices that LAPACK takes.
inline Status checkMatrices(const char* name, const TensorView& view) {
  if (view.dtype != DType::kFloat32 && view.dtype != DType::kFloat64) {
    return unsupportedDType(name, view.dtype);
  }
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (view.ndim < 2 || view.ndim > kMaxDims ||
      view.sizes[view.ndim - 1] > kLargest ||
      view.sizes[view.ndim - 2] > kLargest) {
    return fail(Status::kInvalid, "%s: expected [..., rows, columns]", name);
  }
  return Status::kOk;
}

// Whether leading dimensions agree.
inline bool sameBatch(const TensorView& a, const TensorView& b) {
  return a.ndim == b.ndim && a.dtype == b.dtype &&
         std::equal(a.sizes, a.sizes + a.ndim - 2, b.sizes);
}

// Calls body(i) for the matrices of a batch, each of which costs `work`
// multiplications.
template <typename Body>
void forEachMatrix(int64_t count, int64_t work, const Body& body) {
  parallelFor(count, grainFor(work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Enqueues body(TypeTag<T>()) for float or double.
template <typename Body>
Status launchReal(const Queue& queue, DType dtype, const Body& body) {
  bool sent = false;
  dispatchAmong<float, double>(dtype, [&](auto tag) {
    sent = queue.launch([body] { body(decltype(tag)()); });
  });
  return sent ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels::linalg
