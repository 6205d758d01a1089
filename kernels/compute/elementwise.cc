// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/compute/domain.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/strided_task.h"
#include "kernels/compute/transpose_copy.h"

namespace dipu::kernels {
namespace {

// Length of the pieces of a row when the operands disagree on which dimension
// is innermost: then 64 cache lines are read and written by turns.
constexpr int64_t kTile = 64;
// Rows shorter than this are not worth a loop if a longer dimension exists.
constexpr int64_t kShortRow = 16;

// All operands are dense, in one order, and of the kernel's types.
struct DenseTask {
  DenseLoop loop;
  int64_t count;
  int32_t cost;
  uint8_t operands;
  uint8_t item_sizes[kMaxOperands];
  alignas(8) unsigned char op[kMaxOpBytes];
  char* data[kMaxOperands];

  void operator()() const {
    parallelFor(count, grainFor(1, cost), [this](int64_t begin, int64_t end) {
      void* p[kMaxOperands];
      for (int k = 0; k < operands; ++k) p[k] = data[k] + begin * item_sizes[k];
      loop(op, p, end - begin);
    });
  }
};

// Chooses dimension 0, dimension 1 and the length of a row's pieces.
int64_t arrangeRows(Domain* domain) {
  const auto move = [domain](int32_t from, int32_t to) {
    if (from == to) return;
    std::swap(domain->sizes[from], domain->sizes[to]);
    std::swap(domain->strides[from], domain->strides[to]);
  };
  int32_t longest = 0;
  for (int32_t dim = 1; dim < domain->ndim; ++dim) {
    if (domain->sizes[dim] > domain->sizes[longest]) longest = dim;
  }
  if (domain->sizes[0] < kShortRow &&
      domain->sizes[longest] >= 4 * domain->sizes[0]) {
    move(longest, 0);
  }
  for (int32_t k = 0; k < domain->operands; ++k) {
    const int64_t own = domain->strides[0][k];
    for (int32_t dim = 1; dim < domain->ndim; ++dim) {
      const int64_t other = domain->strides[dim][k];
      if (other == 0 || other >= own) continue;
      move(dim, 1);
      return kTile;
    }
  }
  // Few long rows are cut, so that threads share them.
  constexpr int64_t kPieces = 4 * kMaxTeam;
  const int64_t piece = (domain->sizes[0] / kPieces + 63) / 64 * 64;
  return domain->sizes[0] > kGrain / 8 ? std::max<int64_t>(piece, 4096)
                                       : domain->sizes[0];
}

bool sameLayout(const TensorView& a, const TensorView& b) {
  if (a.ndim != b.ndim) return false;
  for (int32_t i = 0; i < a.ndim; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
    if (a.strides[i] != b.strides[i] && a.sizes[i] != 1) return false;
  }
  return true;
}

bool allDense(const Kernel& kernel, const TensorView* const* views) {
  if (!isContiguous(*views[0])) return false;
  for (int32_t k = 0; k < kernel.operands; ++k) {
    if (views[k]->dtype != kernel.types[k]) return false;
    if (k > 0 && !sameLayout(*views[0], *views[k])) return false;
  }
  return true;
}

DenseLoop loopOf(const Kernel& kernel) {
  return kernel.wide != nullptr && hasWideVectors() ? kernel.wide : kernel.loop;
}

Status launchDense(const Queue& queue, const Kernel& kernel, const void* op,
                   std::size_t op_bytes, const TensorView* const* views) {
  DenseTask task;
  task.loop = loopOf(kernel);
  task.count = views[0]->numel;
  task.cost = kernel.cost;
  task.operands = static_cast<uint8_t>(kernel.operands);
  std::memcpy(task.op, op, op_bytes);
  for (int32_t k = 0; k < kernel.operands; ++k) {
    const std::size_t item = itemSize(kernel.types[k]);
    task.item_sizes[k] = static_cast<uint8_t>(item);
    task.data[k] = queue.translate<char>(
        views[k]->data, item * static_cast<std::size_t>(task.count));
    if (task.data[k] == nullptr) return Status::kOk;  // enqueued as a failure
  }
  const std::size_t bytes =
      offsetof(DenseTask, data) +
      static_cast<std::size_t>(kernel.operands) * sizeof(char*);
  return queue.launchPrefix(task, bytes) ? Status::kOk : Status::kFailed;
}

Status launchStrided(const Queue& queue, const Kernel& kernel, const void* op,
                     std::size_t op_bytes, const TensorView* const* views,
                     const Domain& domain, int64_t chunk) {
  StridedTask task;
  task.loop = loopOf(kernel);
  std::memcpy(task.op, op, op_bytes);
  task.operands = static_cast<uint8_t>(kernel.operands);
  task.outputs = static_cast<uint8_t>(kernel.outputs);
  task.ndim = static_cast<uint8_t>(domain.ndim);
  task.update = kernel.update;
  task.cost = kernel.cost;
  task.chunk = chunk;
  int64_t* word = task.words;
  for (int32_t k = 0; k < kernel.operands; ++k) {
    task.tensor_types[k] = static_cast<uint8_t>(views[k]->dtype);
    task.loop_types[k] = static_cast<uint8_t>(kernel.types[k]);
    char* address = queue.translate<char>(views[k]->data, spanBytes(*views[k]));
    if (address == nullptr) return Status::kOk;  // enqueued as a failure
    *word++ = reinterpret_cast<int64_t>(address);
  }
  for (int32_t dim = 0; dim < domain.ndim; ++dim) *word++ = domain.sizes[dim];
  for (int32_t dim = 0; dim < domain.ndim; ++dim) {
    word = std::copy_n(domain.strides[dim], kernel.operands, word);
  }
  const std::size_t bytes =
      offsetof(StridedTask, words) +
      static_cast<std::size_t>(task.usedWords()) * sizeof(int64_t);
  return queue.launchPrefix(task, bytes) ? Status::kOk : Status::kFailed;
}

// A copy without conversion whose sides are dense along different dimensions.
bool isTransposedCopy(const Kernel& kernel, const TensorView* const* views,
                      const Domain& domain) {
  return kernel.loop == nullptr && views[0]->dtype == views[1]->dtype &&
         isTransposed(domain, static_cast<int64_t>(itemSize(views[0]->dtype)));
}

Status launchTransposedCopy(const Queue& queue, const TensorView* const* views,
                            const Domain& domain) {
  char* const to = queue.translate<char>(views[0]->data, spanBytes(*views[0]));
  char* const from =
      queue.translate<char>(views[1]->data, spanBytes(*views[1]));
  if (to == nullptr || from == nullptr) {
    return Status::kOk;  // enqueued as a failure
  }
  return launchTransposed(
      queue, domain, static_cast<int64_t>(itemSize(views[0]->dtype)), to, from);
}

}  // namespace

Status elementwiseErased(const Queue& queue, const Kernel& kernel,
                         const void* op, std::size_t op_bytes,
                         const TensorView* const* operands) {
  if (kernel.loop != nullptr && allDense(kernel, operands)) {
    if (operands[0]->numel == 0) return Status::kOk;
    return launchDense(queue, kernel, op, op_bytes, operands);
  }
  for (int32_t k = 0; k < kernel.operands; ++k) {
    if (itemSize(operands[k]->dtype) == 0) {
      return unsupportedDType("elementwise", operands[k]->dtype);
    }
  }
  Domain domain;
  const Status status =
      buildDomain(operands, kernel.operands, kernel.outputs, &domain);
  if (status != Status::kOk) return status;
  if (operands[0]->numel == 0) return Status::kOk;
  const int64_t chunk = arrangeRows(&domain);
  if (isTransposedCopy(kernel, operands, domain)) {
    return launchTransposedCopy(queue, operands, domain);
  }
  return launchStrided(queue, kernel, op, op_bytes, operands, domain, chunk);
}

Status convertTensor(const Queue& queue, const TensorView& to,
                     const TensorView& from) {
  Kernel kernel;
  kernel.operands = 2;
  kernel.types[0] = from.dtype;
  kernel.types[1] = from.dtype;
  const TensorView* operands[] = {&to, &from};
  return elementwiseErased(queue, kernel, "", 0, operands);
}

DType computeDType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return DType::kFloat32;
    case DType::kFloat64:
    case DType::kInt64:
    case DType::kUInt64:
      return dtype;
    case DType::kUInt32:
      return DType::kInt64;
    default:
      return DType::kInt32;
  }
}

DType promoteCompute(DType a, DType b) {
  const DType x = computeDType(a);
  const DType y = computeDType(b);
  if (x == y) return x;
  for (DType type : {DType::kUInt64, DType::kFloat64, DType::kFloat32,
                     DType::kInt64, DType::kInt32}) {
    if (x == type || y == type) return type;
  }
  return DType::kInt32;
}

}  // namespace dipu::kernels
