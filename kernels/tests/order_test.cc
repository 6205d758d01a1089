// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compute/unique.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Order, FindsTheKthSmallestOfEachColumn) {
  TestQueue queue;
  const auto x = randomTensor<float>({101, 7}, 1);
  const DeviceTensor<float> values({7}, 0.0f);
  const DeviceTensor<int64_t> indices({1, 7}, int64_t{0});
  ASSERT_EQ(kthValue(queue, values.view(), indices.view(), x.view(), 31, 0),
            Status::kOk);
  const auto all = x.read();
  for (std::size_t j = 0; j < 7; ++j) {
    std::vector<float> column;
    for (std::size_t i = 0; i < 101; ++i) column.push_back(all[i * 7 + j]);
    const auto at = static_cast<std::size_t>(indices.read()[j]);
    EXPECT_EQ(column[at], values.read()[j]);
    std::sort(column.begin(), column.end());
    EXPECT_EQ(column[30], values.read()[j]);
  }
  EXPECT_EQ(kthValue(queue, values.view(), indices.view(), x.view(), 102, 0),
            Status::kInvalid);
  EXPECT_EQ(kthValue(queue, values.view(), indices.view(), x.view(), 0, 0),
            Status::kInvalid);
}

TEST(Order, TakesTheLowerOfTwoMiddleElements) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 4}, {4, 1, 3, 2, 9, 7, 7, 8});
  const DeviceTensor<int32_t> values({2, 1}, 0);
  const DeviceTensor<int64_t> indices({2, 1}, int64_t{0});
  ASSERT_EQ(median(queue, values.view(), indices.view(), x.view(), -1, false),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<int32_t>{2, 7}));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{3, 2}));
}

TEST(Order, MakesNaNTheMedianUnlessItIsIgnored) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, {3, kNaN, 1, kNaN, kNaN, kNaN});
  const DeviceTensor<float> values({2}, 0.0f);
  const DeviceTensor<int64_t> indices({2}, int64_t{0});
  ASSERT_EQ(median(queue, values.view(), indices.view(), x.view(), 1, false),
            Status::kOk);
  EXPECT_TRUE(std::isnan(values.read()[0]));
  EXPECT_EQ(indices.read()[0], 1);
  ASSERT_EQ(median(queue, values.view(), {}, x.view(), 1, true), Status::kOk);
  EXPECT_EQ(values.read()[0], 1.0f);
  EXPECT_TRUE(std::isnan(values.read()[1]));
}

TEST(Order, PrefersTheSmallestOfEquallyFrequentElements) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 5}, {2, 1, 2, 1, 3, kNaN, kNaN, 4, 6, 6});
  const DeviceTensor<float> values({2}, 0.0f);
  const DeviceTensor<int32_t> indices({2}, 0);
  ASSERT_EQ(mode(queue, values.view(), indices.view(), x.view(), 1),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<float>{1, 6}));
  EXPECT_EQ(indices.read(), (std::vector<int32_t>{3, 4}));
}

TEST(Order, RefusesLinesWithoutElements) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 0}, 0.0f);
  const DeviceTensor<float> values({2}, 0.0f);
  EXPECT_EQ(median(queue, values.view(), {}, x.view(), 1, false),
            Status::kInvalid);
  EXPECT_EQ(mode(queue, values.view(), {}, x.view(), 1), Status::kInvalid);
}

std::vector<int64_t> readVector(TestQueue& queue, const TensorView& view) {
  std::vector<int64_t> values(static_cast<std::size_t>(view.numel));
  EXPECT_EQ(queue.wait(), SOFT_OK);
  soft_memcpy(values.data(), view.data, values.size() * sizeof(int64_t));
  return values;
}

TEST(Unique, GroupsEqualElementsInOrder) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, {2, 1, 2, kNaN, 1, kNaN});
  const DeviceTensor<int64_t> inverse({2, 3}, int64_t{-1});
  UniqueGroups groups;
  ASSERT_EQ(unique(queue, x.view(), nullptr, UniqueOrder::kSorted,
                   inverse.view(), &groups),
            Status::kOk);
  ASSERT_EQ(groups.count, 4);
  EXPECT_EQ(readVector(queue, groups.firsts),
            (std::vector<int64_t>{1, 0, 3, 5}));
  EXPECT_EQ(readVector(queue, groups.counts),
            (std::vector<int64_t>{2, 2, 1, 1}));
  EXPECT_EQ(inverse.read(), (std::vector<int64_t>{1, 0, 1, 2, 0, 3}));
}

TEST(Unique, GroupsNeighbours) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({5}, {2, 2, 1, 2, 2});
  UniqueGroups groups;
  ASSERT_EQ(
      unique(queue, x.view(), nullptr, UniqueOrder::kConsecutive, {}, &groups),
      Status::kOk);
  EXPECT_EQ(readVector(queue, groups.firsts), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(readVector(queue, groups.counts), (std::vector<int64_t>{2, 1, 2}));
}

TEST(Unique, ComparesSlicesElementByElement) {
  TestQueue queue;
  const DeviceTensor<int64_t> x({2, 4}, {3, 1, 3, 1, 0, 5, 0, 4});
  const DeviceTensor<int64_t> inverse({4}, int64_t{-1});
  const int64_t dim = -1;
  UniqueGroups groups;
  ASSERT_EQ(unique(queue, x.view(), &dim, UniqueOrder::kSorted, inverse.view(),
                   &groups),
            Status::kOk);
  EXPECT_EQ(readVector(queue, groups.firsts), (std::vector<int64_t>{3, 1, 0}));
  EXPECT_EQ(inverse.read(), (std::vector<int64_t>{2, 1, 2, 0}));
}

}  // namespace
}  // namespace dipu::kernels
