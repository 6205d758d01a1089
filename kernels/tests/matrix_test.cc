// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

TEST(Matrix, MakesDiagonalsAndSumsThem) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, 7);
  ASSERT_EQ(eye(queue, x.transposed(0, 1).view()), Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{1, 0, 0, 0, 1, 0}));
  const DeviceTensor<int64_t> out({}, int64_t{0});
  ASSERT_EQ(trace(queue, out.view(), x.view()), Status::kOk);
  EXPECT_EQ(out.read()[0], 2);
  const DeviceTensor<int32_t> vector({2}, 7);
  EXPECT_EQ(trace(queue, out.view(), vector.view()), Status::kInvalid);
}

TEST(Matrix, ListsTriangles) {
  TestQueue queue;
  const DeviceTensor<int64_t> lower({2, 5}, int64_t{-1});
  ASSERT_EQ(triangleIndices(queue, lower.view(), true, 3, 1), Status::kOk);
  EXPECT_EQ(lower.read(), (std::vector<int64_t>{0, 0, 1, 1, 1, 0, 1, 0, 1, 2}));
  const DeviceTensor<int32_t> upper({2, 3}, -1);
  ASSERT_EQ(triangleIndices(queue, upper.view(), false, 2, -1), Status::kOk);
  EXPECT_EQ(upper.read(), (std::vector<int32_t>{0, 0, 1, 0, 1, 0}));
}

TEST(Matrix, MultipliesVectorsCrosswise) {
  TestQueue queue;
  const DeviceTensor<float> a({3, 2}, {1, 0, 0, 1, 0, 0});
  const DeviceTensor<float> b({3, 1}, {0, 0, 1});
  const DeviceTensor<float> out({3, 2}, 9.0f);
  ASSERT_EQ(cross(queue, out.view(), a.view(), b.view(), 0), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 1, -1, 0, 0, 0}));
  EXPECT_EQ(cross(queue, out.view(), a.view(), b.view(), 1), Status::kInvalid);
}

TEST(Matrix, AddsAProductWithAVector) {
  TestQueue queue;
  const DeviceTensor<float> matrix({2, 3}, {1, 2, 3, 4, 5, 6});
  const DeviceTensor<float> vector({3}, {1, 0, 1});
  const DeviceTensor<float> one({}, 1.0f);
  const DeviceTensor<float> out({2}, 0.0f);
  ASSERT_EQ(addmv(queue, out.view(), one.view(), matrix.view(), vector.view(),
                  2.0, 3.0),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{11, 23}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DeviceTensor<float> ignored({2}, nan);
  ASSERT_EQ(addmv(queue, out.view(), ignored.view(), matrix.view(),
                  vector.view(), 1.0, 0.0),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{4, 10}));
}

TEST(Matrix, AddsTheProductsOfABatch) {
  TestQueue queue;
  const auto a = randomTensor<double>({4, 3, 5}, 1);
  const auto b = randomTensor<double>({4, 5, 2}, 2);
  const DeviceTensor<double> input({2}, {1, 2});
  const DeviceTensor<double> out({3, 2}, 0.0);
  ASSERT_EQ(
      addbmm(queue, out.view(), input.view(), a.view(), b.view(), 2.0, 0.5),
      Status::kOk);
  const auto x = a.read();
  const auto y = b.read();
  const auto actual = out.read();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t n = 0; n < 4; ++n) {
        for (std::size_t k = 0; k < 5; ++k) {
          sum += x[(n * 3 + i) * 5 + k] * y[(n * 5 + k) * 2 + j];
        }
      }
      const double added = 0.5 * static_cast<double>(j + 1);
      EXPECT_NEAR(actual[i * 2 + j], added + 2.0 * sum, 1e-12);
    }
  }
}

TEST(Matrix, SpacesPowersEvenly) {
  TestQueue queue;
  const DeviceTensor<double> out({4}, 0.0);
  ASSERT_EQ(logspace(queue, out.view(), 0, 3, 10), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1, 10, 100, 1000}));
  const DeviceTensor<int32_t> one({1}, 0);
  ASSERT_EQ(logspace(queue, one.view(), 3, 5, 2), Status::kOk);
  EXPECT_EQ(one.read()[0], 8);
}

}  // namespace
}  // namespace dipu::kernels
