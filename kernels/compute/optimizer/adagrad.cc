// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/optimizer/adagrad.h"

#include <cmath>

#include "kernels/compute/optimizer/step_number.h"
#include "kernels/compute/optimizer/tensor_list.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 6;
constexpr int kOperands = 4;  // parameter, gradient, sum, step

template <typename T>
void adagradPart(const AdagradOptions& o, double step, void* const* data,
                 int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  T* __restrict parameter = static_cast<T*>(data[0]);
  const T* __restrict gradient = static_cast<const T*>(data[1]);
  T* __restrict state_sum = static_cast<T*>(data[2]);
  const C rate = static_cast<C>(o.lr / (1.0 + (step - 1.0) * o.lr_decay));
  const C decay = static_cast<C>(o.weight_decay);
  const C sign = o.maximize ? C(-1) : C(1);
  const C eps = static_cast<C>(o.eps);
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(parameter[i]);
    const C g = sign * static_cast<C>(gradient[i]) + decay * p;
    const C sum = static_cast<C>(state_sum[i]) + g * g;
    state_sum[i] = static_cast<T>(sum);
    parameter[i] = static_cast<T>(p - rate * g / (std::sqrt(sum) + eps));
  }
}

struct AdagradTask {
  AdagradOptions options;
  DType dtype;
  DType step_dtype;

  void operator()(const ListView<kOperands>& list) const {
    dispatchFloating(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      list.forEachPart(
          kCost, [this](const auto& entry, int64_t begin, int64_t end) {
            const double step = readStep(entry.data[kOperands - 1], step_dtype);
            adagradPart<T>(options, step, entry.data, begin, end);
          });
    });
  }
};

}  // namespace

Status adagrad(const Queue& queue, const AdagradParameter* parameters,
               std::size_t count, const AdagradOptions& options) {
  if (count == 0) return Status::kOk;
  const DType dtype = parameters[0].parameter.dtype;
  const DType step_dtype = parameters[0].step.dtype;
  if (!isFloating(dtype)) return unsupportedDType("adagrad", dtype);
  TensorList<kOperands> list;
  const TensorView absent;
  for (std::size_t i = 0; i < count; ++i) {
    const AdagradParameter& p = parameters[i];
    void* step = translateView(queue, p.step);
    if (step == nullptr) return Status::kFailed;
    if (p.parameter.dtype != dtype || p.step.dtype != step_dtype ||
        !list.add(queue, {&p.parameter, &p.gradient, &p.state_sum, &absent},
                  step)) {
      return fail(Status::kUnsupported,
                  "adagrad: tensors of parameter %zu differ in dtype, shape or "
                  "layout",
                  i);
    }
  }
  return launchList(queue, AdagradTask{options, dtype, step_dtype}, list);
}

}  // namespace dipu::kernels
