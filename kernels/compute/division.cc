// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct TrueDivide {
  T operator()(T a, T b) const { return a / b; }
};

// A divisor of 0 gives 0; the loop around it reports the error. Division by -1
// is negation, which wraps where the quotient does not fit.
template <typename T>
struct TruncDivide {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(a / b);
    } else {
      return b == 0 ? T(0) : b == T(-1) ? static_cast<T>(-a) : a / b;
    }
  }
};

// PyTorch stores the quotient of 16-bit floats before it cuts it.
template <typename Storage>
struct StoredTruncDivide {
  float operator()(float a, float b) const {
    return std::trunc(static_cast<float>(Storage(a / b)));
  }
};

// The compiler does not vectorise F16C by itself.
void divideHalves(const void* /*op*/, void* const* p, int64_t count) {
  float* out = static_cast<float*>(p[0]);
  const float* a = static_cast<const float*>(p[1]);
  const float* b = static_cast<const float*>(p[2]);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 quotient =
        _mm256_div_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
    const __m256 stored = _mm256_cvtph_ps(_mm256_cvtps_ph(quotient, 0));
    _mm256_storeu_ps(out + i, _mm256_round_ps(stored, _MM_FROUND_TO_ZERO |
                                                          _MM_FROUND_NO_EXC));
  }
  for (; i < count; ++i) out[i] = StoredTruncDivide<Float16>()(a[i], b[i]);
}

// The remainder with the sign of the dividend.
template <typename T>
struct TruncRemainder {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      return b == 0 || b == T(-1) ? T(0) : a % b;
    }
  }
};

// The remainder with the sign of the divisor.
template <typename T>
struct Remainder {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
    } else {
      if (b == 0 || b == T(-1)) return T(0);
      const T rest = a % b;
      return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
    }
  }
};

// The largest whole number not above the exact quotient. The floating form
// starts from fmod, for rounding a / b may already reach the next one.
template <typename T>
struct FloorDivide {
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b == 0) return a / b;
      const T rest = std::fmod(a, b);
      T quotient = (a - rest) / b;
      if (rest != 0 && (b < 0) != (rest < 0)) quotient -= T(1);
      if (quotient == 0) return std::copysign(T(0), a / b);
      const T whole = std::floor(quotient);
      return quotient - whole > T(0.5) ? whole + T(1) : whole;
    } else {
      if (b == 0) return T(0);
      if (b == T(-1)) return static_cast<T>(-a);
      const T quotient = a / b;
      const T rest = a % b;
      return rest != 0 && (b < 0) != (rest < 0) ? quotient - 1 : quotient;
    }
  }
};

void reportZeroDivisor() {
  failTask(SOFT_LAUNCH_FAILURE, "integer division by zero");
}

// out = Op(a, b) on integers, see Note [Integer division by zero].
template <typename Op, typename T>
struct CheckedLoop {
  static void run(const void* op, void* const* p, int64_t count) {
    const T* b = static_cast<const T*>(p[2]);
    bool zero = false;
    for (int64_t i = 0; i < count; ++i) zero |= b[i] == 0;
    if (zero) reportZeroDivisor();
    DenseLoopOf<Op, T, T, T>::run(op, p, count);
  }
};

template <typename Op, typename T>
Status divide(const Queue& queue, const TensorView& out, const TensorView& a,
              const TensorView& b) {
  constexpr int32_t kCost = 8;
  Kernel kernel = makeKernel<Op, T, T, T>(kCost);
  if constexpr (std::is_integral_v<T>) kernel.loop = &CheckedLoop<Op, T>::run;
  return elementwise(queue, kernel, Op(), {&out, &a, &b});
}

// A number enters as a one-element operand on the side given by `Swap`.
template <typename Op, typename T, bool swap>
struct WithNumber {
  T number;
  T operator()(T x) const { return swap ? Op()(number, x) : Op()(x, number); }
};

template <typename Op, typename T>
Status divideByNumber(const Queue& queue, const TensorView& out,
                      const TensorView& a, const Scalar& number) {
  const T divisor = number.to<T>();
  if (std::is_integral_v<T> && divisor == 0) {
    return fail(Status::kInvalid, "integer division by zero");
  }
  return applyUnary<T>(queue, WithNumber<Op, T, false>{divisor}, 8, out, a);
}

template <template <typename> class Op>
Status divideAny(const Queue& queue, const char* name, const TensorView& out,
                 const TensorView& a, const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = divide<Op<T>, T>(queue, out, a, b);
  });
  return known ? status : unsupportedDType(name, a.dtype);
}

template <template <typename> class Op>
Status divideAnyByNumber(const Queue& queue, const char* name,
                         const TensorView& out, const TensorView& a,
                         const Scalar& number) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = divideByNumber<Op<T>, T>(queue, out, a, number);
  });
  return known ? status : unsupportedDType(name, a.dtype);
}

}  // namespace

Status div(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, RoundMode mode) {
  if (mode == RoundMode::kTrunc) {
    Status status = Status::kOk;
    const bool stored =
        dispatchAmong<Float16, BFloat16>(out.dtype, [&](auto tag) {
          using Op = StoredTruncDivide<typename decltype(tag)::type>;
          Kernel kernel = makeKernel<Op, float, float, float>(8);
          if (out.dtype == DType::kFloat16) kernel.loop = &divideHalves;
          status = elementwise(queue, kernel, Op(), {&out, &a, &b});
        });
    return stored ? status : divideAny<TruncDivide>(queue, "div", out, a, b);
  }
  if (mode == RoundMode::kFloor) {
    return divideAny<FloorDivide>(queue, "div", out, a, b);
  }
  Status status = Status::kOk;
  const bool known = dispatchReal(computeTypeOf(out, a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(queue, TrueDivide<T>(), 1, out, a, b);
  });
  return known ? status : unsupportedDType("div", out.dtype);
}

Status divScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, RoundMode mode) {
  // Whole numbers wrap, but a divisor of 16-bit floats is not rounded.
  const Scalar divisor = isFloating(out.dtype) ? b : storedNumber(b, out.dtype);
  if (mode == RoundMode::kTrunc) {
    return divideAnyByNumber<TruncDivide>(queue, "div", out, a, divisor);
  }
  if (mode == RoundMode::kFloor) {
    return divideAnyByNumber<FloorDivide>(queue, "div", out, a, divisor);
  }
  Status status = Status::kOk;
  const bool known = dispatchReal(computeTypeOf(out, a), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [y = b.to<T>()](T x) { return x / y; };
    status = applyUnary<T>(queue, f, 1, out, a);
  });
  return known ? status : unsupportedDType("div", out.dtype);
}

Status remainder(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b) {
  return divideAny<Remainder>(queue, "remainder", out, a, b);
}

Status remainderScalar(const Queue& queue, const TensorView& out,
                       const TensorView& a, const Scalar& b) {
  return divideAnyByNumber<Remainder>(queue, "remainder", out, a,
                                      storedNumber(b, out.dtype));
}

Status fmod(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b) {
  return divideAny<TruncRemainder>(queue, "fmod", out, a, b);
}

Status fmodScalar(const Queue& queue, const TensorView& out,
                  const TensorView& a, const Scalar& b) {
  return divideAnyByNumber<TruncRemainder>(queue, "fmod", out, a,
                                           storedNumber(b, out.dtype));
}

Status scalarRemainder(const Queue& queue, const TensorView& out,
                       const Scalar& a, const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Op = WithNumber<Remainder<T>, T, true>;
    Kernel kernel = makeKernel<Op, T, T>(8);
    const T dividend = storedNumber(a, out.dtype).to<T>();
    status = elementwise(queue, kernel, Op{dividend}, {&out, &b});
  });
  return known ? status : unsupportedDType("remainder", b.dtype);
}

}  // namespace dipu::kernels
