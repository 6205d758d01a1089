// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/optimizer/adaptive.h"

#include <cmath>

#include "kernels/compute/optimizer/tensor_list.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 8;

template <typename T>
void stepPart(const RmspropOptions& o, void* const* data, int64_t begin,
              int64_t end) {
  using C = ComputeType<T>;
  T* __restrict parameter = static_cast<T*>(data[0]);
  const T* __restrict gradient = static_cast<const T*>(data[1]);
  T* __restrict square = static_cast<T*>(data[2]);
  T* __restrict average = static_cast<T*>(data[3]);
  T* __restrict buffer = static_cast<T*>(data[4]);
  const C decay = static_cast<C>(o.weight_decay);
  const C keep = static_cast<C>(o.alpha);
  const C fresh = static_cast<C>(1.0 - o.alpha);
  const C momentum = static_cast<C>(o.momentum);
  const C eps = static_cast<C>(o.eps);
  const C lr = static_cast<C>(o.lr);
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(parameter[i]);
    const C g = static_cast<C>(gradient[i]) + decay * p;
    const C sum = static_cast<C>(square[i]) * keep + fresh * g * g;
    square[i] = static_cast<T>(sum);
    C spread = sum;
    if (average != nullptr) {
      const C mean = static_cast<C>(average[i]) * keep + fresh * g;
      average[i] = static_cast<T>(mean);
      spread = sum - mean * mean;
    }
    C step = g / (std::sqrt(spread) + eps);
    if (buffer != nullptr) {
      step += static_cast<C>(buffer[i]) * momentum;
      buffer[i] = static_cast<T>(step);
    }
    parameter[i] = static_cast<T>(p - lr * step);
  }
}

template <typename T>
void stepPart(const AdadeltaOptions& o, void* const* data, int64_t begin,
              int64_t end) {
  using C = ComputeType<T>;
  T* __restrict parameter = static_cast<T*>(data[0]);
  const T* __restrict gradient = static_cast<const T*>(data[1]);
  T* __restrict square = static_cast<T*>(data[2]);
  T* __restrict change = static_cast<T*>(data[3]);
  const C decay = static_cast<C>(o.weight_decay);
  const C keep = static_cast<C>(o.rho);
  const C fresh = static_cast<C>(1.0 - o.rho);
  const C eps = static_cast<C>(o.eps);
  const C lr = static_cast<C>(o.lr);
  for (int64_t i = begin; i < end; ++i) {
    const C p = static_cast<C>(parameter[i]);
    const C g = static_cast<C>(gradient[i]) + decay * p;
    const C sum = static_cast<C>(square[i]) * keep + fresh * g * g;
    const C before = static_cast<C>(change[i]);
    const C step = std::sqrt(before + eps) / std::sqrt(sum + eps) * g;
    square[i] = static_cast<T>(sum);
    change[i] = static_cast<T>(before * keep + fresh * step * step);
    parameter[i] = static_cast<T>(p - lr * step);
  }
}

template <typename Options>
struct StepTask {
  Options options;
  int64_t dtype;

  template <int Operands>
  void operator()(const ListView<Operands>& list) const {
    dispatchFloating(static_cast<DType>(dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      list.forEachPart(kCost,
                       [this](const auto& entry, int64_t begin, int64_t end) {
                         stepPart<T>(options, entry.data, begin, end);
                       });
    });
  }
};

// Enqueues the step of one parameter; `views` are what stepPart expects.
template <typename Options, int Operands>
Status launchStep(const Queue& queue, const char* name, const Options& options,
                  const TensorView* const (&views)[Operands]) {
  const DType dtype = views[0]->dtype;
  if (!isFloating(dtype)) return unsupportedDType(name, dtype);
  TensorList<Operands> list;
  if (!list.add(queue, views)) {
    return fail(Status::kUnsupported,
                "%s: parameter, gradient and state differ in dtype, shape or "
                "layout",
                name);
  }
  return launchList(
      queue, StepTask<Options>{options, static_cast<int64_t>(dtype)}, list);
}

}  // namespace

Status rmsprop(const Queue& queue, const TensorView& parameter,
               const TensorView& gradient, const TensorView& square,
               const TensorView& average, const TensorView& buffer,
               const RmspropOptions& options) {
  const TensorView absent;
  return launchStep(
      queue, "rmsprop", options,
      {&parameter, &gradient, &square, options.centered ? &average : &absent,
       options.momentum > 0 ? &buffer : &absent});
}

Status adadelta(const Queue& queue, const TensorView& parameter,
                const TensorView& gradient, const TensorView& square,
                const TensorView& change, const AdadeltaOptions& options) {
  return launchStep(queue, "adadelta", options,
                    {&parameter, &gradient, &square, &change});
}

}  // namespace dipu::kernels
