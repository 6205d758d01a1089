// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/compute/optimizer/foreach.h"
#include "kernels/compute/optimizer/tensor_list.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kBlocks = 64;

enum class Norm { kSum, kSquares, kLargest };

// The contribution of elements begin .. end.
template <typename T>
double partOf(Norm norm, const T* x, int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  const auto load = [x, begin](int64_t i) {
    return static_cast<C>(x[begin + i]);
  };
  if (norm == Norm::kSquares) {
    return sumTerms<C>(end - begin,
                       [&](int64_t i) { return load(i) * load(i); });
  }
  if (norm == Norm::kSum) {
    return sumTerms<C>(end - begin,
                       [&](int64_t i) { return std::abs(load(i)); });
  }
  double largest = 0;
  for (int64_t i = 0; i < end - begin; ++i) {
    const double value = std::abs(double(load(i)));
    if (value > largest || value != value) largest = value;
    if (largest != largest) break;
  }
  return largest;
}

struct NormTask {
  Norm norm;
  DType dtype;

  template <typename T>
  void one(const ListEntry<2>& entry) const {
    const T* x = static_cast<const T*>(entry.data[0]);
    double parts[kBlocks];
    const int64_t blocks = entry.count < 8192 ? 1 : kBlocks;
    parallelFor(blocks, grainFor(entry.count / blocks + 1, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) {
                    parts[b] = partOf(norm, x, entry.count * b / blocks,
                                      entry.count * (b + 1) / blocks);
                  }
                });
    double total = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      if (norm != Norm::kLargest) {
        total += parts[b];
      } else if (parts[b] > total || parts[b] != parts[b]) {
        total = parts[b];
      }
    }
    if (norm == Norm::kSquares) total = std::sqrt(total);
    *static_cast<T*>(entry.data[1]) =
        static_cast<T>(static_cast<ComputeType<T>>(total));
  }

  void operator()(const ListView<2>& list) const {
    dispatchFloating(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < list.count; ++i) one<T>(list.entries[i]);
    });
  }
};

bool normOf(double order, Norm* norm) {
  if (order == 1.0) *norm = Norm::kSum;
  if (order == 2.0) *norm = Norm::kSquares;
  if (std::isinf(order) && order > 0) *norm = Norm::kLargest;
  return order == 1.0 || order == 2.0 || (std::isinf(order) && order > 0);
}

}  // namespace

Status foreachNorm(const Queue& queue, const TensorView* outs,
                   const TensorView* inputs, std::size_t count, double order) {
  if (count == 0) return Status::kOk;
  NormTask task{Norm::kSum, inputs[0].dtype};
  if (!normOf(order, &task.norm)) {
    return fail(Status::kUnsupported, "foreach_norm: order %g", order);
  }
  TensorList<2> list;
  const TensorView absent;
  for (std::size_t i = 0; i < count; ++i) {
    if (!isFloating(task.dtype) || inputs[i].dtype != task.dtype ||
        outs[i].dtype != task.dtype || outs[i].numel != 1 ||
        inputs[i].numel == 0) {
      return fail(Status::kUnsupported,
                  "foreach_norm: tensor %zu is empty or of another dtype", i);
    }
    void* out = translateView(queue, outs[i]);
    if (out == nullptr || !list.add(queue, {&inputs[i], &absent}, out)) {
      return fail(Status::kUnsupported, "foreach_norm: tensor %zu is not dense",
                  i);
    }
  }
  return launchList(queue, task, list);
}

}  // namespace dipu::kernels
