// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace dipu::pccl {
namespace {

template <typename T>
std::vector<T> reduced(pcclDataType_t dtype, pcclRedOp_t op,
                       const std::vector<std::vector<T>>& inputs) {
  std::vector<const char*> sources;
  for (const auto& input : inputs) {
    sources.push_back(reinterpret_cast<const char*>(input.data()));
  }
  std::vector<T> out(inputs[0].size());
  std::vector<T> copy(out.size());
  reduce(dtype, op, sources, out.size(), reinterpret_cast<char*>(out.data()),
         reinterpret_cast<char*>(copy.data()));
  EXPECT_EQ(out.size(), copy.size());
  // Bits, as NaN is not equal to itself.
  EXPECT_EQ(std::memcmp(out.data(), copy.data(), out.size() * sizeof(T)), 0);
  return out;
}

template <typename T>
void expectIntegers(pcclDataType_t dtype) {
  using V = std::vector<T>;
  const std::vector<V> inputs = {{3, 100, 7}, {5, 100, 7}, {1, 100, 6}};
  EXPECT_EQ(reduced(dtype, pcclSum, inputs), (V{9, T(300), 20}));
  EXPECT_EQ(reduced(dtype, pcclProd, inputs), (V{15, T(1000000), T(294)}));
  EXPECT_EQ(reduced(dtype, pcclMax, inputs), (V{5, 100, 7}));
  EXPECT_EQ(reduced(dtype, pcclMin, inputs), (V{1, 100, 6}));
  // Not wrapped around before the division.
  EXPECT_EQ(reduced(dtype, pcclAvg, inputs), (V{3, 100, 6}));
}

TEST(ReduceTest, IntegersOfAllWidths) {
  expectIntegers<int8_t>(pcclInt8);
  expectIntegers<uint8_t>(pcclUint8);
  expectIntegers<int32_t>(pcclInt32);
  expectIntegers<uint32_t>(pcclUint32);
  expectIntegers<int64_t>(pcclInt64);
  expectIntegers<uint64_t>(pcclUint64);
}

TEST(ReduceTest, SignsAndHighBits) {
  EXPECT_EQ(reduced<int32_t>(pcclInt32, pcclMin, {{-5, 2}, {3, -9}}),
            (std::vector<int32_t>{-5, -9}));
  EXPECT_EQ(reduced<int32_t>(pcclInt32, pcclAvg, {{-5}, {-2}}),
            (std::vector<int32_t>{-3}));
  EXPECT_EQ(reduced<uint64_t>(pcclUint64, pcclMax, {{1}, {uint64_t{1} << 63}}),
            (std::vector<uint64_t>{uint64_t{1} << 63}));
  EXPECT_EQ(reduced<int64_t>(pcclInt64, pcclSum,
                             {{std::numeric_limits<int64_t>::max()}, {1}}),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min()}));
}

TEST(ReduceTest, FloatsPropagateNan) {
  const float nan = std::nanf("");
  for (const pcclRedOp_t op : {pcclSum, pcclProd, pcclMax, pcclMin, pcclAvg}) {
    const auto out = reduced<float>(pcclFloat, op, {{nan, 1, 2}, {1, nan, 4}});
    EXPECT_TRUE(std::isnan(out[0])) << op;
    EXPECT_TRUE(std::isnan(out[1])) << op;
    EXPECT_FALSE(std::isnan(out[2])) << op;
  }
}

bool isHalfNan(uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }
bool isBfloat16Nan(uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

// A sum of one value is the value: both conversions are exact.
TEST(ReduceTest, EverySixteenBitNumberComesBack) {
  std::vector<uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
  const auto halves = reduced<uint16_t>(pcclHalf, pcclSum, {all});
  const auto bfloats = reduced<uint16_t>(pcclBfloat16, pcclSum, {all});
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    EXPECT_EQ(isHalfNan(halves[i]), isHalfNan(bits)) << i;
    EXPECT_EQ(isBfloat16Nan(bfloats[i]), isBfloat16Nan(bits)) << i;
    if (!isHalfNan(bits)) {
      EXPECT_EQ(halves[i], bits);
    }
    if (!isBfloat16Nan(bits)) {
      EXPECT_EQ(bfloats[i], bits);
    }
  }
}

TEST(ReduceTest, SixteenBitNumbersAreAddedInFloat32) {
  // 2048 + 1 + 1 in float16 and 256 + 1 + 1 in bfloat16: each 1 alone is lost.
  EXPECT_EQ(
      reduced<uint16_t>(pcclHalf, pcclSum, {{0x6800}, {0x3c00}, {0x3c00}}),
      (std::vector<uint16_t>{0x6801}));
  EXPECT_EQ(
      reduced<uint16_t>(pcclBfloat16, pcclSum, {{0x4380}, {0x3f80}, {0x3f80}}),
      (std::vector<uint16_t>{0x4381}));
}

TEST(ReduceTest, SixteenBitNumbersRoundToEvenAndOverflow) {
  // 2048 + 1 is a tie, 2050 + 1 another; 65504 + 65504 is too much.
  EXPECT_EQ(
      reduced<uint16_t>(pcclHalf, pcclSum,
                        {{0x6800, 0x6801, 0x7bff}, {0x3c00, 0x3c00, 0x7bff}}),
      (std::vector<uint16_t>{0x6800, 0x6802, 0x7c00}));
  // The smallest subnormal number: half of it is a tie as well.
  EXPECT_EQ(reduced<uint16_t>(pcclHalf, pcclAvg, {{1, 3}, {0, 0}}),
            (std::vector<uint16_t>{0, 2}));
}

// More than one block, and a rest.
TEST(ReduceTest, LongInputs) {
  std::vector<float> a(5000);
  std::vector<float> b(5000);
  for (int i = 0; i < 5000; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 0.5f;
  }
  const auto out = reduced<float>(pcclFloat, pcclSum, {a, b});
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(out[i], a[i] + 0.5f);
}

}  // namespace
}  // namespace dipu::pccl
