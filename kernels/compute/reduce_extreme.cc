// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/lanes.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/reducer.h"
#include "kernels/compute/wide.h"

namespace dipu::kernels {
namespace {

// Whether `x` takes the place of `best`: it is beyond it, or the first NaN.
template <typename T, bool max>
bool replaces(T x, T best) {
  const bool beyond = max ? x > best : x < best;
  if constexpr (std::is_floating_point_v<T>) {
    return beyond || (x != x && best == best);
  } else {
    return beyond;
  }
}

template <typename T, bool max>
T weakest() {
  if constexpr (std::is_floating_point_v<T>) {
    return max ? -std::numeric_limits<T>::infinity()
               : std::numeric_limits<T>::infinity();
  } else {
    return max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
}

// The loops take NaN with `x != x`, which needs no test of `best`: once it is
// NaN no comparison replaces it but another NaN.
template <typename T, bool max>
T stronger(T best, T x) {
  return (max ? x > best : x < best) || x != x ? x : best;
}

template <typename T, bool max>
struct ValueOp {
  using In = T;
  using Acc = T;
  using Out = T;
  using Mask = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  T start() const { return weakest<T, max>(); }
  // NaN is remembered apart from the comparisons, which are then the
  // processor's own maximum and minimum.
  void row(T* acc, const T* x, int64_t count, int64_t) const {
    T best = *acc;
    const int64_t some = count / kLanes * kLanes;
    if (some > 0) best = stronger<T, max>(best, block(x, some));
    for (int64_t i = some; i < count; ++i) best = stronger<T, max>(best, x[i]);
    *acc = best;
  }

  // Of a multiple of kLanes elements.
  static T block(const T* x, int64_t count) {
    return hasWideVectors() ? blockWide(x, count) : blockInline(x, count);
  }
  DIPU_WIDE static T blockWide(const T* x, int64_t count) {
    return blockInline(x, count);
  }
  [[gnu::always_inline]] static T blockInline(const T* x, int64_t count) {
    T lanes[kLanes];
    Mask nan[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] = x[k];
      nan[k] = isNan(x[k]);
    }
    const auto better = [](T a, T b) { return (max ? b > a : b < a) ? b : a; };
    for (int64_t i = kLanes; i < count; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        lanes[k] = better(lanes[k], x[i + k]);
        nan[k] |= isNan(x[i + k]);
      }
    }
    if (foldLanes(nan, [](Mask a, Mask b) { return Mask(a | b); }) != 0) {
      return std::numeric_limits<T>::quiet_NaN();
    }
    return foldLanes(lanes, better);
  }

  static Mask isNan(T x) { return x != x ? Mask(-1) : Mask(0); }
  void columns(T* acc, const T* x, int64_t stride, int64_t rows, int64_t count,
               int64_t) const {
    hasWideVectors() ? columnsWide(acc, x, stride, rows, count)
                     : columnsInline(acc, x, stride, rows, count);
  }
  DIPU_WIDE static void columnsWide(T* acc, const T* x, int64_t stride,
                                    int64_t rows, int64_t count) {
    columnsInline(acc, x, stride, rows, count);
  }
  [[gnu::always_inline]] static void columnsInline(T* acc, const T* x,
                                                   int64_t stride, int64_t rows,
                                                   int64_t count) {
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4, x += 4 * stride) {
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) {
        T best = stronger<T, max>(acc[j], x[j]);
        best = stronger<T, max>(best, x[j + stride]);
        best = stronger<T, max>(best, x[j + 2 * stride]);
        acc[j] = stronger<T, max>(best, x[j + 3 * stride]);
      }
    }
    for (; row < rows; ++row, x += stride) {
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) {
        acc[j] = stronger<T, max>(acc[j], x[j]);
      }
    }
  }
  void merge(T* acc, const T& other) const {
    *acc = stronger<T, max>(*acc, other);
  }
  T finish(const T& acc, int64_t*) const { return acc; }
};

template <typename T>
struct Positioned {
  T value;
  int64_t index;  // -1 before the first element
};

template <typename T, bool max>
struct PositionOp {
  using In = T;
  using Acc = Positioned<T>;
  using Out = T;

  Acc start() const { return {weakest<T, max>(), -1}; }
  void row(Acc* acc, const T* x, int64_t count, int64_t index) const {
    // The extreme first, which vectorises, then where it is.
    T best = weakest<T, max>();
    ValueOp<T, max>().row(&best, x, count, 0);
    if (acc->index >= 0 && !replaces<T, max>(best, acc->value)) return;
    int64_t at = 0;
    while (at < count && !(x[at] == best || (best != best && x[at] != x[at]))) {
      ++at;
    }
    *acc = {best, index + at};
  }
  void columns(Acc* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t index) const {
    for (int64_t row = 0; row < rows; ++row, x += stride) {
      for (int64_t j = 0; j < count; ++j) {
        if (acc[j].index < 0 || replaces<T, max>(x[j], acc[j].value)) {
          acc[j] = {x[j], index + row};
        }
      }
    }
  }
  void merge(Acc* acc, const Acc& other) const {
    if (acc->index < 0 || replaces<T, max>(other.value, acc->value)) {
      *acc = other;
    }
  }
  T finish(const Acc& acc, int64_t* index) const {
    if (index != nullptr) *index = acc.index;
    return acc.value;
  }
};

DType extremeType(DType dtype) {
  const DType compute = computeDType(dtype);
  return compute == DType::kInt32 ? DType::kInt64 : compute;
}

Status noElements(const char* name) {
  return fail(Status::kInvalid, "%s over a dimension without elements", name);
}

}  // namespace

Status extreme(const Queue& queue, Extreme which, const TensorView& out,
               const TensorView& input, const Dims& dims) {
  const bool max = which == Extreme::kMax;
  const char* name = max ? "max" : "min";
  if (input.numel == 0 && out.numel != 0) return noElements(name);
  Status status = Status::kOk;
  const bool known = dispatchAmong<float, double, int64_t>(
      extremeType(input.dtype), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto run = [&](auto op) {
          status =
              reduce(queue, name, op, out, {}, input, dims.data, dims.count);
        };
        if (max) {
          run(ValueOp<T, true>());
        } else {
          run(ValueOp<T, false>());
        }
      });
  return known ? status : unsupportedDType(name, input.dtype);
}

Status extremeAlong(const Queue& queue, Extreme which, const TensorView& values,
                    const TensorView& indices, const TensorView& input,
                    int64_t dim) {
  const bool max = which == Extreme::kMax;
  const char* name = max ? "max" : "min";
  if (input.numel == 0 && indices.numel != 0) return noElements(name);
  if (indices.dtype != DType::kInt64 && indices.dtype != DType::kInt32) {
    return unsupportedDType("indices", indices.dtype);
  }
  Status status = Status::kOk;
  const bool known = dispatchAmong<float, double, int64_t>(
      extremeType(input.dtype), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto run = [&](auto op) {
          status = reduce(queue, name, op, values, indices, input, &dim, 1);
        };
        if (max) {
          run(PositionOp<T, true>());
        } else {
          run(PositionOp<T, false>());
        }
      });
  return known ? status : unsupportedDType(name, input.dtype);
}

}  // namespace dipu::kernels
