// SPDX-License-Identifier: Apache-2.0
#include <diopi/functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "diopi_adapter/abi/diopi_host.h"
#include "vendors/droplet/ops/tests/device_tensor.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace {

using dipu::droplet::DeviceTensor;
using dipu::droplet::product;
using dipu::droplet::Shape;

class SoftmaxTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("SOFTDEVICE_MEMORY", "64M", 1); }
  void SetUp() override {
    ASSERT_EQ(tangStreamCreateWithFlags(&stream_, tangStreamNonBlocking),
              tangSuccess);
    context_.stream = stream_;
  }
  void TearDown() override { EXPECT_EQ(tangDeviceReset(), tangSuccess); }

  template <typename T>
  std::vector<T> softmax(const Shape& shape, const std::vector<T>& input,
                         int64_t dim) {
    DeviceTensor<T> in(shape, input);
    DeviceTensor<T> out(shape, std::vector<T>(input.size(), T{-1}));
    EXPECT_EQ(diopiSoftmax(&context_, out.handle(), in.handle(), dim),
              diopiSuccess);
    return out.values(stream_);
  }

  template <typename T>
  void expectRight(const Shape& shape, std::size_t dim) {
    const int64_t outer = product(shape, 0, dim);
    const int64_t axis = shape[dim];
    const int64_t inner = product(shape, dim + 1, shape.size());
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0.0, 10.0);
    std::vector<T> input(outer * axis * inner);
    for (T& value : input) value = static_cast<T>(normal(random));
    const std::vector<T> output =
        softmax<T>(shape, input, static_cast<int64_t>(dim));
    const double tolerance = 20.0 * std::numeric_limits<T>::epsilon();
    for (int64_t column = 0; column < outer * inner; ++column) {
      const int64_t start = column / inner * axis * inner + column % inner;
      double largest = -std::numeric_limits<double>::infinity();
      double sum = 0.0;
      for (int64_t k = 0; k < axis; ++k) {
        largest = std::max<double>(largest, input[start + k * inner]);
      }
      for (int64_t k = 0; k < axis; ++k) {
        sum += std::exp(double{input[start + k * inner]} - largest);
      }
      for (int64_t k = 0; k < axis; ++k) {
        const double expected =
            std::exp(double{input[start + k * inner]} - largest) / sum;
        ASSERT_NEAR(output[start + k * inner], expected, tolerance)
            << "outer " << outer << " axis " << axis << " inner " << inner;
      }
    }
  }

  tangStream_t stream_ = nullptr;
  diopiContext context_{};
};

// Around the block size of 512, and with every extent at one.
TEST_F(SoftmaxTest, IsRightOnManyShapes) {
  for (int64_t outer : {1, 2, 3, 33}) {
    for (int64_t axis : {1, 2, 7, 64}) {
      for (int64_t inner : {1, 5, 511, 512, 513, 1030}) {
        if (outer * axis * inner > 200000) continue;
        expectRight<float>({outer, axis, inner}, 1);
        expectRight<double>({outer, axis, inner}, 1);
      }
    }
  }
  expectRight<float>({1, 50257, 1}, 1);
  expectRight<float>({3000, 3, 1}, 1);
}

TEST_F(SoftmaxTest, TakesAnyDimension) {
  const Shape shape = {2, 3, 4, 5};
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    expectRight<float>(shape, dim);
  }
  expectRight<double>({9}, 0);
  const std::vector<float> input = {0.0f, 1.0f, 2.0f, 3.0f};
  EXPECT_EQ(softmax<float>({2, 2}, input, -1),
            softmax<float>({2, 2}, input, 1));
  EXPECT_EQ(softmax<float>({}, {3.0f}, 0), std::vector<float>{1.0f});
}

TEST_F(SoftmaxTest, LargeValuesAndNan) {
  const auto result = softmax<float>({2, 2}, {1e30f, 1e30f, NAN, 0.0f}, 1);
  EXPECT_EQ(result[0], 0.5f);
  EXPECT_EQ(result[1], 0.5f);
  EXPECT_TRUE(std::isnan(result[2]));
  EXPECT_TRUE(std::isnan(result[3]));
}

TEST_F(SoftmaxTest, NothingToDo) {
  EXPECT_TRUE(softmax<float>({0, 3}, {}, 1).empty());
  EXPECT_TRUE(softmax<float>({3, 0}, {}, 1).empty());
  EXPECT_TRUE(softmax<float>({3, 4, 0}, {}, 1).empty());
}

TEST_F(SoftmaxTest, WrongArgumentsAreRefused) {
  DeviceTensor<float> in({2, 2}, {1, 2, 3, 4});
  DeviceTensor<float> out({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(diopiSoftmax(&context_, out.handle(), in.handle(), 2),
            diopiErrorOccurred);
  EXPECT_EQ(diopiSoftmax(&context_, out.handle(), in.handle(), -3),
            diopiErrorOccurred);
  in.handle()->dtype = diopi_dtype_int32;
  EXPECT_EQ(diopiSoftmax(&context_, out.handle(), in.handle(), 0),
            diopiDtypeNotSupported);
  in.handle()->dtype = diopi_dtype_float32;
  const int64_t transposed[] = {1, 2};
  in.handle()->strides = transposed;
  EXPECT_EQ(diopiSoftmax(&context_, out.handle(), in.handle(), 0),
            diopiNoImplement);
}

}  // namespace
