// SPDX-License-Identifier: Apache-2.0
//
// Tensors cut into lines along one dimension, for kernels that work on whole
// lines (softmax and its like).
#pragma once

#include <cstdint>

#include "kernels/compute/dtype.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Lines of up to `Operands` tensors of one shape, as plain values. Line i of
// operand k starts offset(i, k) elements after the operand's address and its
// elements are line_strides[k] apart.
template <int Operands>
struct Lines {
  static constexpr int kMaxDims = 7;

  int64_t length = 0;  // elements of a line
  int64_t count = 1;   // number of lines
  int64_t line_strides[Operands] = {};
  int32_t ndim = 0;  // dimensions across the lines, innermost first
  int64_t sizes[kMaxDims] = {};
  int64_t strides[kMaxDims][Operands] = {};

  int64_t offset(int64_t line, int operand) const {
    int64_t result = 0;
    for (int d = 0; d + 1 < ndim; ++d) {
      result += line % sizes[d] * strides[d][operand];
      line /= sizes[d];
    }
    return ndim == 0 ? 0 : result + line * strides[ndim - 1][operand];
  }

  // Cuts tensors of the shape of views[0] along `dim` (0 <= dim < ndim; any
  // value for scalars). Dimensions that lie one after the other in all
  // operands are joined. False when more than kMaxDims are left.
  bool cut(const TensorView* const (&views)[Operands], int64_t dim) {
    const TensorView& shape = *views[0];
    length = shape.ndim == 0 ? 1 : shape.sizes[dim];
    for (int k = 0; k < Operands; ++k) {
      line_strides[k] = shape.ndim == 0 ? 1 : views[k]->strides[dim];
    }
    for (int d = shape.ndim - 1; d >= 0; --d) {
      if (d == dim || shape.sizes[d] == 1) continue;
      count *= shape.sizes[d];
      if (!append(views, d)) return false;
    }
    return true;
  }

 private:
  bool append(const TensorView* const (&views)[Operands], int d) {
    const int64_t size = views[0]->sizes[d];
    bool joins = ndim > 0;
    for (int k = 0; joins && k < Operands; ++k) {
      joins = views[k]->strides[d] == strides[ndim - 1][k] * sizes[ndim - 1];
    }
    if (joins) {
      sizes[ndim - 1] *= size;
      return true;
    }
    if (ndim == kMaxDims) return false;
    sizes[ndim] = size;
    for (int k = 0; k < Operands; ++k) strides[ndim][k] = views[k]->strides[d];
    ++ndim;
    return true;
  }
};

// The line as dense values of the compute type: the elements themselves where
// that is what they are, otherwise a copy in `buffer`.
template <typename T>
inline const ComputeType<T>* loadLine(const T* line, int64_t stride,
                                      int64_t length, ComputeType<T>* buffer) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    if (stride == 1) return line;
  }
  if (stride == 1) {
    for (int64_t i = 0; i < length; ++i) {
      buffer[i] = static_cast<ComputeType<T>>(line[i]);
    }
  } else {
    for (int64_t i = 0; i < length; ++i) {
      buffer[i] = static_cast<ComputeType<T>>(line[i * stride]);
    }
  }
  return buffer;
}

// Where to compute a line: in place if it is dense, otherwise in `buffer`,
// which storeLine then writes back.
template <typename T>
inline ComputeType<T>* openLine(T* line, int64_t stride,
                                ComputeType<T>* buffer) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    if (stride == 1) return line;
  }
  static_cast<void>(line);
  static_cast<void>(stride);
  return buffer;
}

template <typename T>
inline void storeLine(const ComputeType<T>* values, int64_t length, T* line,
                      int64_t stride) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    if (values == line) return;
  }
  for (int64_t i = 0; i < length; ++i) {
    line[i * stride] = static_cast<T>(values[i]);
  }
}

}  // namespace dipu::kernels
