// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/number_parts.h"

namespace dipu::kernels {
namespace {

// Enqueues out = f(input) for floating types, `make(tag)` giving f.
template <typename Make>
Status floating(const Queue& queue, const char* name, int32_t cost,
                const TensorView& out, const TensorView& input,
                const Make& make) {
  if (!isFloating(input.dtype)) return unsupportedDType(name, input.dtype);
  Status status = Status::kOk;
  const bool known = dispatchReal(computeTypeOf(out, input), [&](auto tag) {
    status = applyUnary<typename decltype(tag)::type>(queue, make(tag), cost,
                                                      out, input);
  });
  return known ? status : unsupportedDType(name, input.dtype);
}

// Integers are whole. PyTorch has no rounding of bool.
bool isInteger(const TensorView& input) {
  return itemSize(input.dtype) != 0 && !isFloating(input.dtype) &&
         input.dtype != DType::kBool;
}

}  // namespace

Status round(const Queue& queue, const TensorView& out,
             const TensorView& input) {
  if (isInteger(input)) return convertTensor(queue, out, input);
  return floating(queue, "round", 1, out, input, [](auto) {
    return [](auto x) { return std::nearbyint(x); };
  });
}

Status roundDecimals(const Queue& queue, const TensorView& out,
                     const TensorView& input, int64_t decimals) {
  const double power = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  if (decimals >= 0) {
    return floating(queue, "round", 4, out, input, [power](auto tag) {
      using T = typename decltype(tag)::type;
      return [scale = static_cast<T>(power)](T x) {
        return std::nearbyint(x * scale) / scale;
      };
    });
  }
  return floating(queue, "round", 4, out, input, [power](auto tag) {
    using T = typename decltype(tag)::type;
    return [scale = static_cast<T>(power)](T x) {
      return std::nearbyint(x / scale) * scale;
    };
  });
}

Status trunc(const Queue& queue, const TensorView& out,
             const TensorView& input) {
  if (isInteger(input)) return convertTensor(queue, out, input);
  return floating(queue, "trunc", 1, out, input,
                  [](auto) { return [](auto x) { return std::trunc(x); }; });
}

Status frac(const Queue& queue, const TensorView& out,
            const TensorView& input) {
  return floating(queue, "frac", 2, out, input, [](auto) {
    return [](auto x) { return x - std::trunc(x); };
  });
}

}  // namespace dipu::kernels
