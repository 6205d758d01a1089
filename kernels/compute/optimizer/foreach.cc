// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/optimizer/foreach.h"

#include <atomic>
#include <cmath>

#include "kernels/compute/binary.h"
#include "kernels/compute/optimizer/tensor_list.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 2;

// Fills `list` with pairs of output and input; false when they do not all have
// one floating dtype and one dense layout each.
bool pairUp(const Queue& queue, const TensorView* outs,
            const TensorView* inputs, std::size_t count, TensorList<2>* list) {
  for (std::size_t i = 0; i < count; ++i) {
    if (outs[i].dtype != outs[0].dtype || !isFloating(outs[i].dtype) ||
        !list->add(queue, {&outs[i], &inputs[i]})) {
      return false;
    }
  }
  return true;
}

// out = input op value; the value is read from `device_value` if there is one.
struct ScalarTask {
  ForeachOp op;
  DType dtype;
  double value;
  const void* device_value;
  int64_t device_dtype;

  double operand() const {
    double result = value;
    if (device_value == nullptr) return result;
    dispatchAll(static_cast<DType>(device_dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      result = convertValue<double>(*static_cast<const T*>(device_value));
    });
    return result;
  }

  void operator()(const ListView<2>& list) const {
    const double other = operand();
    dispatchFloating(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      const C y = static_cast<C>(other);
      list.forEachPart(1, [&](const auto& entry, int64_t begin, int64_t end) {
        T* out = static_cast<T*>(entry.data[0]);
        const T* x = static_cast<const T*>(entry.data[1]);
        if (op == ForeachOp::kAdd) {
#pragma GCC ivdep
          for (int64_t i = begin; i < end; ++i) {
            out[i] = static_cast<T>(static_cast<C>(x[i]) + y);
          }
        } else {
#pragma GCC ivdep
          for (int64_t i = begin; i < end; ++i) {
            out[i] = static_cast<T>(static_cast<C>(x[i]) * y);
          }
        }
      });
    });
  }
};

struct UnscaleTask {
  DType dtype;
  float* found_inf;
  const float* inverse_scale;

  void operator()(const ListView<1>& list) const {
    std::atomic<bool> found{false};
    dispatchFloating(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      const C scale = static_cast<C>(*inverse_scale);
      list.forEachPart(kCost,
                       [&](const auto& entry, int64_t begin, int64_t end) {
                         T* g = static_cast<T*>(entry.data[0]);
                         bool bad = false;
                         for (int64_t i = begin; i < end; ++i) {
                           const C value = static_cast<C>(g[i]);
                           // Zero times a value that is not finite is NaN.
                           bad |= value * C(0) != C(0);
                           g[i] = static_cast<T>(value * scale);
                         }
                         if (bad) found.store(true, std::memory_order_relaxed);
                       });
    });
    if (found.load(std::memory_order_relaxed)) *found_inf = 1.0F;
  }
};

struct UpdateScaleTask {
  float* scale;
  int32_t* tracker;
  const float* found_inf;
  double growth_factor;
  double backoff_factor;
  int64_t interval;

  void operator()() const {
    if (*found_inf != 0.0F) {
      *scale = static_cast<float>(double(*scale) * backoff_factor);
      *tracker = 0;
      return;
    }
    if (*tracker + 1 != interval) {
      ++*tracker;
      return;
    }
    // Growth stops where it would leave the finite numbers.
    const auto grown = static_cast<float>(double(*scale) * growth_factor);
    if (std::isfinite(grown)) *scale = grown;
    *tracker = 0;
  }
};

bool isScalarOf(const TensorView& view, DType dtype) {
  return view.numel == 1 && view.dtype == dtype;
}

}  // namespace

Status foreachScalar(const Queue& queue, ForeachOp op, const TensorView* outs,
                     const TensorView* inputs, std::size_t count,
                     const Scalar& other) {
  TensorList<2> list;
  if (pairUp(queue, outs, inputs, count, &list)) {
    if (count == 0) return Status::kOk;
    const ScalarTask task{op, outs[0].dtype, other.to<double>(), nullptr, 0};
    return launchList(queue, task, list);
  }
  const Scalar one{true, 1, 1.0};
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = op == ForeachOp::kAdd
                              ? addScalar(queue, outs[i], inputs[i], other, one)
                              : mulScalar(queue, outs[i], inputs[i], other);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

Status foreachMulTensor(const Queue& queue, const TensorView* outs,
                        const TensorView* inputs, std::size_t count,
                        const TensorView& other) {
  if (other.numel != 1) {
    return fail(Status::kInvalid, "foreach: a factor with %ld elements",
                long(other.numel));
  }
  TensorList<2> list;
  if (pairUp(queue, outs, inputs, count, &list)) {
    if (count == 0) return Status::kOk;
    const void* factor = translateView(queue, other);
    if (factor == nullptr) return Status::kFailed;
    const ScalarTask task{ForeachOp::kMul, outs[0].dtype, 0.0, factor,
                          static_cast<int64_t>(other.dtype)};
    return launchList(queue, task, list);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = mul(queue, outs[i], inputs[i], other);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

Status ampUnscale(const Queue& queue, const TensorView* gradients,
                  std::size_t count, const TensorView& found_inf,
                  const TensorView& inverse_scale) {
  if (!isScalarOf(found_inf, DType::kFloat32) ||
      !isScalarOf(inverse_scale, DType::kFloat32)) {
    return fail(Status::kInvalid,
                "amp_unscale: found_inf and inv_scale are float32 scalars");
  }
  if (count == 0) return Status::kOk;
  auto* found = translateView<float>(queue, found_inf);
  const auto* scale = translateView<const float>(queue, inverse_scale);
  if (found == nullptr || scale == nullptr) return Status::kFailed;
  TensorList<1> list;
  const DType dtype = gradients[0].dtype;
  for (std::size_t i = 0; i < count; ++i) {
    if (gradients[i].dtype != dtype || !isFloating(dtype) ||
        !list.add(queue, {&gradients[i]})) {
      return fail(Status::kUnsupported,
                  "amp_unscale: gradient %zu is not dense, or of another dtype",
                  i);
    }
  }
  return launchList(queue, UnscaleTask{dtype, found, scale}, list);
}

Status ampUpdateScale(const Queue& queue, const TensorView& scale,
                      const TensorView& growth_tracker,
                      const TensorView& found_inf, double growth_factor,
                      double backoff_factor, int64_t interval) {
  if (!isScalarOf(scale, DType::kFloat32) ||
      !isScalarOf(growth_tracker, DType::kInt32) ||
      !isScalarOf(found_inf, DType::kFloat32)) {
    return fail(Status::kInvalid,
                "amp_update_scale: takes float32 scalars and an int32 tracker");
  }
  const UpdateScaleTask task{translateView<float>(queue, scale),
                             translateView<int32_t>(queue, growth_tracker),
                             translateView<const float>(queue, found_inf),
                             growth_factor,
                             backoff_factor,
                             interval};
  if (task.scale == nullptr || task.tracker == nullptr ||
      task.found_inf == nullptr) {
    return Status::kFailed;
  }
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels
