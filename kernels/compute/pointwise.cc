// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pointwise.h"

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

template <typename Make>
Status ternary(const Queue& queue, const char* name, const TensorView& out,
               const TensorView& a, const TensorView& b, const TensorView& c,
               const Make& make) {
  const DType compute =
      promoteCompute(computeTypeOf(out, a, b), computeDType(c.dtype));
  Status status = Status::kOk;
  const bool known = dispatchCompute(compute, [&](auto tag) {
    status = applyTernary<typename decltype(tag)::type>(queue, make(tag), 1,
                                                        out, a, b, c);
  });
  return known ? status : unsupportedDType(name, out.dtype);
}

// Clamping to one bound keeps NaN of either operand.
struct AtLeast {
  template <typename T>
  T operator()(T x, T bound) const {
    return x < bound || bound != bound ? bound : x;
  }
};
struct AtMost {
  template <typename T>
  T operator()(T x, T bound) const {
    return x > bound || bound != bound ? bound : x;
  }
};

template <typename Bound>
Status clampOne(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& bound) {
  Status status = Status::kOk;
  const bool known =
      dispatchCompute(computeTypeOf(out, input, bound), [&](auto tag) {
        using T = typename decltype(tag)::type;
        status = applyBinary<T, T>(queue, Bound(), 1, out, input, bound);
      });
  return known ? status : unsupportedDType("clamp", input.dtype);
}

template <typename T>
struct Lerp {
  T operator()(T start, T end, T weight) const {
    return weight < T(0.5) && weight > T(-0.5)
               ? start + weight * (end - start)
               : end - (end - start) * (T(1) - weight);
  }
};

}  // namespace

Status addcmul(const Queue& queue, const TensorView& out,
               const TensorView& input, const TensorView& a,
               const TensorView& b, const Scalar& value) {
  const Status status =
      checkNumber("addcmul", value,
                  isFloating(out.dtype) ? computeDType(out.dtype) : out.dtype);
  if (status != Status::kOk) return status;
  return ternary(queue, "addcmul", out, input, a, b, [&value](auto tag) {
    using T = typename decltype(tag)::type;
    return [v = value.to<T>()](T x, T y, T z) {
      return static_cast<T>(x + v * y * z);
    };
  });
}

Status addcdiv(const Queue& queue, const TensorView& out,
               const TensorView& input, const TensorView& a,
               const TensorView& b, const Scalar& value) {
  if (!isFloating(out.dtype)) return unsupportedDType("addcdiv", out.dtype);
  return ternary(queue, "addcdiv", out, input, a, b, [&value](auto tag) {
    using T = typename decltype(tag)::type;
    return [v = value.to<T>()](T x, T y, T z) {
      return static_cast<T>(x + v * y / z);
    };
  });
}

Status lerp(const Queue& queue, const TensorView& out, const TensorView& input,
            const TensorView& end, const TensorView& weight) {
  if (!isFloating(out.dtype)) return unsupportedDType("lerp", out.dtype);
  return ternary(queue, "lerp", out, input, end, weight,
                 [](auto tag) { return Lerp<typename decltype(tag)::type>(); });
}

Status lerpScalar(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& end,
                  const Scalar& weight) {
  Status status = Status::kOk;
  const bool known =
      isFloating(out.dtype) &&
      dispatchReal(computeTypeOf(out, input, end), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [w = weight.to<T>()](T a, T b) {
          return Lerp<T>()(a, b, w);
        };
        status = applyBinary<T, T>(queue, f, 1, out, input, end);
      });
  return known ? status : unsupportedDType("lerp", out.dtype);
}

Status clamp(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& low, const TensorView& high) {
  if (!low.defined()) return clampOne<AtMost>(queue, out, input, high);
  if (!high.defined()) return clampOne<AtLeast>(queue, out, input, low);
  return ternary(queue, "clamp", out, input, low, high, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x, T min, T max) { return AtMost()(AtLeast()(x, min), max); };
  });
}

Status clampScalar(const Queue& queue, const TensorView& out,
                   const TensorView& input, const Scalar* low,
                   const Scalar* high) {
  for (const Scalar* bound : {low, high}) {
    if (bound == nullptr) continue;
    const Status fits = checkNumber("clamp", *bound, out.dtype);
    if (fits != Status::kOk) return fits;
  }
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto boundOf = [&out](const Scalar* bound) {
      return bound != nullptr ? storedNumber(*bound, out.dtype).to<T>() : T(0);
    };
    const T min = boundOf(low);
    const T max = boundOf(high);
    const auto apply = [&](auto f) {
      status = applyUnary<T>(queue, f, 1, out, input);
    };
    if (low == nullptr) {
      apply([max](T x) { return AtMost()(x, max); });
    } else if (high == nullptr) {
      apply([min](T x) { return AtLeast()(x, min); });
    } else {
      apply([min, max](T x) { return AtMost()(AtLeast()(x, min), max); });
    }
  });
  return known ? status : unsupportedDType("clamp", input.dtype);
}

}  // namespace dipu::kernels
