// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators over any number of tensors of any shapes and strides.
//
// Note [Dense loops]
// An operator is compiled once per computing type, as one loop over dense
// operands of that type, which the compiler vectorises. Everything else is the
// driver's work and compiled once for all operators: broadcasting, joining and
// ordering dimensions, threads, and operands that are not dense or are stored
// in another type. The driver stages those in blocks of 256 elements that stay
// in the first-level cache, so any mixture of dtypes and strides works.
//
//   struct AddOp {
//     float alpha;
//     float operator()(float a, float b) const { return a + alpha * b; }
//   };
//   constexpr Kernel kAdd = makeKernel<AddOp, float, float, float>();
//   Status s = elementwise(queue, kAdd, AddOp{1.0f}, {&out, &a, &b});
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "kernels/compute/dtype.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"
#include "kernels/compute/wide.h"

namespace dipu::kernels {

inline constexpr int kMaxOperands = 6;
// Dimensions left after joining; more are kUnsupported.
inline constexpr int kMaxDims = 12;
inline constexpr std::size_t kMaxOpBytes = 32;

// A loop over `count` dense elements. `op` points at the operator's state;
// p[i] is operand i, outputs first. An output may be the same memory as an
// input; otherwise operands do not overlap.
using DenseLoop = void (*)(const void* op, void* const* p, int64_t count);

// How to run one operator. `types` are the element types the loop works on.
struct Kernel {
  DenseLoop loop = nullptr;  // nullptr converts operand 1 to operand 0
  DenseLoop wide = nullptr;  // if not nullptr: the same with wide vectors
  int32_t operands = 0;
  int32_t outputs = 1;
  int32_t cost = 1;     // per element, relative to an addition
  bool update = false;  // the loop also reads its outputs
  DType types[kMaxOperands] = {};
};

template <typename Op, typename R, typename... A>
struct DenseLoopOf;

template <typename Op, typename R>
struct DenseLoopOf<Op, R> {
  static void run(const void* state, void* const* p, int64_t count) {
    const Op op = *static_cast<const Op*>(state);
    R* out = static_cast<R*>(p[0]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = op();
  }
};

template <typename Op, typename R, typename A>
struct DenseLoopOf<Op, R, A> {
  static void run(const void* state, void* const* p, int64_t count) {
    runInline(state, p, count);
  }
  DIPU_WIDE static void runWide(const void* state, void* const* p,
                                int64_t count) {
    runInline(state, p, count);
  }

 private:
  [[gnu::always_inline]] static void runInline(const void* state,
                                               void* const* p, int64_t count) {
    const Op op = *static_cast<const Op*>(state);
    R* out = static_cast<R*>(p[0]);
    const A* a = static_cast<const A*>(p[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i]);
  }
};

template <typename Op, typename R, typename A, typename B>
struct DenseLoopOf<Op, R, A, B> {
  static void run(const void* state, void* const* p, int64_t count) {
    const Op op = *static_cast<const Op*>(state);
    R* out = static_cast<R*>(p[0]);
    const A* a = static_cast<const A*>(p[1]);
    const B* b = static_cast<const B*>(p[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
  }
};

template <typename Op, typename R, typename A, typename B, typename C>
struct DenseLoopOf<Op, R, A, B, C> {
  static void run(const void* state, void* const* p, int64_t count) {
    const Op op = *static_cast<const Op*>(state);
    R* out = static_cast<R*>(p[0]);
    const A* a = static_cast<const A*>(p[1]);
    const B* b = static_cast<const B*>(p[2]);
    const C* c = static_cast<const C*>(p[3]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i], c[i]);
  }
};

// The kernel that computes out = op(inputs...), R being the type of `out`.
template <typename Op, typename R, typename... A>
constexpr Kernel makeKernel(int32_t cost = 1) {
  Kernel kernel;
  kernel.loop = &DenseLoopOf<Op, R, A...>::run;
  kernel.operands = 1 + static_cast<int32_t>(sizeof...(A));
  kernel.cost = cost;
  const DType types[] = {kDTypeOf<R>, kDTypeOf<A>...};
  for (int32_t i = 0; i < kernel.operands; ++i) kernel.types[i] = types[i];
  return kernel;
}

// Enqueues `kernel` over the domain of operand 0. The other outputs have the
// same sizes, inputs broadcast to them. Operands may have any dtype: they are
// converted to and from the kernel's. Does not allocate device memory.
Status elementwiseErased(const Queue& queue, const Kernel& kernel,
                         const void* op, std::size_t op_bytes,
                         const TensorView* const* operands);

template <typename Op>
Status elementwise(const Queue& queue, const Kernel& kernel, const Op& op,
                   std::initializer_list<const TensorView*> operands) {
  static_assert(std::is_trivially_copyable_v<Op> && sizeof(Op) <= kMaxOpBytes,
                "an operator's state is a few plain values");
  return elementwiseErased(queue, kernel, &op, sizeof(Op), operands.begin());
}

// Converts `from` to the dtype and layout of `to`, broadcasting.
Status convertTensor(const Queue& queue, const TensorView& to,
                     const TensorView& from);

// The type in which arithmetic on elements of `dtype` is done: float32 for the
// 16-bit floats, int32 for bool and the small integers.
DType computeDType(DType dtype);

// The computing type that holds both: float64 over float32 over int64 over
// int32.
DType promoteCompute(DType a, DType b);

// Bytes from the first to past the last element of a view.
std::size_t spanBytes(const TensorView& view);

// Whether elements lie in row-major order without gaps.
bool isContiguous(const TensorView& view);

}  // namespace dipu::kernels
