// SPDX-License-Identifier: Apache-2.0
//
// Reductions that leave elements out.
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/reducer.h"

namespace dipu::kernels {
namespace {

// Adds what Take makes of each element.
template <typename T, typename Total, typename Take>
struct TakenSumOp {
  using In = T;
  using Acc = Total;
  using Out = Total;

  Acc start() const { return 0; }
  void row(Acc* acc, const T* x, int64_t count, int64_t) const {
    constexpr int64_t kLanes = 8;
    Acc lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] += Take::of(x[i + k]);
    }
    for (; i < count; ++i) lanes[0] += Take::of(x[i]);
    for (const Acc lane : lanes) *acc += lane;
  }
  void columns(Acc* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t) const {
    for (int64_t row = 0; row < rows; ++row, x += stride) {
      for (int64_t j = 0; j < count; ++j) acc[j] += Take::of(x[j]);
    }
  }
  void merge(Acc* acc, const Acc& other) const { *acc += other; }
  Out finish(const Acc& acc, int64_t*) const { return acc; }
};

struct Number {
  template <typename T>
  static double of(T x) {
    return x == x ? static_cast<double>(x) : 0.0;
  }
};

struct One {
  static int64_t of(bool x) { return x ? 1 : 0; }
};

}  // namespace

Status nanSum(const Queue& queue, const TensorView& out,
              const TensorView& input, const Dims& dims) {
  if (!isFloating(input.dtype)) return sum(queue, out, input, dims);
  Status status = Status::kOk;
  const bool known = dispatchReal(computeDType(input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = reduce(queue, "nansum", TakenSumOp<T, double, Number>(), out, {},
                    input, dims.data, dims.count);
  });
  return known ? status : unsupportedDType("nansum", input.dtype);
}

Status countAlong(const Queue& queue, const TensorView& out,
                  const TensorView& input, const Dims& dims) {
  return reduce(queue, "count_nonzero", TakenSumOp<bool, int64_t, One>(), out,
                {}, input, dims.data, dims.count);
}

}  // namespace dipu::kernels
