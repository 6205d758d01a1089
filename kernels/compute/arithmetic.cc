// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

// Enqueues out = f(a, b), `make(tag)` giving f for the computing type.
template <typename Make>
Status arithmetic(const Queue& queue, const char* name, const TensorView& out,
                  const TensorView& a, const TensorView& b, const Make& make) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(queue, make(tag), 1, out, a, b);
  });
  return known ? status : unsupportedDType(name, a.dtype);
}

// Enqueues out = f(a). The number is part of f, and decides the computing
// type like a tensor of the output's dtype.
template <typename Make>
Status withNumber(const Queue& queue, const char* name, const TensorView& out,
                  const TensorView& a, const Make& make) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyUnary<T>(queue, make(tag), 1, out, a);
  });
  return known ? status : unsupportedDType(name, a.dtype);
}

// -number; whole numbers wrap.
Scalar negated(const Scalar& number) {
  return {number.is_integer, static_cast<int64_t>(-number.i), -number.d};
}

// The factor of a tensor, which PyTorch stores like an element.
template <typename T>
T factor(const Scalar& alpha, const TensorView& out) {
  return storedNumber(alpha, out.dtype).to<T>();
}

// What alpha times a number adds to each element.
template <typename T>
T term(const Scalar& alpha, const Scalar& number, const TensorView& out) {
  return static_cast<T>(factor<T>(alpha, out) *
                        storedNumber(number, out.dtype).to<T>());
}

bool isOne(const Scalar& value) {
  return value.is_integer ? value.i == 1 : value.d == 1.0;
}

}  // namespace

Status add(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, const Scalar& alpha) {
  if (isOne(alpha)) {
    return arithmetic(queue, "add", out, a, b, [](auto tag) {
      using T = typename decltype(tag)::type;
      return [](T x, T y) { return static_cast<T>(x + y); };
    });
  }
  const Status status = checkNumber("add", alpha, out.dtype);
  if (status != Status::kOk) return status;
  return arithmetic(queue, "add", out, a, b, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return [scale = factor<T>(alpha, out)](T x, T y) {
      return static_cast<T>(x + scale * y);
    };
  });
}

Status sub(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, const Scalar& alpha) {
  const Scalar negative = negated(alpha);
  const Status status = checkNumber("sub", negative, out.dtype);
  if (status != Status::kOk) return status;
  return arithmetic(queue, "sub", out, a, b, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Not x - alpha y, which differs in the sign of zero.
    return [scale = factor<T>(negative, out)](T x, T y) {
      return static_cast<T>(x + scale * y);
    };
  });
}

Status mul(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b) {
  return arithmetic(queue, "mul", out, a, b, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x, T y) { return static_cast<T>(x * y); };
  });
}

Status maximum(const Queue& queue, const TensorView& out, const TensorView& a,
               const TensorView& b) {
  return arithmetic(queue, "maximum", out, a, b, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x, T y) { return x > y || x != x ? x : y; };
  });
}

Status minimum(const Queue& queue, const TensorView& out, const TensorView& a,
               const TensorView& b) {
  return arithmetic(queue, "minimum", out, a, b, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x, T y) { return x < y || x != x ? x : y; };
  });
}

Status addScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, const Scalar& alpha) {
  const Status status = checkNumber("add", alpha, out.dtype);
  if (status != Status::kOk) return status;
  return withNumber(queue, "add", out, a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return [y = term<T>(alpha, b, out)](T x) { return static_cast<T>(x + y); };
  });
}

Status subScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, const Scalar& alpha) {
  const Scalar negative = negated(alpha);
  const Status status = checkNumber("sub", negative, out.dtype);
  if (status != Status::kOk) return status;
  return withNumber(queue, "sub", out, a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return
        [y = term<T>(negative, b, out)](T x) { return static_cast<T>(x + y); };
  });
}

Status mulScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b) {
  return withNumber(queue, "mul", out, a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return [y = b.to<T>()](T x) { return static_cast<T>(x * y); };
  });
}

}  // namespace dipu::kernels
