// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/random/draw.h"
#include "kernels/compute/random/random.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

// Numbers of a sequence one after the other, two at a time.
class WideReader {
 public:
  explicit WideReader(const Numbers& numbers) : numbers_(numbers) {}

  const uint32_t* next() {
    if (position_ == kCount) {
      philox::fillNumbers(numbers_.seed, numbers_.first, kCount, drawn_);
      numbers_.first += kCount;
      position_ = 0;
    }
    position_ += 2;
    return drawn_ + position_ - 2;
  }

 private:
  static constexpr int kCount = 256;
  Numbers numbers_;
  uint32_t drawn_[kCount];
  int position_ = kCount;
};

// Fisher and Yates: each position gets one of the values that are left.
void shuffle(const Numbers& numbers, int64_t count, int64_t* out) {
  WideReader reader(numbers);
  std::iota(out, out + count, int64_t{0});
  for (int64_t i = 0; i + 1 < count; ++i) {
    const auto left = static_cast<uint64_t>(count - i);
    const uint64_t step = scaleWide(wideNumber(reader.next()), left);
    std::swap(out[i], out[i + static_cast<int64_t>(step)]);
  }
}

struct Sampling {
  Numbers numbers;
  const double* weights;
  double* scratch;   // as many as weights of a row
  int64_t* indices;  // likewise
  int64_t* out;
  int64_t rows;
  int64_t choices;
  int64_t samples;

  // Says what is wrong with row `r`.
  void refuseRow(int64_t r) const {
    const double* row = weights + r * choices;
    for (int64_t i = 0; i < choices; ++i) {
      if (row[i] >= 0 && std::isfinite(row[i])) continue;
      return refuse(
          "weight %lld of row %lld is %g, but weights should be finite and "
          "not negative",
          static_cast<long long>(i), static_cast<long long>(r), row[i]);
    }
    refuse("the weights of row %lld sum to %g", static_cast<long long>(r),
           scratch[choices - 1]);
  }

  // The sums of the weights up to each of them.
  bool accumulate(const double* row) const {
    double sum = 0;
    bool valid = true;
    for (int64_t i = 0; i < choices; ++i) {
      valid = valid && row[i] >= 0 && std::isfinite(row[i]);
      sum += row[i];
      scratch[i] = sum;
    }
    return valid && sum > 0;
  }

  void withReplacement() const {
    WideReader reader(numbers);
    for (int64_t r = 0; r < rows; ++r) {
      if (!accumulate(weights + r * choices)) return refuseRow(r);
      const double* end = scratch + choices;
      for (int64_t s = 0; s < samples; ++s) {
        const double target = unitDouble(reader.next()) * end[-1];
        // Weights of 0 have the sum of their predecessor: never found.
        const double* found =
            std::upper_bound(static_cast<const double*>(scratch), end, target);
        if (found == end)
          found = std::lower_bound(scratch, scratch + choices, end[-1]);
        out[r * samples + s] = found - scratch;
      }
    }
  }

  // A race: choice i ends after an exponential time of rate weights[i], and
  // the first `samples` win. Weights of 0 never end.
  void withoutReplacement() const {
    WideReader reader(numbers);
    for (int64_t r = 0; r < rows; ++r) {
      const double* row = weights + r * choices;
      if (!accumulate(row)) return refuseRow(r);
      for (int64_t i = 0; i < choices; ++i) {
        const double time = -std::log(1.0 - unitDouble(reader.next()));
        scratch[i] = row[i] > 0 ? time / row[i] : INFINITY;
      }
      std::iota(indices, indices + choices, int64_t{0});
      std::partial_sort(
          indices, indices + samples, indices + choices,
          [this](int64_t a, int64_t b) {
            return scratch[a] != scratch[b] ? scratch[a] < scratch[b] : a < b;
          });
      std::copy(indices, indices + samples, out + r * samples);
    }
  }
};

template <typename T>
void drop(const Numbers& numbers, double p, const T* input, int64_t count,
          T* out, bool* mask) {
  using C = ComputeType<T>;
  const auto bound = static_cast<uint64_t>(std::llrint((1.0 - p) * 0x1.0p32));
  const C scale = p == 1.0 ? C(0) : static_cast<C>(1.0 / (1.0 - p));
  drawChunks<1>(numbers, count,
                [=](int64_t begin, int64_t end, const uint32_t* drawn) {
                  for (int64_t i = begin; i < end; ++i) {
                    const bool kept = drawn[i - begin] < bound;
                    // A product, so that NaN and infinity are not hidden.
                    const C factor = kept ? scale : C(0);
                    out[i] = static_cast<T>(static_cast<C>(input[i]) * factor);
                    if (mask != nullptr) mask[i] = kept;
                  }
                });
}

}  // namespace

Status randomPermutation(const Queue& queue, const TensorView& out,
                         RandomSource* source) {
  DenseTensor y(queue, out, Order::kRowMajor, DType::kInt64);
  if (!y.open()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, 2 * out.numel);
  const bool sent =
      queue.launch([numbers, count = out.numel, y = y.address<int64_t>()] {
        shuffle(numbers, count, y);
      });
  return sent ? y.store() : Status::kFailed;
}

Status multinomial(const Queue& queue, const TensorView& out,
                   const TensorView& weights, bool replacement,
                   RandomSource* source) {
  if (!isFloating(weights.dtype)) {
    return unsupportedDType("multinomial", weights.dtype);
  }
  if (weights.ndim < 1 || weights.ndim > 2 || out.ndim != weights.ndim) {
    return fail(Status::kInvalid, "multinomial: weights of %d dimensions",
                weights.ndim);
  }
  Sampling s{};
  s.rows = weights.ndim == 2 ? weights.sizes[0] : 1;
  s.choices = weights.sizes[weights.ndim - 1];
  s.samples = out.sizes[out.ndim - 1];
  if (out.numel == 0) return Status::kOk;
  if (out.numel != s.rows * s.samples || s.choices < 1 ||
      (!replacement && s.samples > s.choices)) {
    return fail(Status::kInvalid, "multinomial: %ld samples of %ld choices",
                long(s.samples), long(s.choices));
  }
  DenseTensor w(queue, weights, Order::kRowMajor, DType::kFloat64);
  DenseTensor y(queue, out, Order::kRowMajor, DType::kInt64);
  if (!w.load() || !y.open()) return Status::kFailed;
  void* scratch = scratchAddress(queue, 16 * s.choices);
  if (scratch == nullptr) return Status::kFailed;
  s.numbers =
      takeNumbers(source, 2 * s.rows * (replacement ? s.samples : s.choices));
  s.weights = w.address<const double>();
  s.scratch = static_cast<double*>(scratch);
  s.indices = static_cast<int64_t*>(scratch) + s.choices;
  s.out = y.address<int64_t>();
  const bool sent = queue.launch([s, replacement] {
    if (replacement) {
      s.withReplacement();
    } else {
      s.withoutReplacement();
    }
  });
  return sent ? y.store() : Status::kFailed;
}

Status dropout(const Queue& queue, const TensorView& out,
               const TensorView& mask, const TensorView& input, double p,
               RandomSource* source) {
  if (!sameShape(out, input) || !(p >= 0.0 && p <= 1.0)) {
    return fail(Status::kInvalid,
                "dropout: probability %g, or out and input differ", p);
  }
  if (!isFloating(input.dtype)) return unsupportedDType("dropout", input.dtype);
  if (out.numel == 0) return Status::kOk;
  DenseTensor x(queue, input, Order::kRowMajor);
  DenseTensor y(queue, out, Order::kRowMajor);
  DenseTensor kept(queue, mask, Order::kRowMajor, DType::kBool);
  if (!x.load() || !y.open() || !kept.open()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, out.numel);
  const Status sent = launchFloating(
      queue, "dropout", input.dtype,
      [numbers, p, x = x.address(), y = y.address(), count = out.numel,
       kept = kept.address<bool>()](auto tag) {
        using T = typename decltype(tag)::type;
        drop(numbers, p, static_cast<const T*>(x), count, static_cast<T*>(y),
             kept);
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&y, &kept});
}

}  // namespace dipu::kernels
