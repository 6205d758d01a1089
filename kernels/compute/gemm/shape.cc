// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/shape.h"

namespace dipu::kernels::gemm {

Matrices Matrices::of(const TensorView& view) {
  Matrices m;
  m.data_ = view.data;
  m.sizes_ = view.sizes;
  m.strides_ = view.strides;
  m.batch_dims_ = view.ndim - 2;
  m.rows_ = view.sizes[view.ndim - 2];
  m.columns_ = view.sizes[view.ndim - 1];
  m.row_stride_ = view.strides[view.ndim - 2];
  m.column_stride_ = view.strides[view.ndim - 1];
  return m;
}

Matrices Matrices::rowOf(const TensorView& view) {
  Matrices m;
  m.data_ = view.data;
  m.sizes_ = view.sizes;
  m.strides_ = view.strides;
  m.batch_dims_ = view.ndim - 1;
  m.columns_ = view.sizes[view.ndim - 1];
  m.column_stride_ = view.strides[view.ndim - 1];
  return m;
}

Matrices Matrices::columnOf(const TensorView& view) {
  return rowOf(view).transposed();
}

Matrices Matrices::scalar(const TensorView& view) {
  Matrices m;
  m.data_ = view.data;
  return m;
}

Matrices Matrices::addendOf(const TensorView& view) {
  if (view.ndim == 0) return scalar(view);
  return view.ndim == 1 ? rowOf(view) : of(view);
}

Matrices Matrices::transposed() const {
  Matrices m = *this;
  m.rows_ = columns_;
  m.columns_ = rows_;
  m.row_stride_ = column_stride_;
  m.column_stride_ = row_stride_;
  return m;
}

bool Matrices::empty() const {
  if (rows_ == 0 || columns_ == 0) return true;
  for (int i = 0; i < batch_dims_; ++i) {
    if (sizes_[i] == 0) return true;
  }
  return false;
}

int64_t Matrices::batchSize(int i) const {
  return i < batch_dims_ ? sizes_[batch_dims_ - 1 - i] : 1;
}

int64_t Matrices::batchStride(int i) const {
  return batchSize(i) == 1 ? 0 : strides_[batch_dims_ - 1 - i];
}

bool Matrices::expandTo(const Matrices& result) {
  if (rows_ == 1) row_stride_ = 0;
  if (columns_ == 1) column_stride_ = 0;
  const bool fits = (rows_ == result.rows_ || rows_ == 1) &&
                    (columns_ == result.columns_ || columns_ == 1);
  rows_ = result.rows_;
  columns_ = result.columns_;
  return fits;
}

bool setSingle(const Matrices& out, const Matrices* input, const Matrices& a,
               const Matrices& b, Problem* problem) {
  if (out.batchDims() != 0 || a.batchDims() != 0 || b.batchDims() != 0 ||
      (input != nullptr && input->batchDims() != 0)) {
    return false;
  }
  const auto strides = [](const Matrices& m) {
    return Strides{0, m.rowStride(), m.columnStride()};
  };
  problem->a = a.data();
  problem->b = b.data();
  problem->c = out.data();
  problem->d = input == nullptr ? nullptr : input->data();
  problem->rows = out.rows();
  problem->batch = 1;
  problem->a_strides = strides(a);
  problem->b_strides = strides(b);
  problem->c_strides = strides(out);
  problem->d_strides = input == nullptr ? Strides{} : strides(*input);
  return true;
}

BatchLoop::BatchLoop(const Matrices& out, const Matrices* input,
                     const Matrices& a, const Matrices& b, int64_t item_size)
    : rows_(out.rows()), item_size_(item_size) {
  count_ = out.batchDims();
  if (count_ > kMaxBatchDims) {
    valid_ = false;
    return;
  }
  for (int i = 0; i < count_; ++i) dims_[i].size = out.batchSize(i);
  addOperand(kC, out);
  addOperand(kA, a);
  addOperand(kB, b);
  if (input != nullptr) {
    addOperand(kD, *input);
  } else {
    for (int i = 0; i < count_; ++i) dims_[i].strides[kD] = 0;
  }
  joinDims();
  foldIntoRows();
  for (int i = 1; i < count_; ++i) problems_ *= dims_[i].size;
}

void BatchLoop::addOperand(Operand which, const Matrices& matrices) {
  data_[which] = static_cast<char*>(matrices.data());
  row_strides_[which] = matrices.rowStride();
  column_strides_[which] = matrices.columnStride();
  for (int i = 0; i < count_; ++i) {
    const int64_t size = matrices.batchSize(i);
    valid_ = valid_ && (size == dims_[i].size || size == 1);
    dims_[i].strides[which] = matrices.batchStride(i);
  }
  for (int i = count_; i < matrices.batchDims(); ++i) {
    valid_ = valid_ && matrices.batchSize(i) == 1;
  }
}

void BatchLoop::joinDims() {
  int kept = 0;
  for (int i = 0; i < count_; ++i) {
    if (dims_[i].size == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; joins && k < kOperands; ++k) {
      const Dim& inner = dims_[kept - 1];
      joins = dims_[i].strides[k] == inner.strides[k] * inner.size;
    }
    if (joins) {
      dims_[kept - 1].size *= dims_[i].size;
    } else {
      dims_[kept++] = dims_[i];
    }
  }
  count_ = kept;
}

void BatchLoop::foldIntoRows() {
  if (count_ == 0 || dims_[0].strides[kB] != 0) return;
  const Dim& inner = dims_[0];
  if (rows_ == 1) {
    for (int k = 0; k < kOperands; ++k) {
      if (k != kB) row_strides_[k] = inner.strides[k];
    }
  } else {
    for (int k = 0; k < kOperands; ++k) {
      if (k != kB && inner.strides[k] != row_strides_[k] * rows_) return;
    }
  }
  rows_ *= inner.size;
  for (int i = 1; i < count_; ++i) dims_[i - 1] = dims_[i];
  --count_;
}

bool BatchLoop::next(Problem* problem) {
  if (position_ == problems_) return false;
  int64_t offsets[kOperands] = {};
  int64_t rest = position_++;
  for (int i = 1; i < count_; ++i) {
    const int64_t index = rest % dims_[i].size;
    rest /= dims_[i].size;
    for (int k = 0; k < kOperands; ++k) {
      offsets[k] += index * dims_[i].strides[k];
    }
  }
  const auto address = [&](Operand k) -> char* {
    return data_[k] == nullptr ? nullptr : data_[k] + offsets[k] * item_size_;
  };
  const auto strides = [&](Operand k) {
    return Strides{count_ > 0 ? dims_[0].strides[k] : 0, row_strides_[k],
                   column_strides_[k]};
  };
  problem->a = address(kA);
  problem->b = address(kB);
  problem->d = address(kD);
  problem->c = address(kC);
  problem->rows = rows_;
  problem->batch = count_ > 0 ? dims_[0].size : 1;
  problem->a_strides = strides(kA);
  problem->b_strides = strides(kB);
  problem->d_strides = strides(kD);
  problem->c_strides = strides(kC);
  return true;
}

}  // namespace dipu::kernels::gemm
