// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/domain.h"

#include <algorithm>
#include <cstddef>

namespace dipu::kernels {
namespace {

// Stride in bytes of `view` along dimension `dim` of `out`.
Status strideAlong(const TensorView& out, int32_t dim, const TensorView& view,
                   bool is_output, int64_t* stride) {
  const int32_t own = dim - (out.ndim - view.ndim);
  *stride = 0;
  if (own < 0) return Status::kOk;
  const int64_t size = view.sizes[own];
  if (size == out.sizes[dim]) {
    *stride = view.strides[own] * static_cast<int64_t>(itemSize(view.dtype));
    return Status::kOk;
  }
  if (size == 1 && !is_output) return Status::kOk;
  return fail(Status::kInvalid,
              "elementwise operand has size %lld in dimension %d, the output "
              "has %lld",
              static_cast<long long>(size), own,
              static_cast<long long>(out.sizes[dim]));
}

// Whether dimension `a` should lie inside dimension `b`.
bool isInner(const Domain& domain, int32_t a, int32_t b) {
  for (int32_t k = 0; k < domain.operands; ++k) {
    const int64_t x = domain.strides[a][k];
    const int64_t y = domain.strides[b][k];
    if (x != y && x != 0 && y != 0) return x < y;
  }
  return false;
}

void swapDims(Domain* domain, int32_t a, int32_t b) {
  std::swap(domain->sizes[a], domain->sizes[b]);
  for (int32_t k = 0; k < domain->operands; ++k) {
    std::swap(domain->strides[a][k], domain->strides[b][k]);
  }
}

void orderDims(Domain* domain) {
  for (int32_t i = 1; i < domain->ndim; ++i) {
    for (int32_t j = i; j > 0 && isInner(*domain, j, j - 1); --j) {
      swapDims(domain, j, j - 1);
    }
  }
}

void joinDims(Domain* domain) {
  int32_t last = 0;
  for (int32_t i = 1; i < domain->ndim; ++i) {
    bool joins = true;
    for (int32_t k = 0; k < domain->operands && joins; ++k) {
      joins = domain->strides[i][k] ==
              domain->strides[last][k] * domain->sizes[last];
    }
    if (joins) {
      domain->sizes[last] *= domain->sizes[i];
    } else if (++last != i) {
      domain->sizes[last] = domain->sizes[i];
      std::copy_n(domain->strides[i], domain->operands, domain->strides[last]);
    }
  }
  domain->ndim = last + 1;
}

}  // namespace

Status buildDomain(const TensorView* const* views, int32_t operands,
                   int32_t outputs, Domain* domain) {
  const TensorView& out = *views[0];
  domain->operands = operands;
  for (int32_t k = 1; k < operands; ++k) {
    if (views[k]->ndim > out.ndim || (k < outputs && views[k]->ndim < out.ndim))
      return fail(Status::kInvalid,
                  "elementwise operand %d has %d dimensions, the output %d", k,
                  views[k]->ndim, out.ndim);
  }
  int32_t ndim = 0;
  for (int32_t dim = out.ndim - 1; dim >= 0; --dim) {
    if (out.sizes[dim] == 1) {
      // Still checked: an operand must not be larger than the output.
      int64_t ignored = 0;
      for (int32_t k = 1; k < operands; ++k) {
        const Status status =
            strideAlong(out, dim, *views[k], k < outputs, &ignored);
        if (status != Status::kOk) return status;
      }
      continue;
    }
    if (ndim == kMaxDims) {
      return fail(Status::kUnsupported, "more than %d dimensions", kMaxDims);
    }
    domain->sizes[ndim] = out.sizes[dim];
    for (int32_t k = 0; k < operands; ++k) {
      const Status status = strideAlong(out, dim, *views[k], k < outputs,
                                        &domain->strides[ndim][k]);
      if (status != Status::kOk) return status;
    }
    ++ndim;
  }
  if (ndim == 0) {
    domain->sizes[0] = 1;
    for (int32_t k = 0; k < operands; ++k) {
      domain->strides[0][k] = static_cast<int64_t>(itemSize(views[k]->dtype));
    }
    ndim = 1;
  }
  domain->ndim = ndim;
  orderDims(domain);
  joinDims(domain);
  return Status::kOk;
}

std::size_t spanBytes(const TensorView& view) {
  if (view.numel == 0) return 0;
  int64_t last = 0;
  for (int32_t i = 0; i < view.ndim; ++i) {
    last += (view.sizes[i] - 1) * view.strides[i];
  }
  return static_cast<std::size_t>(last + 1) * itemSize(view.dtype);
}

bool isContiguous(const TensorView& view) {
  int64_t expected = 1;
  for (int32_t i = view.ndim - 1; i >= 0; --i) {
    if (view.sizes[i] != 1) {
      if (view.strides[i] != expected) return false;
      expected *= view.sizes[i];
    }
  }
  return true;
}

}  // namespace dipu::kernels
