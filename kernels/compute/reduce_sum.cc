// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/lanes.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/reducer.h"
#include "kernels/compute/wide.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kBlock = 1024;  // elements that are summed in float32
// Columns that are reduced side by side: their sums stay in the first-level
// cache, and each row is read in pieces that the processor fetches ahead.
constexpr int64_t kTile = 512;

// Accumulates T in Wide through Fold, whose partial results are of type T.
template <typename T, typename Wide, typename Fold>
struct FoldOp {
  using In = T;
  using Acc = Wide;
  using Out = Wide;
  double scale = 1.0;  // of the result, if floating

  Acc start() const { return static_cast<Wide>(Fold::kStart); }

  void row(Acc* acc, const T* x, int64_t count, int64_t) const {
    Wide total = *acc;
    while (count >= kLanes) {
      const int64_t some = std::min(count, kBlock) / kLanes * kLanes;
      total = Fold::apply(total, Wide(block(x, some)));
      x += some;
      count -= some;
    }
    for (int64_t i = 0; i < count; ++i) total = Fold::apply(total, Wide(x[i]));
    *acc = total;
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
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = x[k];
    for (int64_t i = kLanes; i < count; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        lanes[k] = Fold::apply(lanes[k], x[i + k]);
      }
    }
    return foldLanes(lanes, [](T a, T b) { return Fold::apply(a, b); });
  }

  void columns(Acc* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t) const {
    constexpr int64_t kRows = 64;
    for (int64_t begin = 0; begin < rows; begin += kRows) {
      const int64_t some = std::min(kRows, rows - begin);
      takeRows(acc, x + begin * stride, stride, some, count);
    }
  }

  static void takeRows(Acc* acc, const T* x, int64_t stride, int64_t rows,
                       int64_t count) {
    hasWideVectors() ? takeRowsWide(acc, x, stride, rows, count)
                     : takeRowsInline(acc, x, stride, rows, count);
  }
  DIPU_WIDE static void takeRowsWide(Acc* acc, const T* x, int64_t stride,
                                     int64_t rows, int64_t count) {
    takeRowsInline(acc, x, stride, rows, count);
  }
  [[gnu::always_inline]] static void takeRowsInline(Acc* acc, const T* x,
                                                    int64_t stride,
                                                    int64_t rows,
                                                    int64_t count) {
    T lanes[kTile];
    for (int64_t begin = 0; begin < count; begin += kTile) {
      const int64_t some = std::min(kTile, count - begin);
      for (int64_t k = 0; k < some; ++k) lanes[k] = T(Fold::kStart);
      int64_t row = 0;
      for (; row + 4 <= rows; row += 4) {
        takeFour(lanes, x + row * stride + begin, stride, some);
      }
      for (; row < rows; ++row) {
        const T* from = x + row * stride + begin;
        for (int64_t k = 0; k < some; ++k) {
          lanes[k] = Fold::apply(lanes[k], from[k]);
        }
      }
      for (int64_t k = 0; k < some; ++k) {
        acc[begin + k] = Fold::apply(acc[begin + k], Wide(lanes[k]));
      }
    }
  }

  [[gnu::always_inline]] static void takeFour(T* lanes, const T* x,
                                              int64_t stride, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      const T first = Fold::apply(x[k], x[k + stride]);
      const T second = Fold::apply(x[k + 2 * stride], x[k + 3 * stride]);
      lanes[k] = Fold::apply(lanes[k], Fold::apply(first, second));
    }
  }

  void merge(Acc* acc, const Acc& other) const {
    *acc = Fold::apply(*acc, other);
  }
  Out finish(const Acc& acc, int64_t*) const {
    return std::is_floating_point_v<Wide> ? static_cast<Wide>(acc * scale)
                                          : acc;
  }
};

struct Plus {
  static constexpr int kStart = 0;
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Times {
  static constexpr int kStart = 1;
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Or {
  static constexpr int kStart = 0;
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct And {
  static constexpr int kStart = 1;
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

template <typename Fold>
Status fold(const Queue& queue, const char* name, const TensorView& out,
            const TensorView& input, double scale, const Dims& dims) {
  DType compute = promoteCompute(out.dtype, input.dtype);
  if (compute == DType::kInt32) compute = DType::kInt64;
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<float, double, int64_t>(compute, [&](auto tag) {
        using T = typename decltype(tag)::type;
        using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
        status = reduce(queue, name, FoldOp<T, Wide, Fold>{scale}, out, {},
                        input, dims.data, dims.count);
      });
  return known ? status : unsupportedDType(name, input.dtype);
}

}  // namespace

Status sum(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims) {
  return fold<Plus>(queue, "sum", out, input, 1.0, dims);
}

Status mean(const Queue& queue, const TensorView& out, const TensorView& input,
            const Dims& dims) {
  if (!isFloating(out.dtype)) return unsupportedDType("mean", out.dtype);
  if (out.numel == 0) return Status::kOk;
  const double count =
      static_cast<double>(input.numel) / static_cast<double>(out.numel);
  return fold<Plus>(queue, "mean", out, input, 1.0 / count, dims);
}

Status prod(const Queue& queue, const TensorView& out, const TensorView& input,
            const Dims& dims) {
  return fold<Times>(queue, "prod", out, input, 1.0, dims);
}

Status any(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims) {
  return reduce(queue, "any", FoldOp<bool, bool, Or>(), out, {}, input,
                dims.data, dims.count);
}

Status all(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims) {
  return reduce(queue, "all", FoldOp<bool, bool, And>(), out, {}, input,
                dims.data, dims.count);
}

}  // namespace dipu::kernels
