// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/distance.h"

#include <algorithm>

#include "kernels/compute/distance_norms.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

using distance::withNorm;

constexpr int64_t kCost = 4;

// `tensor` with the leading dimensions of `batch` and its own last two; a
// broadcast dimension has the stride 0. Not copyable: the view points into it.
class Batched {
 public:
  Batched(const TensorView& tensor, const TensorView& batch) : view_(tensor) {
    const int32_t missing = batch.ndim - tensor.ndim;
    view_.ndim = batch.ndim;
    view_.numel = 1;
    for (int32_t d = 0; d < batch.ndim; ++d) {
      const bool own = d >= missing;
      const int64_t size = own ? tensor.sizes[d - missing] : 1;
      const bool leading = d < batch.ndim - 2;
      sizes_[d] = leading ? batch.sizes[d] : size;
      strides_[d] =
          !own || (leading && size == 1) ? 0 : tensor.strides[d - missing];
      fits_ = fits_ && (!leading || size == 1 || size == batch.sizes[d]);
      view_.numel *= sizes_[d];
    }
    view_.sizes = sizes_;
    view_.strides = strides_;
  }
  Batched(const Batched&) = delete;
  Batched& operator=(const Batched&) = delete;

  const TensorView& view() const { return view_; }
  bool fits() const { return fits_; }

 private:
  int64_t sizes_[kMaxDims];
  int64_t strides_[kMaxDims];
  TensorView view_;
  bool fits_ = true;
};

// Batches of `rows` points against `columns` points.
struct Sizes {
  int64_t batches;
  int64_t rows;
  int64_t columns;
  int64_t width;
};

template <typename T, typename Norm>
struct ForwardTask {
  Norm norm;
  Sizes sizes;
  const T* a;
  const T* b;
  T* out;

  void operator()() const {
    const auto& s = sizes;
    parallelFor(s.batches * s.rows, grainFor(s.columns * s.width, kCost),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const T* row = a + i * s.width;
                    const T* other = b + i / s.rows * s.columns * s.width;
                    for (int64_t j = 0; j < s.columns; ++j) {
                      out[i * s.columns + j] =
                          norm.distance(row, other + j * s.width, s.width);
                    }
                  }
                });
  }
};

// Adds to `to` the gradient that the pair (row, other) gives the row.
template <typename T, typename Norm>
void addPair(const Norm& norm, const T* row, const T* other, int64_t width,
             T grad, T distance, T* to) {
  for (int64_t k = 0; k < width; ++k) {
    to[k] += norm.slope(row[k] - other[k], grad, distance);
  }
}

template <typename T, typename Norm>
struct BackwardTask {
  Norm norm;
  Sizes sizes;
  const T* a;
  const T* b;
  const T* grad;
  const T* distances;
  T* grad_a;

  void operator()() const {
    const auto& s = sizes;
    parallelFor(s.batches * s.rows, grainFor(s.columns * s.width, kCost),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    T* to = grad_a + i * s.width;
                    std::fill(to, to + s.width, T(0));
                    const T* other = b + i / s.rows * s.columns * s.width;
                    for (int64_t j = 0; j < s.columns; ++j) {
                      const int64_t pair = i * s.columns + j;
                      addPair(norm, a + i * s.width, other + j * s.width,
                              s.width, grad[pair], distances[pair], to);
                    }
                  }
                });
  }
};

// Number of the pair (i, j), i < j, among the pairs of n points.
inline int64_t pairOf(int64_t i, int64_t j, int64_t n) {
  return i * n - i * (i + 1) / 2 + j - i - 1;
}

template <typename T, typename Norm>
struct PairsTask {
  Norm norm;
  int64_t rows;
  int64_t width;
  const T* a;
  T* out;

  void operator()() const {
    parallelFor(rows, grainFor(rows * width, kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    for (int64_t j = i + 1; j < rows; ++j) {
                      out[pairOf(i, j, rows)] =
                          norm.distance(a + i * width, a + j * width, width);
                    }
                  }
                });
  }
};

template <typename T, typename Norm>
struct PairsBackwardTask {
  Norm norm;
  int64_t rows;
  int64_t width;
  const T* a;
  const T* grad;
  const T* distances;
  T* grad_a;

  void operator()() const {
    parallelFor(rows, grainFor(rows * width, kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    T* to = grad_a + i * width;
                    std::fill(to, to + width, T(0));
                    for (int64_t j = 0; j < rows; ++j) {
                      if (i == j) continue;
                      const int64_t pair =
                          pairOf(std::min(i, j), std::max(i, j), rows);
                      addPair(norm, a + i * width, a + j * width, width,
                              grad[pair], distances[pair], to);
                    }
                  }
                });
  }
};

DType realOf(const TensorView& view) {
  return view.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

Status check(const char* name, const TensorView& a, double p) {
  if (!isFloating(a.dtype)) return unsupportedDType(name, a.dtype);
  if (!(p >= 0.0)) {
    return fail(Status::kInvalid, "%s: p is %g, not a number from 0 on", name,
                p);
  }
  return Status::kOk;
}

// `batch` has the leading dimensions of the result.
Status checkBatches(const TensorView& batch, const TensorView& a,
                    const TensorView& b) {
  if (batch.ndim > kMaxDims || a.ndim < 2 || b.ndim < 2 ||
      a.ndim > batch.ndim || b.ndim > batch.ndim ||
      a.sizes[a.ndim - 1] != b.sizes[b.ndim - 1]) {
    return fail(Status::kInvalid, "cdist: sizes do not fit");
  }
  return Status::kOk;
}

Sizes sizesOf(const TensorView& distances, const TensorView& a) {
  Sizes sizes;
  sizes.rows = distances.sizes[distances.ndim - 2];
  sizes.columns = distances.sizes[distances.ndim - 1];
  sizes.width = a.sizes[a.ndim - 1];
  sizes.batches = 1;
  for (int32_t d = 0; d < distances.ndim - 2; ++d) {
    sizes.batches *= distances.sizes[d];
  }
  return sizes;
}

// Enqueues make(tag, norm), a task, for the type and norm of a call. `keep_nan`
// is that of MaximumNorm.
template <bool keep_nan, typename Make>
Status launchNorm(const Queue& queue, DType compute, double p,
                  const Make& make) {
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    sent = withNorm<typename decltype(tag)::type, keep_nan>(
        p, [&](auto norm) { return queue.launch(make(tag, norm)); });
  });
  return sent ? Status::kOk : Status::kFailed;
}

}  // namespace

Status cdist(const Queue& queue, const TensorView& out, const TensorView& a,
             const TensorView& b, double p) {
  Status status = check("cdist", a, p);
  if (status == Status::kOk) status = checkBatches(out, a, b);
  if (status != Status::kOk || out.numel == 0) return status;
  const Batched from(a, out);
  const Batched to(b, out);
  if (!from.fits() || !to.fits()) {
    return fail(Status::kInvalid, "cdist: batches do not broadcast");
  }
  const DType compute = realOf(a);
  DenseTensor x(queue, from.view(), Order::kRowMajor, compute);
  DenseTensor y(queue, to.view(), Order::kRowMajor, compute);
  DenseTensor distances(queue, out, Order::kRowMajor, compute);
  if (!x.load() || !y.load() || !distances.open()) return Status::kFailed;
  status = launchNorm<false>(queue, compute, p, [&](auto tag, auto norm) {
    using T = typename decltype(tag)::type;
    return ForwardTask<T, decltype(norm)>{norm, sizesOf(out, a), x.address<T>(),
                                          y.address<T>(),
                                          distances.address<T>()};
  });
  return status == Status::kOk ? distances.store() : status;
}

Status cdistBackward(const Queue& queue, const TensorView& grad_a,
                     const TensorView& grad_output, const TensorView& a,
                     const TensorView& b, const TensorView& distances,
                     double p) {
  Status status = check("cdist_backward", a, p);
  if (status == Status::kOk) status = checkBatches(distances, a, b);
  if (status != Status::kOk || grad_a.numel == 0) return status;
  const Batched from(a, distances);
  const Batched to(b, distances);
  if (!from.fits() || !to.fits() || grad_a.numel != from.view().numel ||
      grad_output.numel != distances.numel) {
    return fail(Status::kInvalid, "cdist_backward: sizes do not fit");
  }
  const DType compute = realOf(a);
  DenseTensor x(queue, from.view(), Order::kRowMajor, compute);
  DenseTensor y(queue, to.view(), Order::kRowMajor, compute);
  DenseTensor g(queue, grad_output, Order::kRowMajor, compute);
  DenseTensor d(queue, distances, Order::kRowMajor, compute);
  DenseTensor dx(queue, grad_a, Order::kRowMajor, compute);
  if (!x.load() || !y.load() || !g.load() || !d.load() || !dx.open()) {
    return Status::kFailed;
  }
  status = launchNorm<false>(queue, compute, p, [&](auto tag, auto norm) {
    using T = typename decltype(tag)::type;
    return BackwardTask<T, decltype(norm)>{
        norm,           sizesOf(distances, a), x.address<T>(), y.address<T>(),
        g.address<T>(), d.address<T>(),        dx.address<T>()};
  });
  return status == Status::kOk ? dx.store() : status;
}

Status pdist(const Queue& queue, const TensorView& out, const TensorView& a,
             double p) {
  Status status = check("pdist", a, p);
  if (status != Status::kOk || out.numel == 0) return status;
  if (a.ndim != 2 || out.numel != a.sizes[0] * (a.sizes[0] - 1) / 2) {
    return fail(Status::kInvalid, "pdist: sizes do not fit");
  }
  const DType compute = realOf(a);
  DenseTensor x(queue, a, Order::kRowMajor, compute);
  DenseTensor distances(queue, out, Order::kRowMajor, compute);
  if (!x.load() || !distances.open()) return Status::kFailed;
  status = launchNorm<true>(queue, compute, p, [&](auto tag, auto norm) {
    using T = typename decltype(tag)::type;
    return PairsTask<T, decltype(norm)>{norm, a.sizes[0], a.sizes[1],
                                        x.address<T>(), distances.address<T>()};
  });
  return status == Status::kOk ? distances.store() : status;
}

Status pdistBackward(const Queue& queue, const TensorView& grad_a,
                     const TensorView& grad_output, const TensorView& a,
                     const TensorView& distances, double p) {
  Status status = check("pdist_backward", a, p);
  if (status != Status::kOk || grad_a.numel == 0) return status;
  if (a.ndim != 2 || distances.numel != a.sizes[0] * (a.sizes[0] - 1) / 2 ||
      grad_output.numel != distances.numel) {
    return fail(Status::kInvalid, "pdist_backward: sizes do not fit");
  }
  const DType compute = realOf(a);
  DenseTensor x(queue, a, Order::kRowMajor, compute);
  DenseTensor g(queue, grad_output, Order::kRowMajor, compute);
  DenseTensor d(queue, distances, Order::kRowMajor, compute);
  DenseTensor dx(queue, grad_a, Order::kRowMajor, compute);
  if (!x.load() || !g.load() || !d.load() || !dx.open()) return Status::kFailed;
  status = launchNorm<true>(queue, compute, p, [&](auto tag, auto norm) {
    using T = typename decltype(tag)::type;
    return PairsBackwardTask<T, decltype(norm)>{
        norm,           a.sizes[0],     a.sizes[1],     x.address<T>(),
        g.address<T>(), d.address<T>(), dx.address<T>()};
  });
  return status == Status::kOk ? dx.store() : status;
}

}  // namespace dipu::kernels
