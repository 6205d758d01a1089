// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any dimensions of a tensor.
//
// Note [Reductions]
// A reduction is compiled once per computing type as a few loops over dense
// elements (Reducer). One driver runs all of them in one of two ways:
//   rows     the dense dimension is reduced: a run of elements goes into one
//            accumulator;
//   columns  the dense dimension stays: rows go into a row of accumulators.
// Threads share the results or, where there are few, the elements of each; the
// partial accumulators are then merged in order. Inputs that are not dense or
// of another type are staged as in Note [Dense loops].
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/compute/dtype.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Loops of one reduction. `op` is the state of the operator, `acc` points at
// accumulators. `index` is the position of the first element along the reduced
// dimension; it is meaningful only if one dimension is reduced.
struct Reducer {
  DType input;   // what the loops read
  DType output;  // what finish writes to `out`
  int32_t acc_bytes;
  // Starts `count` accumulators.
  void (*start)(const void* op, void* acc, int64_t count);
  // Takes `count` dense elements into one accumulator.
  void (*row)(const void* op, void* acc, const void* x, int64_t count,
              int64_t index);
  // Takes `rows` rows of `count` dense elements, `stride` bytes apart, into
  // `count` accumulators.
  void (*columns)(const void* op, void* acc, const void* x, int64_t stride,
                  int64_t rows, int64_t count, int64_t index);
  // Merges `count` accumulators into as many others.
  void (*merge)(const void* op, void* acc, const void* other, int64_t count);
  // Results of `count` accumulators; `indices` is nullptr or wants positions.
  void (*finish)(const void* op, void* out, int64_t* indices, const void* acc,
                 int64_t count);
};

inline constexpr std::size_t kMaxReduceOpBytes = 32;
inline constexpr int32_t kMaxAccBytes = 32;

// Enqueues the reduction of `input` to `out`, and the positions to `indices`
// (int64 or int32); one of the two may be undefined. `out` has the sizes of
// `input` with 1 in the reduced dimensions, or lacks them: `dims` lists them,
// all if `ndims` is 0.
Status reduceErased(const Queue& queue, const char* name,
                    const Reducer& reducer, const void* op,
                    std::size_t op_bytes, const TensorView& out,
                    const TensorView& indices, const TensorView& input,
                    const int64_t* dims, int64_t ndims);

// The Reducer of an operator type:
//   using In, Acc, Out       element, accumulator and result types
//   Acc start() const
//   void row(Acc* acc, const In* x, int64_t count, int64_t index) const
//   void columns(Acc* acc, const In* x, int64_t stride, int64_t rows,
//                int64_t count, int64_t index) const   (stride in elements)
//   void merge(Acc* acc, const Acc& other) const
//   Out finish(const Acc& acc, int64_t* index) const   (index may be nullptr)
template <typename Op>
constexpr Reducer makeReducer() {
  using In = typename Op::In;
  using Acc = typename Op::Acc;
  using Out = typename Op::Out;
  static_assert(sizeof(Acc) <= kMaxAccBytes && alignof(Acc) <= 16);
  Reducer r{};
  r.input = kDTypeOf<In>;
  r.output = kDTypeOf<Out>;
  r.acc_bytes = static_cast<int32_t>(sizeof(Acc));
  r.start = [](const void* op, void* acc, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      static_cast<Acc*>(acc)[i] = static_cast<const Op*>(op)->start();
    }
  };
  r.row = [](const void* op, void* acc, const void* x, int64_t count,
             int64_t index) {
    static_cast<const Op*>(op)->row(static_cast<Acc*>(acc),
                                    static_cast<const In*>(x), count, index);
  };
  r.columns = [](const void* op, void* acc, const void* x, int64_t stride,
                 int64_t rows, int64_t count, int64_t index) {
    static_cast<const Op*>(op)->columns(
        static_cast<Acc*>(acc), static_cast<const In*>(x),
        stride / static_cast<int64_t>(sizeof(In)), rows, count, index);
  };
  r.merge = [](const void* op, void* acc, const void* other, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      static_cast<const Op*>(op)->merge(static_cast<Acc*>(acc) + i,
                                        static_cast<const Acc*>(other)[i]);
    }
  };
  r.finish = [](const void* op, void* out, int64_t* indices, const void* acc,
                int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      static_cast<Out*>(out)[i] = static_cast<const Op*>(op)->finish(
          static_cast<const Acc*>(acc)[i],
          indices == nullptr ? nullptr : indices + i);
    }
  };
  return r;
}

template <typename Op>
Status reduce(const Queue& queue, const char* name, const Op& op,
              const TensorView& out, const TensorView& indices,
              const TensorView& input, const int64_t* dims, int64_t ndims) {
  static_assert(std::is_trivially_copyable_v<Op> &&
                sizeof(Op) <= kMaxReduceOpBytes);
  static constexpr Reducer kReducer = makeReducer<Op>();
  return reduceErased(queue, name, kReducer, &op, sizeof(Op), out, indices,
                      input, dims, ndims);
}

}  // namespace dipu::kernels
