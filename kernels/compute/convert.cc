// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convert.h"

#include <utility>

#include "kernels/compute/dtype.h"

namespace dipu::kernels {
namespace {

// Index = DType.
template <int dtype>
struct StorageOf;
#define DIPU_STORAGE(index, cpp_type) \
  template <>                         \
  struct StorageOf<index> {           \
    using type = cpp_type;            \
  }
DIPU_STORAGE(0, int8_t);
DIPU_STORAGE(1, uint8_t);
DIPU_STORAGE(2, int16_t);
DIPU_STORAGE(3, uint16_t);
DIPU_STORAGE(4, int32_t);
DIPU_STORAGE(5, uint32_t);
DIPU_STORAGE(6, int64_t);
DIPU_STORAGE(7, uint64_t);
DIPU_STORAGE(8, Float16);
DIPU_STORAGE(9, float);
DIPU_STORAGE(10, double);
DIPU_STORAGE(11, bool);
DIPU_STORAGE(12, BFloat16);
#undef DIPU_STORAGE

template <typename To, typename From>
void convertDense(To* to, const From* from, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = convertValue<To>(from[i]);
}

// The compiler does not vectorise F16C by itself.
template <>
void convertDense(float* to, const Float16* from, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <>
void convertDense(Float16* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  for (; i < count; ++i) to[i] = Float16(from[i]);
}

template <typename To, typename From>
void convertStrided(void* to, int64_t to_stride, const void* from,
                    int64_t from_stride, int64_t count) {
  constexpr int64_t kTo = sizeof(To);
  constexpr int64_t kFrom = sizeof(From);
  if (to_stride == kTo && from_stride == kFrom) {
    convertDense(static_cast<To*>(to), static_cast<const From*>(from), count);
    return;
  }
  if (from_stride == 0) {
    const To value = convertValue<To>(*static_cast<const From*>(from));
    const int64_t step = to_stride / kTo;
    To* target = static_cast<To*>(to);
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) target[i] = value;
    } else {
      for (int64_t i = 0; i < count; ++i) target[i * step] = value;
    }
    return;
  }
  const int64_t to_step = to_stride / kTo;
  const int64_t from_step = from_stride / kFrom;
  To* target = static_cast<To*>(to);
  const From* source = static_cast<const From*>(from);
  if (to_step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      target[i] = convertValue<To>(source[i * from_step]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    target[i * to_step] = convertValue<To>(source[i * from_step]);
  }
}

constexpr int kPairs = kDTypeCount * kDTypeCount;

struct Table {
  Convert functions[kPairs];
};

template <int... pairs>
constexpr Table makeTable(std::integer_sequence<int, pairs...>) {
  return {{&convertStrided<typename StorageOf<pairs / kDTypeCount>::type,
                           typename StorageOf<pairs % kDTypeCount>::type>...}};
}

constexpr Table kTable = makeTable(std::make_integer_sequence<int, kPairs>());

}  // namespace

Convert convertFunction(DType to, DType from) {
  const auto row = static_cast<unsigned>(to);
  const auto column = static_cast<unsigned>(from);
  constexpr unsigned kCount = kDTypeCount;
  if (row >= kCount || column >= kCount) return nullptr;
  return kTable.functions[row * kCount + column];
}

}  // namespace dipu::kernels
