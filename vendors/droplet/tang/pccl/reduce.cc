// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/reduce.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace dipu::pccl {
namespace {

template <typename To, typename From>
To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The conversions have no branches, so that loops over them are vectorised.
struct Half {
  uint16_t bits;
};

inline float widen(Half value) {
  // The exponent is corrected by a product, which is right for subnormals too.
  const uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  const float scaled = bitCast<float>(magnitude) * bitCast<float>(0x77800000u);
  const uint32_t special = (value.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  return bitCast<float>(bitCast<uint32_t>(scaled) | special | sign);
}

inline void narrow(float value, Half* out) {
  const uint32_t bits = bitCast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal numbers: to nearest, ties to even, with the exponent's new bias.
  const uint32_t normal =
      (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Subnormal ones: an addition of 0.5 shifts and rounds.
  const float shifted = bitCast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = bitCast<uint32_t>(shifted) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  out->bits = static_cast<uint16_t>(result | sign);
}

struct Bfloat16 {
  uint16_t bits;
};

inline float widen(Bfloat16 value) {
  return bitCast<float>(uint32_t{value.bits} << 16);
}

inline void narrow(float value, Bfloat16* out) {
  const uint32_t bits = bitCast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  out->bits = static_cast<uint16_t>(is_nan ? 0x7fc0u : rounded);
}

// Integers are added in a wider type where there is one, so that an average
// does not overflow; what is narrowed again wraps around.
inline int32_t widen(int8_t value) { return value; }
inline int32_t widen(uint8_t value) { return value; }
inline int64_t widen(int32_t value) { return value; }
inline int64_t widen(uint32_t value) { return value; }
inline int64_t widen(int64_t value) { return value; }
inline uint64_t widen(uint64_t value) { return value; }
inline float widen(float value) { return value; }

template <typename Wide, typename T>
inline void narrow(Wide value, T* out) {
  *out = static_cast<T>(value);
}

// Overflow of signed integers wraps around.
template <typename Wide>
using Wrapping = typename std::conditional_t<std::is_integral_v<Wide>,
                                             std::make_unsigned<Wide>,
                                             std::common_type<Wide>>::type;

struct Sum {
  template <typename Wide>
  static Wide apply(Wide a, Wide b) {
    using W = Wrapping<Wide>;
    return static_cast<Wide>(static_cast<W>(a) + static_cast<W>(b));
  }
};

struct Prod {
  template <typename Wide>
  static Wide apply(Wide a, Wide b) {
    using W = Wrapping<Wide>;
    return static_cast<Wide>(static_cast<W>(a) * static_cast<W>(b));
  }
};

template <typename Wide>
bool isNan(Wide value) {
  if constexpr (std::is_floating_point_v<Wide>) return value != value;
  return false;
}

struct Max {
  template <typename Wide>
  static Wide apply(Wide a, Wide b) {
    return !isNan(a) && (a < b || isNan(b)) ? b : a;
  }
};

struct Min {
  template <typename Wide>
  static Wide apply(Wide a, Wide b) {
    return !isNan(a) && (b < a || isNan(b)) ? b : a;
  }
};

// Elements that are reduced at a time, so that the sums stay in the cache.
constexpr std::size_t kBlock = 1024;

template <typename T, typename Op>
void reduceBlock(const std::vector<const char*>& sources, std::size_t begin,
                 std::size_t count, bool is_average, T* result) {
  using Wide = decltype(widen(T{}));
  Wide wide[kBlock];
  const T* first = reinterpret_cast<const T*>(sources[0]) + begin;
  for (std::size_t i = 0; i < count; ++i) wide[i] = widen(first[i]);
  for (std::size_t rank = 1; rank < sources.size(); ++rank) {
    const T* source = reinterpret_cast<const T*>(sources[rank]) + begin;
    for (std::size_t i = 0; i < count; ++i) {
      wide[i] = Op::apply(wide[i], static_cast<Wide>(widen(source[i])));
    }
  }
  if (is_average) {
    const auto divisor = static_cast<Wide>(sources.size());
    for (std::size_t i = 0; i < count; ++i) wide[i] = wide[i] / divisor;
  }
  for (std::size_t i = 0; i < count; ++i) narrow(wide[i], &result[i]);
}

template <typename T, typename Op>
void reduceAll(const std::vector<const char*>& sources, std::size_t count,
               bool is_average, char* out, char* copy) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t length = std::min(kBlock, count - begin);
    T* const result = reinterpret_cast<T*>(out) + begin;
    reduceBlock<T, Op>(sources, begin, length, is_average, result);
    if (copy != nullptr) {
      std::memcpy(reinterpret_cast<T*>(copy) + begin, result,
                  length * sizeof(T));
    }
  }
}

template <typename T>
void reduceType(int32_t op, const std::vector<const char*>& sources,
                std::size_t count, char* out, char* copy) {
  switch (op) {
    case pcclProd:
      return reduceAll<T, Prod>(sources, count, false, out, copy);
    case pcclMax:
      return reduceAll<T, Max>(sources, count, false, out, copy);
    case pcclMin:
      return reduceAll<T, Min>(sources, count, false, out, copy);
    default:
      return reduceAll<T, Sum>(sources, count, op == pcclAvg, out, copy);
  }
}

}  // namespace

void reduce(int32_t dtype, int32_t op, const std::vector<const char*>& sources,
            std::size_t count, char* out, char* copy) {
  switch (dtype) {
    case pcclInt8:
      return reduceType<int8_t>(op, sources, count, out, copy);
    case pcclUint8:
      return reduceType<uint8_t>(op, sources, count, out, copy);
    case pcclInt32:
      return reduceType<int32_t>(op, sources, count, out, copy);
    case pcclUint32:
      return reduceType<uint32_t>(op, sources, count, out, copy);
    case pcclInt64:
      return reduceType<int64_t>(op, sources, count, out, copy);
    case pcclUint64:
      return reduceType<uint64_t>(op, sources, count, out, copy);
    case pcclHalf:
      return reduceType<Half>(op, sources, count, out, copy);
    case pcclFloat:
      return reduceType<float>(op, sources, count, out, copy);
    default:
      return reduceType<Bfloat16>(op, sources, count, out, copy);
  }
}

}  // namespace dipu::pccl
