// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/number_parts.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/compute/compute_dispatch.h"

namespace dipu::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct SignBit {
  template <typename T>
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::signbit(x);
    } else {
      return x < 0;
    }
  }
};

template <typename T>
struct FrexpLoop {
  static void run(const void*, void* const* p, int64_t count) {
    T* mantissa = static_cast<T*>(p[0]);
    int32_t* exponent = static_cast<int32_t*>(p[1]);
    const T* input = static_cast<const T*>(p[2]);
    for (int64_t i = 0; i < count; ++i) {
      int power = 0;
      mantissa[i] = std::frexp(input[i], &power);
      exponent[i] = power;
    }
  }
};

template <typename T>
struct NextAfter {
  T operator()(T from, T to) const {
    if constexpr (kIs16BitFloat<T>) {
      return next16(from, to);
    } else {
      return std::nextafter(from, to);
    }
  }

 private:
  // Numbers of one sign are ordered like their bits.
  static T next16(T from, T to) {
    const auto a = static_cast<float>(from);
    const auto b = static_cast<float>(to);
    if (a != a || b != b) return T(a + b);
    if (a == b) return to;
    T next;
    if (a == 0.0f) {
      next.bits = b < 0.0f ? 0x8001 : 0x0001;
    } else {
      const bool away_from_zero = (b > a) == (a > 0.0f);
      next.bits = static_cast<uint16_t>(from.bits + (away_from_zero ? 1 : -1));
    }
    return next;
  }
};

// The largest finite number of `dtype`.
double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return static_cast<double>(bitCast<float>(0x7f7f0000U));
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

template <typename T>
struct Replace {
  T nan;
  T positive;
  T negative;
  T operator()(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (x != x) return nan;
    return x == kInfinity ? positive : x == -kInfinity ? negative : x;
  }
};

}  // namespace

Status angle(const Queue& queue, const TensorView& out,
             const TensorView& input) {
  Status status = Status::kOk;
  const bool known = isFloating(out.dtype) &&
                     dispatchReal(computeTypeOf(out, input), [&](auto tag) {
                       using T = typename decltype(tag)::type;
                       const auto f = [](T x) {
                         return x < T(0) ? T(kPi) : x != x ? x : T(0);
                       };
                       status = applyUnary<T>(queue, f, 1, out, input);
                     });
  return known ? status : unsupportedDType("angle", out.dtype);
}

Status signbit(const Queue& queue, const TensorView& out,
               const TensorView& input) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeDType(input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr Kernel kKernel = makeKernel<SignBit, bool, T>();
    status = elementwise(queue, kKernel, SignBit(), {&out, &input});
  });
  return known ? status : unsupportedDType("signbit", input.dtype);
}

Status copysign(const Queue& queue, const TensorView& out, const TensorView& a,
                const TensorView& b) {
  Status status = Status::kOk;
  const bool known =
      isFloating(out.dtype) &&
      dispatchReal(computeTypeOf(out, a, b), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [](T x, T y) { return std::copysign(x, y); };
        status = applyBinary<T, T>(queue, f, 1, out, a, b);
      });
  return known ? status : unsupportedDType("copysign", out.dtype);
}

Status copysignScalar(const Queue& queue, const TensorView& out,
                      const TensorView& a, const Scalar& b) {
  Status status = Status::kOk;
  const bool known = isFloating(out.dtype) &&
                     dispatchReal(computeTypeOf(out, a), [&](auto tag) {
                       using T = typename decltype(tag)::type;
                       const auto f = [sign = b.to<T>()](T x) {
                         return std::copysign(x, sign);
                       };
                       status = applyUnary<T>(queue, f, 1, out, a);
                     });
  return known ? status : unsupportedDType("copysign", out.dtype);
}

Status frexp(const Queue& queue, const TensorView& mantissa,
             const TensorView& exponent, const TensorView& input) {
  Status status = Status::kOk;
  const bool known = isFloating(input.dtype) &&
                     dispatchReal(computeDType(input.dtype), [&](auto tag) {
                       using T = typename decltype(tag)::type;
                       Kernel kernel;
                       kernel.loop = &FrexpLoop<T>::run;
                       kernel.operands = 3;
                       kernel.outputs = 2;
                       kernel.cost = 4;
                       kernel.types[0] = kDTypeOf<T>;
                       kernel.types[1] = DType::kInt32;
                       kernel.types[2] = kDTypeOf<T>;
                       status = elementwise(queue, kernel, SignBit(),
                                            {&mantissa, &exponent, &input});
                     });
  return known ? status : unsupportedDType("frexp", input.dtype);
}

Status nextafter(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchFloating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(queue, NextAfter<T>(), 4, out, a, b);
  });
  return known ? status : unsupportedDType("nextafter", out.dtype);
}

Status nanToNum(const Queue& queue, const TensorView& out,
                const TensorView& input, const double* nan,
                const double* positive, const double* negative) {
  if (!isFloating(input.dtype)) return convertTensor(queue, out, input);
  Status status = Status::kOk;
  const double limit = largest(out.dtype);
  const bool known = dispatchReal(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Replace<T> f{
        static_cast<T>(nan != nullptr ? *nan : 0.0),
        static_cast<T>(positive != nullptr ? *positive : limit),
        static_cast<T>(negative != nullptr ? *negative : -limit)};
    status = applyUnary<T>(queue, f, 1, out, input);
  });
  return known ? status : unsupportedDType("nan_to_num", input.dtype);
}

}  // namespace dipu::kernels
