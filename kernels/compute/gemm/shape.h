// SPDX-License-Identifier: Apache-2.0
//
// Tensors seen as batches of matrices, and the loop over their batches.
#pragma once

#include <cstdint>

#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::gemm {

// Most batch dimensions of an operand.
inline constexpr int kMaxBatchDims = 14;

// A view whose trailing dimensions are a matrix and whose leading ones are a
// batch. Borrows the arrays of the tensor view.
class Matrices {
 public:
  // The last two dimensions are the matrix; ndim >= 2.
  static Matrices of(const TensorView& view);
  // The last dimension is a matrix of one row; ndim >= 1.
  static Matrices rowOf(const TensorView& view);
  // The last dimension is a matrix of one column; ndim >= 1.
  static Matrices columnOf(const TensorView& view);
  // A matrix of one element; ndim == 0.
  static Matrices scalar(const TensorView& view);
  // An operand that is aligned with the last dimensions of the result.
  static Matrices addendOf(const TensorView& view);

  Matrices transposed() const;

  bool empty() const;
  void* data() const { return data_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t rowStride() const { return row_stride_; }
  int64_t columnStride() const { return column_stride_; }
  int batchDims() const { return batch_dims_; }
  // Batch dimension `i`, counted from the innermost one; 1 past the last.
  int64_t batchSize(int i) const;
  int64_t batchStride(int i) const;

  // Repeats a single row or column to the extents of `result`; false when the
  // extents do not fit.
  bool expandTo(const Matrices& result);

 private:
  void* data_ = nullptr;
  const int64_t* sizes_ = nullptr;
  const int64_t* strides_ = nullptr;
  int batch_dims_ = 0;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
  int64_t row_stride_ = 0;
  int64_t column_stride_ = 0;
};

// Fills addresses, rows, batch and strides of a product without batches; false,
// and nothing done, when an operand has batch dimensions. What a BatchLoop does
// too, but in less time than a small product takes. `input` may be nullptr.
bool setSingle(const Matrices& out, const Matrices* input, const Matrices& a,
               const Matrices& b, Problem* problem);

// Cuts a product of batches into problems with one batch dimension each.
// Dimensions that lie one after the other in memory are joined, and a batch
// that multiplies one common `b` becomes further rows of one matrix.
class BatchLoop {
 public:
  // The row and column extents already fit. `input` may be nullptr.
  BatchLoop(const Matrices& out, const Matrices* input, const Matrices& a,
            const Matrices& b, int64_t item_size);

  // False when the batch dimensions do not broadcast to those of `out`.
  bool valid() const { return valid_; }

  // Fills addresses, rows, batch and strides of the next problem; false after
  // the last one.
  bool next(Problem* problem);

 private:
  enum Operand { kA, kB, kD, kC, kOperands };
  struct Dim {
    int64_t size;
    int64_t strides[kOperands];
  };

  void addOperand(Operand which, const Matrices& matrices);
  void joinDims();
  void foldIntoRows();

  Dim dims_[kMaxBatchDims];  // innermost first
  int count_ = 0;
  char* data_[kOperands] = {};
  int64_t row_strides_[kOperands] = {};
  int64_t column_strides_[kOperands] = {};
  int64_t rows_;
  int64_t item_size_;
  int64_t position_ = 0;
  int64_t problems_ = 1;
  bool valid_ = true;
};

}  // namespace dipu::kernels::gemm
