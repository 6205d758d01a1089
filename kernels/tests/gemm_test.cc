// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

// a [m, k] times b [k, n] in double.
template <typename T>
std::vector<double> product(const std::vector<T>& a, const std::vector<T>& b,
                            int64_t m, int64_t n, int64_t k) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) {
        c[i * n + j] += asDouble(a[i * k + p]) * asDouble(b[p * n + j]);
      }
    }
  }
  return c;
}

template <typename T>
void expectNear(const std::vector<T>& actual,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(asDouble(actual[i]), expected[i],
                tolerance * (1.0 + std::abs(expected[i])))
        << "element " << i;
  }
}

struct Extents {
  int64_t m, n, k;
};

// Sizes around every block and tile boundary, small and large.
const Extents kExtents[] = {{1, 1, 1},     {1, 16, 8},     {5, 7, 3},
                            {6, 16, 256},  {7, 17, 257},   {64, 64, 64},
                            {145, 33, 12}, {33, 300, 100}, {150, 270, 520},
                            {512, 8, 64},  {1, 500, 70},   {500, 1, 70}};

template <typename T>
class MatmulTest : public ::testing::Test {
 public:
  static double tolerance() {
    switch (kDTypeOf<T>) {
      case DType::kFloat64:
        return 1e-13;
      case DType::kFloat32:
        return 2e-5;
      case DType::kFloat16:
        return 2e-3;
      default:
        return 1.2e-2;
    }
  }
};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(MatmulTest, FloatTypes);

TYPED_TEST(MatmulTest, EveryLayout) {
  using T = TypeParam;
  TestQueue queue;
  for (const Extents& e : kExtents) {
    // All layouts of the small products, a few of the large ones.
    const int step = e.m * e.n * e.k > 500000 ? 5 : 1;
    for (int layout = 0; layout < 16; layout += step) {
      auto a = layout & 1 ? randomTensor<T>({e.k, e.m}, 1).transposed(0, 1)
                          : randomTensor<T>({e.m, e.k}, 1);
      auto b = layout & 2 ? randomTensor<T>({e.n, e.k}, 2).transposed(0, 1)
                          : randomTensor<T>({e.k, e.n}, 2);
      if (layout & 8) a = randomTensor<T>({e.m, 2 * e.k}, 3).strided(1, 2);
      DeviceTensor<T> out =
          layout & 4 ? DeviceTensor<T>({e.n, e.m}, T(NAN)).transposed(0, 1)
                     : DeviceTensor<T>({e.m, e.n}, T(NAN));
      ASSERT_EQ(matmul(queue, out.view(), a.view(), b.view()), Status::kOk);
      expectNear(out.read(), product(a.read(), b.read(), e.m, e.n, e.k),
                 this->tolerance());
      if (this->HasFatalFailure()) {
        FAIL() << e.m << "x" << e.n << "x" << e.k << " layout " << layout;
      }
    }
  }
}

TYPED_TEST(MatmulTest, AddmmScalesAndBroadcasts) {
  using T = TypeParam;
  TestQueue queue;
  for (const Extents& e : {Extents{5, 9, 4}, Extents{70, 90, 80}}) {
    const auto a = randomTensor<T>({e.m, e.k}, 1);
    const auto b = randomTensor<T>({e.k, e.n}, 2);
    const auto bias = randomTensor<T>({e.n}, 3);
    const DeviceTensor<T> out({e.m, e.n}, T(NAN));
    ASSERT_EQ(addmm(queue, out.view(), bias.view(), a.view(), b.view(), 0.5, 2),
              Status::kOk);
    auto expected = product(a.read(), b.read(), e.m, e.n, e.k);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = 0.5 * expected[i] + 2 * asDouble(bias.read()[i % e.n]);
    }
    expectNear(out.read(), expected, this->tolerance());
  }
}

TEST(MatmulTest, BetaZeroIgnoresNanInTheInput) {
  TestQueue queue;
  for (int64_t n : {3, 100}) {
    const auto a = randomTensor<float>({n, n}, 1);
    const DeviceTensor<float> input({n, n}, NAN);
    const DeviceTensor<float> out({n, n}, NAN);
    addmm(queue, out.view(), input.view(), a.view(), a.view(), 1.0, 0.0);
    for (float value : out.read()) EXPECT_FALSE(std::isnan(value));
  }
}

TEST(MatmulTest, NanInAnOperandSpreads) {
  TestQueue queue;
  for (int64_t n : {3, 100}) {
    const DeviceTensor<float> a({n, n}, NAN);
    const DeviceTensor<float> zero({n, n}, 0.0F);
    const DeviceTensor<float> out({n, n}, 0.0F);
    matmul(queue, out.view(), a.view(), zero.view());
    for (float value : out.read()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(MatmulTest, InPlaceInputAccumulates) {
  TestQueue queue;
  for (int64_t n : {4, 128}) {
    const auto a = randomTensor<double>({2, n, n}, 1);
    const auto b = randomTensor<double>({2, n, n}, 2);
    const DeviceTensor<double> out({2, n, n}, 3.0);
    const DeviceTensor<double> fresh({2, n, n}, 0.0);
    matmul(queue, fresh.view(), a.view(), b.view());
    addmm(queue, out.view(), out.view(), a.view(), b.view(), 1.0, 2.0);
    const auto plain = fresh.read();
    const auto sum = out.read();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(sum[i], plain[i] + 6.0, 1e-12);
    }
  }
}

TEST(MatmulTest, EmptyDepthGivesTheScaledInput) {
  TestQueue queue;
  const DeviceTensor<float> a({4, 0}, 0.0F);
  const DeviceTensor<float> b({0, 5}, 0.0F);
  const DeviceTensor<float> input({5}, 3.0F);
  const DeviceTensor<float> out({4, 5}, NAN);
  matmul(queue, out.view(), a.view(), b.view());
  for (float value : out.read()) EXPECT_EQ(value, 0.0F);
  addmm(queue, out.view(), input.view(), a.view(), b.view(), 1.0, 2.0);
  for (float value : out.read()) EXPECT_EQ(value, 6.0F);
}

TEST(MatmulTest, EmptyResult) {
  TestQueue queue;
  const DeviceTensor<float> a({0, 3}, 0.0F);
  const DeviceTensor<float> b({3, 5}, 0.0F);
  const DeviceTensor<float> out({0, 5}, 0.0F);
  EXPECT_EQ(matmul(queue, out.view(), a.view(), b.view()), Status::kOk);
}

TEST(MatmulTest, BatchesBroadcast) {
  TestQueue queue;
  const auto a = randomTensor<double>({3, 1, 5, 4}, 1);
  const auto b = randomTensor<double>({2, 4, 6}, 2);
  const DeviceTensor<double> out({3, 2, 5, 6}, 0.0);
  ASSERT_EQ(matmul(queue, out.view(), a.view(), b.view()), Status::kOk);
  const auto all_a = a.read();
  const auto all_b = b.read();
  std::vector<double> expected;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto part = product(
          std::vector<double>(all_a.begin() + i * 20, all_a.end()),
          std::vector<double>(all_b.begin() + j * 24, all_b.end()), 5, 6, 4);
      expected.insert(expected.end(), part.begin(), part.end());
    }
  }
  expectNear(out.read(), expected, 1e-13);
}

TEST(MatmulTest, VectorsFollowTheRulesOfMatmul) {
  TestQueue queue;
  const auto vector = randomTensor<double>({4}, 1);
  const auto matrix = randomTensor<double>({4, 6}, 2);
  const DeviceTensor<double> scalar({}, 0.0);
  ASSERT_EQ(matmul(queue, scalar.view(), vector.view(), vector.view()),
            Status::kOk);
  expectNear(scalar.read(), product(vector.read(), vector.read(), 1, 1, 4),
             1e-13);
  const DeviceTensor<double> row({6}, 0.0);
  ASSERT_EQ(matmul(queue, row.view(), vector.view(), matrix.view()),
            Status::kOk);
  expectNear(row.read(), product(vector.read(), matrix.read(), 1, 6, 4), 1e-13);
  const DeviceTensor<double> column({6}, 0.0);
  ASSERT_EQ(matmul(queue, column.view(), matrix.transposed(0, 1).view(),
                   vector.view()),
            Status::kOk);
  expectNear(column.read(), row.read(), 1e-13);
}

TEST(MatmulTest, LinearFlattensLeadingDimensions) {
  TestQueue queue;
  const auto input = randomTensor<double>({3, 7, 40}, 1);
  const auto weight = randomTensor<double>({50, 40}, 2);
  const auto bias = randomTensor<double>({50}, 3);
  const DeviceTensor<double> out({3, 7, 50}, 0.0);
  ASSERT_EQ(linear(queue, out.view(), input.view(), weight.view(), bias.view()),
            Status::kOk);
  auto expected =
      product(input.read(), weight.transposed(0, 1).read(), 21, 50, 40);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += bias.read()[i % 50];
  }
  expectNear(out.read(), expected, 1e-13);
}

TEST(MatmulTest, IntegersWrap) {
  TestQueue queue;
  const DeviceTensor<uint8_t> bytes({2, 2}, uint8_t{20});
  const DeviceTensor<uint8_t> byte_out({2, 2}, uint8_t{0});
  ASSERT_EQ(matmul(queue, byte_out.view(), bytes.view(), bytes.view()),
            Status::kOk);
  for (uint8_t value : byte_out.read()) EXPECT_EQ(value, 800 % 256);
  const DeviceTensor<int64_t> longs({3, 3}, int64_t{1} << 40);
  const DeviceTensor<int64_t> long_out({3, 3}, int64_t{0});
  addmm(queue, long_out.view(), longs.view(), longs.view(), longs.view(), 1, 1);
  for (int64_t value : long_out.read()) EXPECT_EQ(value, int64_t{1} << 40);
}

TEST(MatmulTest, ShapesThatDoNotFitAreRefused) {
  TestQueue queue;
  const DeviceTensor<float> a({2, 3}, 0.0F);
  const DeviceTensor<float> out({2, 2}, 0.0F);
  const DeviceTensor<uint16_t> mask({2, 2}, uint16_t{0});
  const DeviceTensor<float> input({3}, 0.0F);
  EXPECT_EQ(matmul(queue, out.view(), a.view(), a.view()), Status::kInvalid);
  EXPECT_EQ(matmul(queue, mask.view(), mask.view(), mask.view()),
            Status::kUnsupported);
  EXPECT_EQ(addmm(queue, out.view(), input.view(), a.view(),
                  a.transposed(0, 1).view(), 1, 1),
            Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
