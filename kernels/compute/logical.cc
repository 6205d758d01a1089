// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"

namespace dipu::kernels {
namespace {

// Calls body with the function of `op` on bits.
template <typename Body>
Status withBits(LogicalOp op, const Body& body) {
  switch (op) {
    case LogicalOp::kAnd:
      return body(std::bit_and<>());
    case LogicalOp::kOr:
      return body(std::bit_or<>());
    case LogicalOp::kXor:
      return body(std::bit_xor<>());
  }
  return fail(Status::kInvalid, "logical operator %d does not exist",
              static_cast<int>(op));
}

}  // namespace

Status logical(const Queue& queue, LogicalOp op, const TensorView& out,
               const TensorView& a, const TensorView& b) {
  return withBits(op, [&](auto f) {
    return applyBinary<bool, bool>(queue, f, 1, out, a, b);
  });
}

Status bitwise(const Queue& queue, LogicalOp op, const TensorView& out,
               const TensorView& a, const TensorView& b) {
  if (a.dtype == DType::kBool && b.dtype == DType::kBool) {
    return logical(queue, op, out, a, b);
  }
  return withBits(op, [&](auto f) {
    Status status = Status::kOk;
    const bool known = dispatchAmong<int32_t, int64_t>(
        computeTypeOf(out, a, b), [&](auto tag) {
          using T = typename decltype(tag)::type;
          status = applyBinary<T, T>(queue, f, 1, out, a, b);
        });
    return known ? status : unsupportedDType("bitwise operator", a.dtype);
  });
}

Status bitwiseScalar(const Queue& queue, LogicalOp op, const TensorView& out,
                     const TensorView& a, const Scalar& b) {
  return withBits(op, [&](auto f) {
    Status status = Status::kOk;
    const bool known =
        dispatchAmong<int32_t, int64_t>(computeTypeOf(out, a), [&](auto tag) {
          using T = typename decltype(tag)::type;
          const auto g = [f, y = b.to<T>()](T x) {
            return static_cast<T>(f(x, y));
          };
          status = applyUnary<T>(queue, g, 1, out, a);
        });
    return known ? status : unsupportedDType("bitwise operator", a.dtype);
  });
}

}  // namespace dipu::kernels
