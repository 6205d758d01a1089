// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/rectifier.h"

#include "kernels/compute/activation_apply.h"
#include "kernels/compute/math.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

using activation::applyMany;
using activation::backward;
using activation::forward;

// Costs of a few comparisons, of one exponential, and of a logarithm too.
constexpr int32_t kHard = 1;
constexpr int32_t kVector = 8;
constexpr int32_t kSmooth = 16;

// log(1 + z) for z >= 0: what rounding 1 + z lost is added again.
template <typename T>
T log1pOf(T z) {
  const T u = T(1) + z;
  return math::log(u) + (z - (u - T(1))) / u;
}

// log(1 + exp(x)), which never overflows.
template <typename T>
T softplusOf(T x) {
  const T above = x > T(0) ? x : T(0);
  const T magnitude = x > T(0) ? x : -x;
  return above + log1pOf(math::exp(-magnitude));
}

// exp(x) - 1 for x <= 0, by Kahan's method: the errors of exp and log cancel.
// They do not where exp(x) is too small to count.
template <typename T>
T expm1Of(T x) {
  const T u = math::exp(x);
  const T less = u - T(1);
  const T scaled = less * x / math::log(u);
  return u == T(1) ? x : (less == T(-1) ? T(-1) : scaled);
}

// The factors of EluOptions, in the computing type.
template <typename T>
struct EluFactors {
  T negative;
  T positive;
  T inner;

  explicit EluFactors(const EluOptions& o)
      : negative(static_cast<T>(o.alpha * o.scale)),
        positive(static_cast<T>(o.scale)),
        inner(static_cast<T>(o.input_scale)) {}
};

template <typename T>
struct EluOp {
  EluFactors<T> f;
  T operator()(T x) const {
    const T inner = x * f.inner;
    const T bent = f.negative * expm1Of(inner < T(0) ? inner : T(0));
    // A negative input scale turns the exponent round.
    const T grown = f.negative * (math::exp(inner) - T(1));
    return x < T(0) ? (inner <= T(0) ? bent : grown) : f.positive * x;
  }
};

template <typename T, bool IsResult>
struct EluBackwardOp {
  EluFactors<T> f;
  T operator()(T grad, T saved) const {
    const T power =
        IsResult ? saved + f.negative : f.negative * math::exp(saved * f.inner);
    return saved <= T(0) ? grad * f.inner * power : grad * f.positive;
  }
};

// A bound that PyTorch stores like an element before it compares.
template <typename T>
T storedBound(double bound, const TensorView& input) {
  return storedNumber(Scalar{false, 0, bound}, input.dtype).to<T>();
}

template <typename T>
T mishSlope(T x) {
  const T t = math::tanh(softplusOf(x));
  return t + x * math::sigmoid(x) * (T(1) - t * t);
}

}  // namespace

Status elu(const Queue& queue, const TensorView& out, const TensorView& input,
           const EluOptions& options) {
  return forward(queue, "elu", kSmooth, out, input, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return EluOp<T>{EluFactors<T>(options)};
  });
}

Status eluBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output, const TensorView& saved,
                   const EluOptions& options, bool is_result) {
  if (is_result && options.alpha < 0) {
    return fail(Status::kInvalid,
                "elu_backward: the result does not tell the input with the "
                "negative slope %g; call the function that is not in place",
                options.alpha);
  }
  if (is_result) {
    return backward(queue, "elu_backward", kHard, grad_input, grad_output,
                    saved, [&](auto tag) {
                      using T = typename decltype(tag)::type;
                      return EluBackwardOp<T, true>{EluFactors<T>(options)};
                    });
  }
  return backward(queue, "elu_backward", kVector, grad_input, grad_output,
                  saved, [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    return EluBackwardOp<T, false>{EluFactors<T>(options)};
                  });
}

Status hardshrink(const Queue& queue, const TensorView& out,
                  const TensorView& input, double bound) {
  return forward(queue, "hardshrink", kHard, out, input, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return [b = storedBound<T>(bound, input)](T x) {
      return x >= -b && x <= b ? T(0) : x;
    };
  });
}

Status softshrink(const Queue& queue, const TensorView& out,
                  const TensorView& input, double bound) {
  if (!(bound >= 0)) {
    return fail(Status::kInvalid,
                "softshrink: lambda must be greater or equal to 0, but is %g",
                bound);
  }
  return forward(queue, "softshrink", kHard, out, input, [bound](auto tag) {
    using T = typename decltype(tag)::type;
    return [b = static_cast<T>(bound)](T x) {
      const T moved = x > b ? x - b : x + b;
      return x >= -b && x <= b ? x * T(0) : moved;
    };
  });
}

Status shrinkBackward(const Queue& queue, const TensorView& grad_input,
                      const TensorView& grad_output, const TensorView& input,
                      double bound) {
  return backward(queue, "shrink_backward", kHard, grad_input, grad_output,
                  input, [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [b = storedBound<T>(bound, input)](T grad, T x) {
                      return x >= -b && x <= b ? T(0) : grad;
                    };
                  });
}

Status hardsigmoid(const Queue& queue, const TensorView& out,
                   const TensorView& input) {
  return forward(queue, "hardsigmoid", kHard, out, input, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x) {
      const T raised = x + T(3);
      const T above = raised < T(0) ? T(0) : raised;
      return (above > T(6) ? T(6) : above) / T(6);
    };
  });
}

Status hardsigmoidBackward(const Queue& queue, const TensorView& grad_input,
                           const TensorView& grad_output,
                           const TensorView& input) {
  return backward(queue, "hardsigmoid_backward", kHard, grad_input, grad_output,
                  input, [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T x) {
                      return x > T(-3) && x < T(3) ? grad / T(6) : T(0);
                    };
                  });
}

Status softplus(const Queue& queue, const TensorView& out,
                const TensorView& input, double beta, double threshold) {
  return forward(queue, "softplus", kSmooth, out, input, [=](auto tag) {
    using T = typename decltype(tag)::type;
    return [b = static_cast<T>(beta), t = static_cast<T>(threshold)](T x) {
      return x * b > t ? x : softplusOf(x * b) / b;
    };
  });
}

Status softplusBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output, const TensorView& input,
                        double beta, double threshold) {
  return backward(queue, "softplus_backward", kVector, grad_input, grad_output,
                  input, [=](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [b = static_cast<T>(beta),
                            t = static_cast<T>(threshold)](T grad, T x) {
                      return x * b > t ? grad : grad * math::sigmoid(x * b);
                    };
                  });
}

Status mish(const Queue& queue, const TensorView& out,
            const TensorView& input) {
  return forward(queue, "mish", 2 * kSmooth, out, input, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x) { return x * math::tanh(softplusOf(x)); };
  });
}

Status mishBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input) {
  return backward(queue, "mish_backward", 2 * kSmooth, grad_input, grad_output,
                  input, [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T x) { return grad * mishSlope(x); };
                  });
}

Status logSigmoid(const Queue& queue, const TensorView& out,
                  const TensorView& buffer, const TensorView& input) {
  Status status = Status::kOk;
  const bool known = dispatchReal(computeDType(input.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [](T x) {
      const T z = math::exp(x < T(0) ? x : -x);
      return Pair<T>{(x > T(0) ? T(0) : x) - log1pOf(z), z};
    };
    status = applyMany<T, 2, 1>(queue, f, kSmooth, {&out, &buffer, &input});
  });
  return known ? status : unsupportedDType("log_sigmoid", input.dtype);
}

Status logSigmoidBackward(const Queue& queue, const TensorView& grad_input,
                          const TensorView& grad_output,
                          const TensorView& input) {
  return backward(queue, "log_sigmoid_backward", kVector, grad_input,
                  grad_output, input, [](auto tag) {
                    using T = typename decltype(tag)::type;
                    return [](T grad, T x) { return grad * math::sigmoid(-x); };
                  });
}

Status prelu(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& weight) {
  return backward(queue, "prelu", kHard, out, input, weight, [](auto tag) {
    using T = typename decltype(tag)::type;
    return [](T x, T w) { return x > T(0) ? x : w * x; };
  });
}

Status preluBackward(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad_weight,
                     const TensorView& grad_output, const TensorView& input,
                     const TensorView& weight) {
  Status status = Status::kOk;
  const DType compute = computeTypeOf(grad_output, input, weight);
  const bool known = dispatchReal(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto f = [](T grad, T x, T w) {
      const bool above = x > T(0);
      return Pair<T>{above ? grad : w * grad, above ? T(0) : x * grad};
    };
    status = applyMany<T, 2, 3>(
        queue, f, kHard,
        {&grad_input, &grad_weight, &grad_output, &input, &weight});
  });
  return known ? status : unsupportedDType("prelu_backward", input.dtype);
}

}  // namespace dipu::kernels
