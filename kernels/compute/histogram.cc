// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/histogram.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

bool isInteger(DType dtype) {
  return dispatchInteger(dtype, [](auto) {});
}

struct RangeTask {
  const int64_t* input;
  int64_t count;
  int64_t* range;
  void operator()() const {
    const auto found = std::minmax_element(input, input + count);
    range[0] = *found.first;
    range[1] = *found.second;
  }
};

template <typename T>
struct BinCountTask {
  T* out;
  const int64_t* input;
  const T* weights;  // nullptr: 1 each
  int64_t count;
  int64_t bins;

  void operator()() const {
    std::fill_n(out, bins, T(0));
    for (int64_t i = 0; i < count; ++i) {
      if (input[i] < 0 || input[i] >= bins) {
        reportIndex(input[i], bins);
      } else {
        out[input[i]] += weights != nullptr ? weights[i] : T(1);
      }
    }
  }
};

// Significant bits: the type has all integers of that many.
template <typename T>
inline constexpr int kDigits = std::is_same_v<T, Float16>    ? 11
                               : std::is_same_v<T, BFloat16> ? 8
                                                             : 24;
template <>
inline constexpr int kDigits<double> = 53;

// Bins of one width are computed in the type of the elements, so that elements
// at an edge fall where PyTorch's formula puts them; counts are exact.
template <typename T>
struct EqualBinsTask {
  using C = ComputeType<T>;

  double* out;
  const T* input;
  int64_t count;
  int64_t bins;
  C low;
  C high;

  C at(int64_t i) const { return static_cast<C>(input[i]); }
  static C rounded(C value) { return static_cast<C>(static_cast<T>(value)); }

  void takeRange(C* begin, C* end) const {
    if (*begin == *end && count > 0) {
      *begin = *end = at(0);
      for (int64_t i = 0; i < count; ++i) {
        const C x = at(i);
        if (x < *begin || x != x) *begin = x;
        if (x > *end || x != x) *end = x;
      }
    }
    if (*begin == *end) {
      *begin = rounded(*begin - 1);
      *end = rounded(*end + 1);
    }
  }

  // `x` lies in the range. More bins than the type can number, and products
  // beyond its range, are told apart in the computing type.
  int64_t binOf(C x, C begin, C width) const {
    const C all = static_cast<C>(bins);
    const C product = rounded(x - begin) * all;
    const bool fits =
        bins <= int64_t{1} << kDigits<T> && std::isfinite(rounded(product));
    const C bin = fits ? rounded(rounded(product) / width) : product / width;
    return bin < all ? static_cast<int64_t>(bin) : bins - 1;
  }

  void refuseRange(C begin, C end) const {
    const auto low_end = static_cast<double>(begin);
    const auto high_end = static_cast<double>(end);
    int64_t i = 0;
    while (i < count && std::isfinite(at(i))) ++i;
    if (i == count) {
      return refuse(
          "range of [%g, %g] is not finite in the type of the elements",
          low_end, high_end);
    }
    refuse(
        "range of [%g, %g] is not finite, element %lld is %g; give min and "
        "max, elements beyond them do not count",
        low_end, high_end, static_cast<long long>(i),
        static_cast<double>(at(i)));
  }

  void operator()() const {
    C begin = low;
    C end = high;
    takeRange(&begin, &end);
    std::fill_n(out, bins, 0.0);
    if (!std::isfinite(begin) || !std::isfinite(end)) {
      return refuseRange(begin, end);
    }
    const C width = rounded(end - begin);
    for (int64_t i = 0; i < count; ++i) {
      const C x = at(i);
      if (x >= begin && x <= end) out[binOf(x, begin, width)] += 1;
    }
  }
};

template <typename T>
struct GivenBinsTask {
  T* out;
  const T* edges;
  const T* input;
  const T* weights;  // nullptr: 1 each
  int64_t count;
  int64_t bins;
  bool density;

  void operator()() const {
    std::fill_n(out, bins, T(0));
    for (int64_t i = 0; i < count; ++i) {
      const T x = input[i];
      if (!(x >= edges[0] && x <= edges[bins])) continue;
      const int64_t above =
          std::upper_bound(edges, edges + bins + 1, x) - edges;
      out[std::min(above, bins) - 1] += weights != nullptr ? weights[i] : T(1);
    }
    if (!density) return;
    double sum = 0;
    for (int64_t i = 0; i < bins; ++i) sum += static_cast<double>(out[i]);
    for (int64_t i = 0; i < bins; ++i) {
      out[i] = out[i] / static_cast<T>(sum) / (edges[i + 1] - edges[i]);
    }
  }
};

}  // namespace

Status integerRange(const Queue& queue, const TensorView& input, int64_t* low,
                    int64_t* high) {
  if (!isInteger(input.dtype)) return unsupportedDType("bincount", input.dtype);
  DenseTensor from(queue, input, Order::kRowMajor, DType::kInt64);
  int64_t range[2];
  void* const found = queue.scratch(sizeof(range));
  if (!from.load() || found == nullptr) return Status::kFailed;
  const RangeTask task{from.address<int64_t>(), input.numel,
                       queue.translate<int64_t>(found, sizeof(range))};
  if (!queue.launch(task)) return Status::kFailed;
  const Status status = readBack(queue, range, found, sizeof(range));
  *low = range[0];
  *high = range[1];
  return status;
}

Status binCount(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& weights) {
  if (!isInteger(input.dtype)) return unsupportedDType("bincount", input.dtype);
  if (weights.defined() && weights.numel != input.numel) {
    return fail(Status::kInvalid,
                "weights should be 1-d and have the same length as input");
  }
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, input, Order::kRowMajor, DType::kInt64);
  DenseTensor by(queue, weights, Order::kRowMajor, out.dtype);
  if (!to.open() || !from.load() || !by.load()) return Status::kFailed;
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<int64_t, float, double>(out.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const BinCountTask<T> task{to.address<T>(), from.address<int64_t>(),
                                   by.address<T>(), input.numel, out.numel};
        status = queue.launch(task) ? to.store() : Status::kFailed;
      });
  return known ? status : unsupportedDType("bincount", out.dtype);
}

Status equalBins(const Queue& queue, const TensorView& out,
                 const TensorView& input, double low, double high) {
  if (low > high) {
    return fail(Status::kInvalid, "histc: max must be larger than min");
  }
  const bool given = low != high || input.numel == 0;
  if (given && !(std::isfinite(low) && std::isfinite(high))) {
    return fail(Status::kInvalid, "histc: range of [%g, %g] is not finite", low,
                high);
  }
  if (out.dtype != input.dtype || !isFloating(input.dtype)) {
    return unsupportedDType("histc", input.dtype);
  }
  DenseTensor to(queue, out, Order::kRowMajor, DType::kFloat64);
  DenseTensor from(queue, input, Order::kRowMajor);
  if (!to.open() || !from.load()) return Status::kFailed;
  Status status = Status::kOk;
  dispatchFloating(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Task = EqualBinsTask<T>;
    const auto rounded = [](double bound) {
      return Task::rounded(static_cast<typename Task::C>(bound));
    };
    const Task task{to.address<double>(), from.address<T>(),
                    input.numel,          out.numel,
                    rounded(low),         rounded(high)};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return status;
}

Status givenBins(const Queue& queue, const TensorView& out,
                 const TensorView& edges, const TensorView& input,
                 const TensorView& weights, bool density) {
  if (edges.numel != out.numel + 1 ||
      (weights.defined() && weights.numel != input.numel)) {
    return fail(Status::kInvalid, "histogram: the sizes do not fit");
  }
  if (edges.dtype != input.dtype || out.dtype != input.dtype ||
      (weights.defined() && weights.dtype != input.dtype) ||
      !dispatchAmong<float, double>(input.dtype, [](auto) {})) {
    return unsupportedDType("histogram", input.dtype);
  }
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor between(queue, edges, Order::kRowMajor);
  DenseTensor from(queue, input, Order::kRowMajor);
  DenseTensor by(queue, weights, Order::kRowMajor);
  if (!to.open() || !between.load() || !from.load() || !by.load()) {
    return Status::kFailed;
  }
  Status status = Status::kOk;
  dispatchAmong<float, double>(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const GivenBinsTask<T> task{
        to.address<T>(), between.address<T>(), from.address<T>(),
        by.address<T>(), input.numel,          out.numel,
        density};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return status;
}

}  // namespace dipu::kernels
