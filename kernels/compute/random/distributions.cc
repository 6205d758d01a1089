// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/compute/math.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/random/draw.h"
#include "kernels/compute/random/random.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

// Significant bits of a uniform number: as many as the type holds, so that
// rounding never gives 1.
template <typename T>
inline constexpr int kUnitBits = std::is_same_v<T, BFloat16>  ? 8
                                 : std::is_same_v<T, Float16> ? 11
                                                              : 24;

template <typename T>
void drawUniform(const Numbers& numbers, T* out, int64_t count, double from,
                 double to) {
  if constexpr (std::is_same_v<T, double>) {
    const double width = to - from;
    drawChunks<2>(
        numbers, count, [=](int64_t begin, int64_t end, const uint32_t* drawn) {
          for (int64_t i = begin; i < end; ++i) {
            out[i] = unitDouble(drawn + 2 * (i - begin)) * width + from;
          }
        });
  } else {
    const auto low = static_cast<float>(from);
    const auto width = static_cast<float>(to) - low;
    constexpr int kShift = 32 - kUnitBits<T>;
    constexpr float kUnit = 1.0F / static_cast<float>(1 << kUnitBits<T>);
    drawChunks<1>(
        numbers, count, [=](int64_t begin, int64_t end, const uint32_t* drawn) {
          for (int64_t i = begin; i < end; ++i) {
            const auto bits = static_cast<int32_t>(drawn[i - begin] >> kShift);
            out[i] =
                static_cast<T>(static_cast<float>(bits) * kUnit * width + low);
          }
        });
  }
}

constexpr double kTwoPi = 6.283185307179586;

template <typename T>
void drawNormal(const Numbers& numbers, T* out, int64_t count, double mean,
                double deviation) {
  if constexpr (std::is_same_v<T, double>) {
    drawChunks<2>(
        numbers, count, [=](int64_t begin, int64_t end, const uint32_t* drawn) {
          for (int64_t i = begin; i < end; i += 2, drawn += 4) {
            const double radius =
                std::sqrt(-2 * std::log(1 - unitDouble(drawn)));
            const double angle = kTwoPi * unitDouble(drawn + 2);
            out[i] = radius * std::cos(angle) * deviation + mean;
            if (i + 1 < end) {
              out[i + 1] = radius * std::sin(angle) * deviation + mean;
            }
          }
        });
  } else {
    const auto center = static_cast<float>(mean);
    const auto spread = static_cast<float>(deviation);
    drawChunks<1>(
        numbers, count, [=](int64_t begin, int64_t end, const uint32_t* drawn) {
          float values[kDrawChunk];
          const int64_t pairs = (end - begin + 1) / 2;
          for (int64_t k = 0; k < pairs; ++k) {
            // (0, 1] for the logarithm, [0, 1) for the angle.
            const auto first = static_cast<int32_t>(drawn[2 * k] >> 8) + 1;
            const auto second = static_cast<int32_t>(drawn[2 * k + 1] >> 8);
            const float radius = __builtin_sqrtf(
                -2.0F * math::log(static_cast<float>(first) * 0x1.0p-24F));
            const float angle = static_cast<float>(kTwoPi) *
                                (static_cast<float>(second) * 0x1.0p-24F);
            values[2 * k] = radius * math::cosBounded(angle);
            values[2 * k + 1] = radius * math::sinBounded(angle);
          }
          for (int64_t i = begin; i < end; ++i) {
            out[i] = static_cast<T>(values[i - begin] * spread + center);
          }
        });
  }
}

// Parameters of a normal distribution: a tensor where it is defined, else the
// number.
struct Parameter {
  TensorView tensor;
  double number;
};

// mean + deviation * z; a number takes the place of an operand.
template <typename C>
struct ShiftAndScale {
  bool has_mean;
  bool has_deviation;
  C mean;
  C deviation;
  C operator()(C z, C m, C d) const {
    return (has_mean ? m : mean) + z * (has_deviation ? d : deviation);
  }
};

// Draws into `z`, of the computing type, and rounds the results into `out`.
template <typename C>
Status shiftAndScale(const Queue& queue, const TensorView& out,
                     const TensorView& z, const Parameter& mean,
                     const Parameter& deviation) {
  static constexpr Kernel kKernel = makeKernel<ShiftAndScale<C>, C, C, C, C>();
  const ShiftAndScale<C> op{mean.tensor.defined(), deviation.tensor.defined(),
                            static_cast<C>(mean.number),
                            static_cast<C>(deviation.number)};
  return elementwise(queue, kKernel, op,
                     {&out, &z, op.has_mean ? &mean.tensor : &z,
                      op.has_deviation ? &deviation.tensor : &z});
}

Status drawAround(const Queue& queue, const TensorView& out,
                  const Parameter& mean, const Parameter& deviation,
                  RandomSource* source) {
  if (!isFloating(out.dtype)) return unsupportedDType("normal", out.dtype);
  const ScratchTensor z(queue, out, computeDType(out.dtype));
  if (!z.valid()) return Status::kFailed;
  const Status status = normal(queue, z.view(), 0.0, 1.0, source);
  if (status != Status::kOk || out.numel == 0) return status;
  return out.dtype == DType::kFloat64
             ? shiftAndScale<double>(queue, out, z.view(), mean, deviation)
             : shiftAndScale<float>(queue, out, z.view(), mean, deviation);
}

// Reports the first of the elements from `begin` to `end` that is none.
void refuseProbability(const double* p, int64_t begin, int64_t end) {
  while (begin + 1 < end && p[begin] >= 0.0 && p[begin] <= 1.0) ++begin;
  refuse(
      "element %lld of the probabilities is %g, but they should be in [0, 1]",
      static_cast<long long>(begin), p[begin]);
}

// An element is 1 when its number is below this bound; 2^32 for certainty.
uint64_t bernoulliBound(double probability) {
  return static_cast<uint64_t>(std::llrint(probability * 0x1.0p32));
}

// Enqueues body(T* out, count) for a dense tensor of any dtype.
template <typename Body>
Status fillAny(const Queue& queue, const char* operation, const TensorView& out,
               const Body& body) {
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!y.open()) return Status::kFailed;
  bool sent = false;
  const bool known = dispatchAll(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch(
        [body, y = y.address<T>(), count = out.numel] { body(y, count); });
  });
  if (!known) return unsupportedDType(operation, out.dtype);
  return sent ? y.store() : Status::kFailed;
}

}  // namespace

Status uniform(const Queue& queue, const TensorView& out, double from,
               double to, RandomSource* source) {
  if (!isFloating(out.dtype)) return unsupportedDType("uniform", out.dtype);
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!y.open()) return Status::kFailed;
  const int64_t each = out.dtype == DType::kFloat64 ? 2 : 1;
  const Numbers numbers = takeNumbers(source, each * out.numel);
  const Status sent = launchFloating(
      queue, "uniform", out.dtype,
      [=, y = y.address(), count = out.numel](auto tag) {
        using T = typename decltype(tag)::type;
        drawUniform(numbers, static_cast<T*>(y), count, from, to);
      });
  return sent == Status::kOk ? y.store() : sent;
}

Status normal(const Queue& queue, const TensorView& out, double mean,
              double deviation, RandomSource* source) {
  if (!isFloating(out.dtype)) return unsupportedDType("normal", out.dtype);
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!y.open()) return Status::kFailed;
  const int64_t each = out.dtype == DType::kFloat64 ? 2 : 1;
  const Numbers numbers = takeNumbers(source, each * ((out.numel + 1) / 2 * 2));
  const Status sent = launchFloating(
      queue, "normal", out.dtype,
      [=, y = y.address(), count = out.numel](auto tag) {
        using T = typename decltype(tag)::type;
        drawNormal(numbers, static_cast<T*>(y), count, mean, deviation);
      });
  return sent == Status::kOk ? y.store() : sent;
}

Status normalOf(const Queue& queue, const TensorView& out,
                const TensorView& mean, const TensorView& deviation,
                RandomSource* source) {
  return drawAround(queue, out, {mean, 0.0}, {deviation, 1.0}, source);
}

Status normalAround(const Queue& queue, const TensorView& out,
                    const TensorView& mean, double deviation,
                    RandomSource* source) {
  return drawAround(queue, out, {mean, 0.0}, {TensorView(), deviation}, source);
}

Status normalSpread(const Queue& queue, const TensorView& out, double mean,
                    const TensorView& deviation, RandomSource* source) {
  return drawAround(queue, out, {TensorView(), mean}, {deviation, 1.0}, source);
}

Status bernoulli(const Queue& queue, const TensorView& out, double probability,
                 RandomSource* source) {
  if (!(probability >= 0.0 && probability <= 1.0)) {
    return fail(Status::kInvalid, "bernoulli: probability %g", probability);
  }
  const Numbers numbers = takeNumbers(source, out.numel);
  const uint64_t bound = bernoulliBound(probability);
  return fillAny(queue, "bernoulli", out, [=](auto* y, int64_t count) {
    using T = std::remove_pointer_t<decltype(y)>;
    drawChunks<1>(numbers, count,
                  [=](int64_t begin, int64_t end, const uint32_t* drawn) {
                    for (int64_t i = begin; i < end; ++i) {
                      y[i] = convertValue<T>(drawn[i - begin] < bound ? 1 : 0);
                    }
                  });
  });
}

Status bernoulliOf(const Queue& queue, const TensorView& out,
                   const TensorView& probabilities, RandomSource* source) {
  if (!isFloating(probabilities.dtype) || out.numel != probabilities.numel) {
    return fail(Status::kInvalid,
                "bernoulli: probabilities of dtype %s for %ld elements",
                dtypeName(probabilities.dtype), long(out.numel));
  }
  DenseTensor p(queue, probabilities, Order::kRowMajor, DType::kFloat64);
  if (!p.load()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, out.numel);
  return fillAny(
      queue, "bernoulli", out,
      [numbers, p = p.address<const double>()](auto* y, int64_t count) {
        using T = std::remove_pointer_t<decltype(y)>;
        drawChunks<1>(
            numbers, count,
            [=](int64_t begin, int64_t end, const uint32_t* drawn) {
              bool valid = true;
              for (int64_t i = begin; i < end; ++i) {
                valid = valid && p[i] >= 0.0 && p[i] <= 1.0;
                const double scaled = p[i] * 0x1.0p32;
                y[i] = convertValue<T>(
                    static_cast<double>(drawn[i - begin]) < scaled ? 1 : 0);
              }
              if (!valid) refuseProbability(p, begin, end);
            });
      });
}

Status randomIntegers(const Queue& queue, const TensorView& out, int64_t from,
                      uint64_t range, RandomSource* source) {
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  const bool narrow = range != 0 && range <= kNarrow;
  const Numbers numbers = takeNumbers(source, (narrow ? 1 : 2) * out.numel);
  return fillAny(queue, "random", out, [=](auto* y, int64_t count) {
    using T = std::remove_pointer_t<decltype(y)>;
    const auto start = static_cast<uint64_t>(from);
    if (narrow) {
      drawChunks<1>(
          numbers, count,
          [=](int64_t begin, int64_t end, const uint32_t* drawn) {
            for (int64_t i = begin; i < end; ++i) {
              const uint64_t value = (drawn[i - begin] * range) >> 32;
              y[i] = convertValue<T>(static_cast<int64_t>(start + value));
            }
          });
      return;
    }
    drawChunks<2>(
        numbers, count, [=](int64_t begin, int64_t end, const uint32_t* drawn) {
          for (int64_t i = begin; i < end; ++i) {
            const uint64_t value =
                scaleWide(wideNumber(drawn + 2 * (i - begin)), range);
            y[i] = convertValue<T>(static_cast<int64_t>(start + value));
          }
        });
  });
}

}  // namespace dipu::kernels
