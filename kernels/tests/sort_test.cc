// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::TestQueue;

TEST(Sort, IsStableAndPutsNaNLast) {
  TestQueue queue;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DeviceTensor<float> x({5}, {2, nan, -0.0f, 0.0f, -1});
  const DeviceTensor<float> values({5}, 0.0f);
  const DeviceTensor<int64_t> indices({5}, int64_t{0});
  ASSERT_EQ(sort(queue, values.view(), indices.view(), x.view(), -1, false),
            Status::kOk);
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{4, 2, 3, 0, 1}));
  ASSERT_EQ(sort(queue, values.view(), indices.view(), x.view(), 0, true),
            Status::kOk);
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{1, 0, 2, 3, 4}));
}

TEST(Sort, TakesTheLargestOfEachColumn) {
  TestQueue queue;
  const DeviceTensor<int64_t> x({3, 2}, {1, 9, 7, 2, 5, 4});
  const DeviceTensor<int64_t> values({2, 2}, int64_t{0});
  const DeviceTensor<int32_t> indices({2, 2}, 0);
  ASSERT_EQ(topk(queue, values.view(), indices.view(), x.view(), 2, 0, true),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<int64_t>{7, 9, 5, 4}));
  EXPECT_EQ(indices.read(), (std::vector<int32_t>{1, 0, 2, 2}));
  EXPECT_EQ(topk(queue, values.view(), indices.view(), x.view(), 4, 0, true),
            Status::kInvalid);
}

TEST(Sort, TheLargestZeroElementsOfANumberAreTheNumber) {
  TestQueue queue;
  const DeviceTensor<float> x({}, 3.0f);
  const DeviceTensor<float> values({}, -1.0f);
  const DeviceTensor<int64_t> indices({}, int64_t{-1});
  ASSERT_EQ(topk(queue, values.view(), indices.view(), x.view(), 0, 0, true),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<float>{3}));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{0}));
}

template <typename T>
class SortOf : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16, int8_t,
                               uint8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(SortOf, Types);

// Few different values, so that many are equal.
template <typename T>
std::vector<T> someOf(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    const int value = static_cast<int>(random() % 120);
    const int signed_value = std::is_unsigned_v<T> ? value : value - 60;
    values.push_back(static_cast<T>(static_cast<ComputeType<T>>(signed_value)));
  }
  return values;
}

template <typename T>
std::vector<int64_t> expectedOrder(const std::vector<T>& values,
                                   bool descending) {
  std::vector<int64_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    order.push_back(static_cast<int64_t>(i));
  }
  const auto number = [&](int64_t i) {
    return asDouble(values[static_cast<std::size_t>(i)]);
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? number(a) > number(b) : number(a) < number(b);
  });
  return order;
}

// The lengths stand before and behind those where the way of sorting changes.
TYPED_TEST(SortOf, OrdersLinesOfEveryLength) {
  TestQueue queue;
  for (const int64_t n : {1, 2, 7, 8, 9, 16, 63, 511, 512, 3000}) {
    const auto input = someOf<TypeParam>(n, static_cast<uint32_t>(n));
    const DeviceTensor<TypeParam> x({n}, input);
    const DeviceTensor<TypeParam> values({n}, TypeParam{});
    const DeviceTensor<int64_t> indices({n}, int64_t{0});
    for (const bool descending : {false, true}) {
      ASSERT_EQ(
          sort(queue, values.view(), indices.view(), x.view(), 0, descending),
          Status::kOk);
      const auto order = expectedOrder(input, descending);
      ASSERT_EQ(indices.read(), order) << n << " elements";
      const auto sorted = values.read();
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        ASSERT_EQ(asDouble(sorted[i]),
                  asDouble(input[static_cast<std::size_t>(order[i])]));
      }
    }
  }
}

// Keys of 32 bits hold the ends of 32-bit types.
TEST(Sort, OrdersTheEndsOfTypes) {
  TestQueue queue;
  using Limits = std::numeric_limits<int32_t>;
  const DeviceTensor<int32_t> x({4}, {Limits::max(), 0, Limits::min(), -1});
  const DeviceTensor<int32_t> values({4}, 0);
  const DeviceTensor<int64_t> indices({4}, int64_t{0});
  ASSERT_EQ(sort(queue, values.view(), indices.view(), x.view(), 0, false),
            Status::kOk);
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{2, 3, 1, 0}));

  const DeviceTensor<uint32_t> y({3}, {0xffffffffu, 0u, 0x80000000u});
  const DeviceTensor<uint32_t> same({3}, 0u);
  const DeviceTensor<int64_t> places({3}, int64_t{0});
  ASSERT_EQ(sort(queue, same.view(), places.view(), y.view(), 0, false),
            Status::kOk);
  EXPECT_EQ(places.read(), (std::vector<int64_t>{1, 2, 0}));
}

}  // namespace
}  // namespace dipu::kernels
