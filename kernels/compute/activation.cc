// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/activation.h"

#include "kernels/compute/activation_apply.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/math.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

using activation::backward;
using activation::forward;

constexpr int32_t kVector = 8;

constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
constexpr double kCubic = 0.044715;

template <typename T>
struct GeluErf {
  T operator()(T x) const { return x * math::normalCdf(x); }
  T operator()(T grad, T x) const {
    const T pdf = T(kInverseSqrtTwoPi) * math::exp(T(-0.5) * x * x);
    return grad * (math::normalCdf(x) + x * pdf);
  }
};

template <typename T>
struct GeluTanh {
  static T inner(T x) {
    return T(kSqrtTwoOverPi) * (x + T(kCubic) * x * x * x);
  }
  T operator()(T x) const { return T(0.5) * x * (T(1) + math::tanh(inner(x))); }
  T operator()(T grad, T x) const {
    const T t = math::tanh(inner(x));
    const T slope = T(kSqrtTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
    return grad * T(0.5) * ((T(1) + t) + x * (T(1) - t * t) * slope);
  }
};

}  // namespace

Status gelu(const Queue& queue, const TensorView& out, const TensorView& input,
            bool tanh) {
  if (tanh) {
    return forward(queue, "gelu", kVector, out, input, [](auto tag) {
      return GeluTanh<typename decltype(tag)::type>();
    });
  }
  return forward(queue, "gelu", kVector, out, input, [](auto tag) {
    return GeluErf<typename decltype(tag)::type>();
  });
}

Status geluBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input,
                    bool tanh) {
  if (tanh) {
    return backward(
        queue, "gelu_backward", kVector, grad_input, grad_output, input,
        [](auto tag) { return GeluTanh<typename decltype(tag)::type>(); });
  }
  return backward(
      queue, "gelu_backward", 2 * kVector, grad_input, grad_output, input,
      [](auto tag) { return GeluErf<typename decltype(tag)::type>(); });
}

Status silu(const Queue& queue, const TensorView& out,
            const TensorView& input) {
  return forward(queue, "silu", kVector, out, input, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x) { return x / (T(1) + math::exp(-x)); };
  });
}

Status siluBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input) {
  return backward(queue, "silu_backward", kVector, grad_input, grad_output,
                  input, [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T x) {
                      const T s = math::sigmoid(x);
                      return grad * s * (T(1) + x * (T(1) - s));
                    };
                  });
}

Status tanhBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& output) {
  return backward(queue, "tanh_backward", 1, grad_input, grad_output, output,
                  [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T y) { return grad * (T(1) - y * y); };
                  });
}

Status sigmoidBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const TensorView& output) {
  return backward(queue, "sigmoid_backward", 1, grad_input, grad_output, output,
                  [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T y) { return grad * (T(1) - y) * y; };
                  });
}

Status leakyRelu(const Queue& queue, const TensorView& out,
                 const TensorView& input, const Scalar& slope) {
  return forward(queue, "leaky_relu", 1, out, input, [&slope](auto tag) {
    using T = typename decltype(tag)::type;
    return [s = slope.to<T>()](T x) { return x > T(0) ? x : x * s; };
  });
}

Status leakyReluBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         const Scalar& slope) {
  return backward(queue, "leaky_relu_backward", 1, grad_input, grad_output,
                  input, [&slope](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [s = slope.to<T>()](T grad, T x) {
                      return x > T(0) ? grad : grad * s;
                    };
                  });
}

Status hardtanhBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output, const TensorView& input,
                        const Scalar& low, const Scalar& high) {
  return backward(queue, "hardtanh_backward", 1, grad_input, grad_output, input,
                  [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [min = low.to<T>(), max = high.to<T>()](T g, T x) {
                      return x <= min || x >= max ? T(0) : g;
                    };
                  });
}

Status hardswish(const Queue& queue, const TensorView& out,
                 const TensorView& input) {
  return forward(queue, "hardswish", 1, out, input, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x) {
      const T raised = x + T(3);
      const T above = raised < T(0) ? T(0) : raised;
      return x * (above > T(6) ? T(6) : above) / T(6);
    };
  });
}

Status hardswishBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const TensorView& input) {
  return backward(queue, "hardswish_backward", 1, grad_input, grad_output,
                  input, [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T x) {
                      const T slope = x / T(3) + T(0.5);
                      const T inside = x < T(3) ? slope : T(1);
                      return x <= T(-3) ? T(0) : grad * inside;
                    };
                  });
}

Status threshold(const Queue& queue, const TensorView& out,
                 const TensorView& input, const Scalar& threshold,
                 const Scalar& value) {
  const bool real = isFloating(out.dtype);
  const DType dtype = real ? computeDType(out.dtype) : out.dtype;
  Status status = checkNumber("threshold", threshold, dtype);
  if (status == Status::kOk) status = checkNumber("threshold", value, dtype);
  if (status != Status::kOk) return status;
  const Scalar bound = storedNumber(threshold, dtype);
  const bool known = dispatchCompute(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [t = bound.to<T>(), v = value.to<T>()](T x) {
      return x <= t ? v : x;
    };
    status = applyUnary<T>(queue, f, 1, out, input);
  });
  return known ? status : unsupportedDType("threshold", input.dtype);
}

Status thresholdBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         const Scalar& threshold) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(
      computeTypeOf(grad_input, grad_output, input), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [t = threshold.to<T>()](T grad, T x) {
          return x <= t ? T(0) : grad;
        };
        status = applyBinary<T, T>(queue, f, 1, grad_input, grad_output, input);
      });
  return known ? status : unsupportedDType("threshold_backward", input.dtype);
}

}  // namespace dipu::kernels
