// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

template <typename Predicate, typename T>
struct WithNumber {
  T number;
  bool operator()(T x) const { return Predicate()(x, number); }
};

template <typename Predicate>
Status tensors(const Queue& queue, const TensorView& out, const TensorView& a,
               const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<bool, T>(queue, Predicate(), 1, out, a, b);
  });
  return known ? status : unsupportedDType("comparison", a.dtype);
}

template <typename Predicate>
Status number(const Queue& queue, const TensorView& out, const TensorView& a,
              const Scalar& other) {
  // A whole number beside bool makes both int64.
  const Scalar b =
      a.dtype == DType::kBool ? other : storedNumber(other, a.dtype);
  // An integer tensor is compared with a fraction in float64, and with a
  // whole number in int64, where every value of both is exact.
  DType compute = computeDType(a.dtype);
  if (!isFloating(compute)) {
    compute = b.is_integer ? DType::kInt64 : DType::kFloat64;
  }
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<float, double, int64_t>(compute, [&](auto tag) {
        using T = typename decltype(tag)::type;
        using Op = WithNumber<Predicate, T>;
        constexpr Kernel kKernel = makeKernel<Op, bool, T>();
        status = elementwise(queue, kKernel, Op{b.to<T>()}, {&out, &a});
      });
  return known ? status : unsupportedDType("comparison", a.dtype);
}

// Calls body with the predicate of `op`.
template <typename Body>
Status withPredicate(CompareOp op, const Body& body) {
  switch (op) {
    case CompareOp::kEq:
      return body(std::equal_to<>());
    case CompareOp::kNe:
      return body(std::not_equal_to<>());
    case CompareOp::kLt:
      return body(std::less<>());
    case CompareOp::kLe:
      return body(std::less_equal<>());
    case CompareOp::kGt:
      return body(std::greater<>());
    case CompareOp::kGe:
      return body(std::greater_equal<>());
  }
  return fail(Status::kInvalid, "comparison %d does not exist",
              static_cast<int>(op));
}

}  // namespace

Status compare(const Queue& queue, CompareOp op, const TensorView& out,
               const TensorView& a, const TensorView& b) {
  return withPredicate(op, [&](auto predicate) {
    return tensors<decltype(predicate)>(queue, out, a, b);
  });
}

Status compareScalar(const Queue& queue, CompareOp op, const TensorView& out,
                     const TensorView& a, const Scalar& b) {
  return withPredicate(op, [&](auto predicate) {
    return number<decltype(predicate)>(queue, out, a, b);
  });
}

}  // namespace dipu::kernels
