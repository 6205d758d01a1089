// SPDX-License-Identifier: Apache-2.0
#include "tests/samples/difference.h"

#include <diopi/diopirt.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace dipu::samples {
namespace {

template <typename T>
Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string compareFloats(std::vector<float> a, std::vector<float> b) {
  return difference(diopi_dtype_float32, 0.01, bytesOf(a), bytesOf(b));
}

TEST(Difference, AllowsWhatRoundingExplains) {
  EXPECT_EQ(compareFloats({1.0f, 100.0f, -0.0f}, {1.01f, 101.0f, 0.0f}), "");
  EXPECT_EQ(compareFloats({1.0f, 2.5f}, {1.0f, 2.0f}),
            "element 1 is 2.5 instead of 2");
}

TEST(Difference, TellsNaNAndInfinitiesFromNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compareFloats({NAN, inf, -inf}, {NAN, inf, -inf}), "");
  EXPECT_NE(compareFloats({NAN}, {1.0f}), "");
  EXPECT_NE(compareFloats({1.0f}, {NAN}), "");
  EXPECT_NE(compareFloats({1.0f}, {inf}), "");
  EXPECT_NE(compareFloats({-inf}, {inf}), "");
}

TEST(Difference, ReadsSixteenBits) {
  const Bytes halves = bytesOf<uint16_t>({0x3e00, 0xfc00, 0x0001, 0x7e00});
  EXPECT_EQ(difference(diopi_dtype_float16, 0, halves, halves), "");
  const Bytes others = bytesOf<uint16_t>({0xbc00, 0xfc00, 0x0001, 0x7e00});
  EXPECT_EQ(difference(diopi_dtype_float16, 0.01, halves, others),
            "element 0 is 1.5 instead of -1");
  EXPECT_EQ(difference(diopi_dtype_bfloat16, 0.01, bytesOf<uint16_t>({0x3fc0}),
                       bytesOf<uint16_t>({0x4000})),
            "element 0 is 1.5 instead of 2");
}

TEST(Difference, ComparesIntegersExactly) {
  const int64_t large = int64_t{1} << 60;
  EXPECT_NE(difference(diopi_dtype_int64, 0, bytesOf<int64_t>({large}),
                       bytesOf<int64_t>({large + 1})),
            "");
  EXPECT_EQ(difference(diopi_dtype_int8, 0, bytesOf<int8_t>({1, -2}),
                       bytesOf<int8_t>({1, 3})),
            "element 1 is -2 instead of 3");
}

TEST(Difference, RefusesOtherSizesAndTypes) {
  EXPECT_EQ(compareFloats({1.0f}, {1.0f, 2.0f}), "4 bytes instead of 8");
  EXPECT_THROW(itemSize(diopi_dtype_complex64), std::runtime_error);
}

}  // namespace
}  // namespace dipu::samples
