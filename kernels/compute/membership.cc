// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/membership.h"

#include <algorithm>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// `sorted` holds the tests; the task may reorder it.
template <typename T>
struct IsInTask {
  bool* out;
  const T* elements;
  T* sorted;
  int64_t count;
  int64_t tests;
  bool invert;

  void operator()() const {
    T* const end =
        std::remove_if(sorted, sorted + tests, [](T x) { return x != x; });
    std::sort(sorted, end);
    parallelFor(count, grainFor(1, 64), [&](int64_t begin, int64_t stop) {
      for (int64_t i = begin; i < stop; ++i) {
        // Not binary_search, to which NaN is equivalent to everything.
        const T* found = std::lower_bound(sorted, end, elements[i]);
        out[i] = (found != end && *found == elements[i]) != invert;
      }
    });
  }
};

// Whether one number occurs among dense tests.
template <typename T>
struct IsScalarInTask {
  bool* out;
  const T* tests;
  int64_t count;
  T element;
  bool invert;

  void operator()() const {
    const bool found =
        std::find(tests, tests + count, element) != tests + count;
    *out = found != invert;
  }
};

// The number as a tensor of `dtype` holds it.
template <typename T>
T elementOf(const Scalar& number, DType dtype) {
  T element = number.to<T>();
  dispatchAmong<Float16, BFloat16>(dtype, [&](auto tag) {
    using Half = typename decltype(tag)::type;
    element = convertValue<T>(convertValue<Half>(element));
  });
  return element;
}

bool mixesHalves(DType a, DType b) {
  const auto is_half = [](DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  };
  return a != b && (is_half(a) || is_half(b));
}

// `elements` are dense and of type T.
template <typename T>
Status search(const Queue& queue, const TensorView& out, const T* elements,
              const TensorView& tests, bool invert) {
  DenseTensor result(queue, out, Order::kRowMajor, DType::kBool);
  ScratchTensor sorted(queue, tests, kDTypeOf<T>);
  if (!result.open() || !sorted.valid()) return Status::kFailed;
  const Status status = convertTensor(queue, sorted.view(), tests);
  if (status != Status::kOk) return status;
  const IsInTask<T> task{result.address<bool>(),
                         elements,
                         sorted.template address<T>(),
                         out.numel,
                         tests.numel,
                         invert};
  return queue.launch(task) ? result.store() : Status::kFailed;
}

}  // namespace

Status isIn(const Queue& queue, const TensorView& out,
            const TensorView& elements, const TensorView& tests, bool invert) {
  if (mixesHalves(elements.dtype, tests.dtype)) {
    return unsupportedDType("isin of two types", elements.dtype);
  }
  if (out.numel == 0) return Status::kOk;
  Status status = Status::kOk;
  const bool known =
      dispatchCompute(computeTypeOf(elements, tests), [&](auto tag) {
        using T = typename decltype(tag)::type;
        DenseTensor wanted(queue, elements, Order::kRowMajor, kDTypeOf<T>);
        status = wanted.load()
                     ? search<T>(queue, out, wanted.template address<T>(),
                                 tests, invert)
                     : Status::kFailed;
      });
  return known ? status : unsupportedDType("isin", elements.dtype);
}

Status isScalarIn(const Queue& queue, const TensorView& out,
                  const Scalar& element, const TensorView& tests, bool invert) {
  // An integer tensor is compared with a fraction in float64.
  DType compute = computeDType(tests.dtype);
  if (!isFloating(compute)) {
    compute = element.is_integer ? DType::kInt64 : DType::kFloat64;
  }
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<float, double, int64_t>(compute, [&](auto tag) {
        using T = typename decltype(tag)::type;
        DenseTensor result(queue, out, Order::kRowMajor, DType::kBool);
        DenseTensor among(queue, tests, Order::kRowMajor, kDTypeOf<T>);
        const bool empty = tests.numel == 0;
        if (!result.open() || !(empty || among.load())) {
          status = Status::kFailed;
          return;
        }
        const IsScalarInTask<T> task{
            result.address<bool>(), among.template address<T>(), tests.numel,
            elementOf<T>(element, tests.dtype), invert};
        status = queue.launch(task) ? result.store() : Status::kFailed;
      });
  return known ? status : unsupportedDType("isin", tests.dtype);
}

}  // namespace dipu::kernels
