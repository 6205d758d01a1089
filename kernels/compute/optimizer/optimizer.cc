// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/optimizer/optimizer.h"

#include <cmath>

#include "kernels/compute/optimizer/step_number.h"
#include "kernels/compute/optimizer/tensor_list.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kAdamCost = 8;
constexpr int64_t kSgdCost = 4;

// Operands of an Adam entry. The step is a scalar beside them.
enum AdamOperand { kParameter, kGradient, kAverage, kSquare, kMaximum, kStep };
constexpr int kAdamOperands = 6;

// The factors of one parameter's step.
template <typename C>
struct AdamFactors {
  C keep;  // of the parameter, for decoupled decay
  C decay;
  C sign;
  C beta1;
  C beta2;
  C size;  // of the step
  C root;  // of the correction of the squares
  C eps;

  AdamFactors(const AdamOptions& o, double step) {
    keep = static_cast<C>(o.decoupled ? 1.0 - o.lr * o.weight_decay : 1.0);
    decay = static_cast<C>(o.decoupled ? 0.0 : o.weight_decay);
    sign = o.maximize ? C(-1) : C(1);
    beta1 = static_cast<C>(1.0 - o.beta1);
    beta2 = static_cast<C>(o.beta2);
    size = static_cast<C>(o.lr / (1.0 - std::pow(o.beta1, step)));
    root = static_cast<C>(std::sqrt(1.0 - std::pow(o.beta2, step)));
    eps = static_cast<C>(o.eps);
  }
};

template <typename T, bool Amsgrad>
void adamPart(const AdamFactors<ComputeType<T>>& f, void* const* data,
              int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  T* __restrict parameter = static_cast<T*>(data[kParameter]);
  const T* __restrict gradient = static_cast<const T*>(data[kGradient]);
  T* __restrict average = static_cast<T*>(data[kAverage]);
  T* __restrict square = static_cast<T*>(data[kSquare]);
  T* __restrict maximum = static_cast<T*>(data[kMaximum]);
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(parameter[i]);
    const C g = f.sign * static_cast<C>(gradient[i]) + f.decay * p;
    const C m = static_cast<C>(average[i]);
    const C moved = m + (g - m) * f.beta1;
    const C v = static_cast<C>(square[i]) * f.beta2 + (C(1) - f.beta2) * g * g;
    average[i] = static_cast<T>(moved);
    square[i] = static_cast<T>(v);
    C spread = v;
    if (Amsgrad) {
      const C largest = static_cast<C>(maximum[i]);
      spread = largest > v ? largest : v;
      maximum[i] = static_cast<T>(spread);
    }
    const C divisor = std::sqrt(spread) / f.root + f.eps;
    parameter[i] = static_cast<T>(p * f.keep - f.size * moved / divisor);
  }
}

struct AdamTask {
  AdamOptions options;
  double fixed_step;
  DType dtype;
  DType step_dtype;

  void operator()(const ListView<kAdamOperands>& list) const {
    dispatchFloating(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      list.forEachPart(
          kAdamCost, [this](const auto& entry, int64_t begin, int64_t end) {
            const double step = fixed_step > 0
                                    ? fixed_step
                                    : readStep(entry.data[kStep], step_dtype);
            const AdamFactors<ComputeType<T>> factors(options, step);
            if (options.amsgrad) {
              adamPart<T, true>(factors, entry.data, begin, end);
            } else {
              adamPart<T, false>(factors, entry.data, begin, end);
            }
          });
    });
  }
};

template <typename T>
void sgdPart(const SgdOptions& o, void* const* data, int64_t begin,
             int64_t end) {
  using C = ComputeType<T>;
  T* __restrict parameter = static_cast<T*>(data[0]);
  const T* __restrict gradient = static_cast<const T*>(data[1]);
  T* __restrict buffer = static_cast<T*>(data[2]);
  const C lr = static_cast<C>(o.lr);
  const C momentum = static_cast<C>(o.momentum);
  const C fresh = static_cast<C>(1.0 - o.dampening);
  const C decay = static_cast<C>(o.weight_decay);
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(parameter[i]);
    C g = static_cast<C>(gradient[i]) + decay * p;
    if (buffer != nullptr) {
      const C b = static_cast<C>(buffer[i]) * momentum + g * fresh;
      buffer[i] = static_cast<T>(b);
      g = o.nesterov ? g + momentum * b : b;
    }
    parameter[i] = static_cast<T>(p - lr * g);
  }
}

struct SgdTask {
  SgdOptions options;
  int64_t dtype;

  void operator()(const ListView<3>& list) const {
    dispatchFloating(static_cast<DType>(dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      list.forEachPart(kSgdCost,
                       [this](const auto& entry, int64_t begin, int64_t end) {
                         sgdPart<T>(options, entry.data, begin, end);
                       });
    });
  }
};

}  // namespace

Status adam(const Queue& queue, const AdamParameter* parameters,
            std::size_t count, const AdamOptions& options, int64_t fixed_step) {
  if (count == 0) return Status::kOk;
  const DType dtype = parameters[0].parameter.dtype;
  if (!isFloating(dtype)) return unsupportedDType("adam", dtype);
  const DType step_dtype =
      fixed_step > 0 ? DType::kFloat64 : parameters[0].step.dtype;
  TensorList<kAdamOperands> list;
  const TensorView absent;
  for (std::size_t i = 0; i < count; ++i) {
    const AdamParameter& p = parameters[i];
    const void* step = nullptr;
    if (fixed_step <= 0) {
      step = translateView(queue, p.step);
      if (step == nullptr) return Status::kFailed;
    }
    const TensorView& maximum = options.amsgrad ? p.max_exp_avg_sq : absent;
    if (p.parameter.dtype != dtype ||
        (fixed_step <= 0 && p.step.dtype != step_dtype) ||
        !list.add(queue,
                  {&p.parameter, &p.gradient, &p.exp_avg, &p.exp_avg_sq,
                   &maximum, &absent},
                  const_cast<void*>(step))) {
      return fail(Status::kUnsupported,
                  "adam: tensors of parameter %zu differ in dtype, shape or "
                  "layout",
                  i);
    }
  }
  const AdamTask task{options, static_cast<double>(fixed_step), dtype,
                      step_dtype};
  return launchList(queue, task, list);
}

Status sgd(const Queue& queue, const TensorView& parameter,
           const TensorView& gradient, const TensorView& buffer,
           const SgdOptions& options) {
  if (!isFloating(parameter.dtype)) {
    return unsupportedDType("sgd", parameter.dtype);
  }
  const TensorView used = options.momentum == 0 ? TensorView() : buffer;
  TensorList<3> list;
  if (!list.add(queue, {&parameter, &gradient, &used})) {
    return fail(Status::kUnsupported,
                "sgd: parameter, gradient and buffer differ in dtype, shape or "
                "layout");
  }
  const SgdTask task{options, static_cast<int64_t>(parameter.dtype)};
  return launchList(queue, task, list);
}

}  // namespace dipu::kernels
