// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/reducer.h"

namespace dipu::kernels {
namespace {

// Sums of a power of |x| in double. Power: static double of(double magnitude,
// double p), and static double root(double sum, double p).
template <typename T, typename Power>
struct PowerSumOp {
  using In = T;
  using Acc = double;
  using Out = double;
  double p;

  double start() const { return 0.0; }
  void row(double* acc, const T* x, int64_t count, int64_t) const {
    double lanes[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      for (int64_t k = 0; k < 8; ++k) {
        lanes[k] += Power::of(std::fabs(static_cast<double>(x[i + k])), p);
      }
    }
    for (; i < count; ++i) {
      lanes[0] += Power::of(std::fabs(static_cast<double>(x[i])), p);
    }
    for (const double lane : lanes) *acc += lane;
  }
  void columns(double* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t) const {
    for (int64_t row = 0; row < rows; ++row, x += stride) {
      for (int64_t j = 0; j < count; ++j) {
        acc[j] += Power::of(std::fabs(static_cast<double>(x[j])), p);
      }
    }
  }
  void merge(double* acc, const double& other) const { *acc += other; }
  double finish(const double& acc, int64_t*) const {
    return Power::root(acc, p);
  }
};

struct Count {
  static double of(double x, double) { return x != 0 ? 1.0 : 0.0; }
  static double root(double sum, double) { return sum; }
};
struct Magnitude {
  static double of(double x, double) { return x; }
  static double root(double sum, double) { return sum; }
};
struct Square {
  static double of(double x, double) { return x * x; }
  static double root(double sum, double) { return std::sqrt(sum); }
};
struct AnyPower {
  static double of(double x, double p) { return std::pow(x, p); }
  static double root(double sum, double p) { return std::pow(sum, 1.0 / p); }
};

// The largest or smallest |x|; NaN wins.
template <typename T, bool largest>
struct MagnitudeOp {
  using In = T;
  using Acc = double;
  using Out = double;

  static double take(double best, double x) {
    return (largest ? x > best : x < best) || x != x ? x : best;
  }
  double start() const {
    return largest ? 0.0 : std::numeric_limits<double>::infinity();
  }
  void row(double* acc, const T* x, int64_t count, int64_t) const {
    double best = *acc;
    for (int64_t i = 0; i < count; ++i) {
      best = take(best, std::fabs(static_cast<double>(x[i])));
    }
    *acc = best;
  }
  void columns(double* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t) const {
    for (int64_t row = 0; row < rows; ++row, x += stride) {
      for (int64_t j = 0; j < count; ++j) {
        acc[j] = take(acc[j], std::fabs(static_cast<double>(x[j])));
      }
    }
  }
  void merge(double* acc, const double& other) const {
    *acc = take(*acc, other);
  }
  double finish(const double& acc, int64_t*) const { return acc; }
};

// Mean and sum of squared deviations, merged by the rule of Chan et al.
struct Moments {
  double count;
  double mean;
  double squares;

  void merge(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count;
    const double delta = other.mean - mean;
    mean += delta * (other.count / total);
    squares += other.squares + delta * delta * (count * other.count / total);
    count = total;
  }
};

template <typename T>
struct DeviationOp {
  using In = T;
  using Acc = Moments;
  using Out = double;
  double correction;
  bool root;  // standard deviation, else variance

  Moments start() const { return {0, 0, 0}; }
  void row(Moments* acc, const T* x, int64_t count, int64_t) const {
    constexpr int64_t kBlock = 1024;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t n = std::min(kBlock, count - begin);
      const double mean = sumOf(x + begin, n, 0.0, false) / double(n);
      acc->merge({double(n), mean, sumOf(x + begin, n, mean, true)});
    }
  }
  // Sum of x - shift, or of its square.
  static double sumOf(const T* x, int64_t n, double shift, bool square) {
    double lanes[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int64_t k = 0; k < 8; ++k) {
        const double d = static_cast<double>(x[i + k]) - shift;
        lanes[k] += square ? d * d : d;
      }
    }
    for (; i < n; ++i) {
      const double d = static_cast<double>(x[i]) - shift;
      lanes[0] += square ? d * d : d;
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  void columns(Moments* acc, const T* x, int64_t stride, int64_t rows,
               int64_t count, int64_t) const {
    for (int64_t row = 0; row < rows; ++row, x += stride) {
      for (int64_t j = 0; j < count; ++j) {
        Moments& m = acc[j];
        m.count += 1;
        const double delta = static_cast<double>(x[j]) - m.mean;
        m.mean += delta / m.count;
        m.squares += delta * (static_cast<double>(x[j]) - m.mean);
      }
    }
  }
  void merge(Moments* acc, const Moments& other) const { acc->merge(other); }
  double finish(const Moments& acc, int64_t*) const {
    const double divisor = std::max(0.0, acc.count - correction);
    const double variance = acc.squares / divisor;
    return root ? std::sqrt(variance) : variance;
  }
};

// Enqueues the reduction by makeOp(tag) in float32 or float64.
template <typename MakeOp>
Status realReduce(const Queue& queue, const char* name, const TensorView& out,
                  const TensorView& input, const Dims& dims,
                  const MakeOp& make) {
  Status status = Status::kOk;
  const bool known =
      isFloating(out.dtype) &&
      dispatchReal(promoteCompute(out.dtype, input.dtype), [&](auto tag) {
        status = reduce(queue, name, make(tag), out, {}, input, dims.data,
                        dims.count);
      });
  return known ? status : unsupportedDType(name, input.dtype);
}

template <typename Power>
Status powerNorm(const Queue& queue, const TensorView& out,
                 const TensorView& input, double p, const Dims& dims) {
  return realReduce(queue, "norm", out, input, dims, [p](auto tag) {
    return PowerSumOp<typename decltype(tag)::type, Power>{p};
  });
}

}  // namespace

Status norm(const Queue& queue, const TensorView& out, const TensorView& input,
            double p, const Dims& dims) {
  if (p == 2.0) return powerNorm<Square>(queue, out, input, p, dims);
  if (p == 1.0) return powerNorm<Magnitude>(queue, out, input, p, dims);
  if (p == 0.0) return powerNorm<Count>(queue, out, input, p, dims);
  if (!std::isinf(p)) return powerNorm<AnyPower>(queue, out, input, p, dims);
  if (p > 0) {
    return realReduce(queue, "norm", out, input, dims, [](auto tag) {
      return MagnitudeOp<typename decltype(tag)::type, true>();
    });
  }
  return realReduce(queue, "norm", out, input, dims, [](auto tag) {
    return MagnitudeOp<typename decltype(tag)::type, false>();
  });
}

Status stddev(const Queue& queue, const TensorView& out,
              const TensorView& input, double correction, const Dims& dims) {
  return realReduce(queue, "std", out, input, dims, [correction](auto tag) {
    return DeviationOp<typename decltype(tag)::type>{correction, true};
  });
}

Status variance(const Queue& queue, const TensorView& out,
                const TensorView& input, double correction, const Dims& dims) {
  return realReduce(queue, "var", out, input, dims, [correction](auto tag) {
    return DeviationOp<typename decltype(tag)::type>{correction, false};
  });
}

}  // namespace dipu::kernels
