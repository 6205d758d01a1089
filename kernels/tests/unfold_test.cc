// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/unfold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compute/pooling/unpool.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::TestQueue;

PoolArguments windows() {
  PoolArguments a;
  a.height.kernel = a.width.kernel = 2;
  a.width.padding = 1;
  return a;
}

TEST(UnfoldTest, ColumnsAndBack) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2, 2}, {1, 2, 3, 4});
  const DeviceTensor<float> columns({4, 3}, -1.0F);
  const DeviceTensor<float> sums({1, 2, 2}, -1.0F);
  ASSERT_EQ(imageToColumns(queue, columns.view(), x.view(), windows()),
            Status::kOk);
  ASSERT_EQ(columnsToImage(queue, sums.view(), columns.view(), windows()),
            Status::kOk);
  EXPECT_EQ(columns.read(),
            (std::vector<float>{0, 1, 2, 1, 2, 0, 0, 3, 4, 3, 4, 0}));
  EXPECT_EQ(sums.read(), (std::vector<float>{2, 4, 6, 8}));
  const DeviceTensor<float> wrong({4, 2}, 0.0F);
  EXPECT_EQ(imageToColumns(queue, wrong.view(), x.view(), windows()),
            Status::kInvalid);
}

TEST(UnfoldTest, OneDimension) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({5}, {0, 1, 2, 3, 4});
  const DeviceTensor<int32_t> out({2, 3}, -1);
  ASSERT_EQ(unfoldDimension(queue, out.view(), x.view(), 0, 3, 2), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{0, 1, 2, 2, 3, 4}));
  const DeviceTensor<float> g({2, 3}, {1, 2, 3, 4, 5, 6});
  const DeviceTensor<float> dx({6}, -1.0F);
  ASSERT_EQ(unfoldDimensionBackward(queue, dx.view(), g.view(), 0, 3, 2),
            Status::kOk);
  EXPECT_EQ(dx.read(), (std::vector<float>{1, 2, 7, 5, 6, 0}));
}

TEST(UnfoldTest, NoDimension) {
  TestQueue queue;
  const DeviceTensor<float> number({}, {-1.0F});
  const DeviceTensor<float> g({1}, {3});
  ASSERT_EQ(unfoldDimensionBackward(queue, number.view(), g.view(), 0, 1, 1),
            Status::kOk);
  EXPECT_EQ(number.read(), (std::vector<float>{3}));
  const DeviceTensor<float> none({0}, 0.0F);
  ASSERT_EQ(unfoldDimensionBackward(queue, number.view(), none.view(), 0, 0, 1),
            Status::kOk);
  EXPECT_EQ(number.read(), (std::vector<float>{0}));
  EXPECT_EQ(unfoldDimensionBackward(queue, number.view(), g.view(), 0, 2, 1),
            Status::kInvalid);
}

TEST(UnfoldTest, RefusesWindowsOfAnotherTensor) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 5}, 1.0F);
  const DeviceTensor<float> dx({3, 5}, 1.0F);
  const DeviceTensor<float> more({3, 2, 3}, 0.0F);
  const DeviceTensor<float> fewer({2, 2, 3}, 0.0F);
  EXPECT_EQ(unfoldDimension(queue, more.view(), x.view(), 1, 3, 2),
            Status::kInvalid);
  EXPECT_EQ(unfoldDimensionBackward(queue, dx.view(), fewer.view(), 1, 3, 2),
            Status::kInvalid);
}

TEST(UnpoolTest, PutsElementsBack) {
  TestQueue queue;
  const DeviceTensor<int16_t> x({2, 1, 2}, {5, 6, 7, 8});
  const DeviceTensor<int64_t> where({2, 1, 2}, {3, 0, 1, 2});
  const DeviceTensor<int16_t> out({2, 2, 2}, int16_t{-1});
  ASSERT_EQ(maxUnpool(queue, out.view(), x.view(), where.view(), 2),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int16_t>{6, 0, 0, 5, 0, 7, 8, 0}));
}

TEST(UnpoolTest, WindowsAtRandomPlaces) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 1, 6}, {1, 5, 2, 4, 3, 0});
  const DeviceTensor<float> samples({1, 1, 2}, {0.5F, 0.0F});
  const DeviceTensor<float> out({1, 1, 3}, 0.0F);
  const DeviceTensor<int64_t> where({1, 1, 3}, int64_t{-1});
  PoolArguments a;
  a.width.kernel = 2;
  // Windows start at 0, 2 and 4: (4 / 2) apart.
  ASSERT_EQ(fractionalMaxPool(queue, out.view(), where.view(), x.view(),
                              samples.view(), a),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{5, 4, 3}));
  EXPECT_EQ(where.read(), (std::vector<int64_t>{1, 3, 4}));
}

// A sample is taken as it is, but no window leaves the image.
TEST(UnpoolTest, KeepsWindowsInsideForAnySample) {
  TestQueue queue;
  const DeviceTensor<float> x({4, 1, 6}, 1.0F);
  const float samples[] = {-1e30F, 1e30F, std::nanf(""), 3.0F};
  const DeviceTensor<float> s(
      {1, 4, 2}, {samples[0], 0, samples[1], 0, samples[2], 0, samples[3], 0});
  const DeviceTensor<float> out({4, 1, 3}, 0.0F);
  const DeviceTensor<int64_t> where({4, 1, 3}, int64_t{-1});
  PoolArguments a;
  a.width.kernel = 2;
  ASSERT_EQ(
      fractionalMaxPool(queue, out.view(), where.view(), x.view(), s.view(), a),
      Status::kOk);
  EXPECT_EQ(where.read(),
            (std::vector<int64_t>{0, 0, 4, 0, 0, 4, 0, 0, 4, 0, 2, 4}));
  const DeviceTensor<double> wide({4, 1, 3}, 0.0);
  const DeviceTensor<float> planes({5, 1, 3}, 0.0F);
  const DeviceTensor<int64_t> few({4, 1, 2}, int64_t{0});
  for (const auto& [result, indices] : {std::pair(wide.view(), where.view()),
                                        std::pair(planes.view(), where.view()),
                                        std::pair(out.view(), few.view())}) {
    EXPECT_EQ(fractionalMaxPool(queue, result, indices, x.view(), s.view(), a),
              Status::kInvalid);
  }
}

}  // namespace
}  // namespace dipu::kernels
