// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
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

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<int64_t> shape;  // three dimensions
  std::vector<int64_t> dims;
};

// Shapes that take both ways of reducing, gathered and dense, on one thread
// and on several.
const std::vector<Case>& cases() {
  static const auto* const kCases = new std::vector<Case>{
      {{3, 5, 7}, {0}},     {{3, 5, 7}, {1}},        {{3, 5, 7}, {2}},
      {{3, 5, 7}, {0, 2}},  {{3, 5, 7}, {0, 1, 2}},  {{1, 5000, 3}, {1}},
      {{1, 3, 5000}, {1}},  {{200, 1, 700}, {0}},    {{700, 1, 200}, {2}},
      {{4, 70000, 1}, {1}}, {{2, 300, 600}, {0, 1}}, {{1, 2, 90000}, {2}},
      {{40, 30, 20}, {1}},  {{3000, 1, 64}, {0}},    {{5, 1, 1}, {1}},
  };
  return *kCases;
}

// Position of an element's result among those of a reduction.
std::size_t resultOf(const Case& c, std::size_t element) {
  std::size_t index[3];
  for (int d = 2; d >= 0; --d) {
    const auto size = static_cast<std::size_t>(c.shape[d]);
    index[d] = element % size;
    element /= size;
  }
  std::size_t result = 0;
  for (int d = 0; d < 3; ++d) {
    const bool reduced =
        std::find(c.dims.begin(), c.dims.end(), d) != c.dims.end();
    if (!reduced) {
      result = result * static_cast<std::size_t>(c.shape[d]) + index[d];
    }
  }
  return result;
}

std::vector<int64_t> keptShape(const Case& c) {
  std::vector<int64_t> shape = c.shape;
  for (const int64_t dim : c.dims) shape[dim] = 1;
  return shape;
}

Dims dimsOf(const Case& c) {
  return {c.dims.data(), static_cast<int64_t>(c.dims.size())};
}

template <typename T>
void checkSum(const Case& c, double tolerance) {
  TestQueue queue;
  const auto x = randomTensor<T>(c.shape, 1);
  const DeviceTensor<T> out(keptShape(c), T(0.0f));
  ASSERT_EQ(sum(queue, out.view(), x.view(), dimsOf(c)), Status::kOk);
  const auto actual = out.read();
  const auto values = x.read();
  std::vector<double> expected(actual.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    expected[resultOf(c, i)] += asDouble(values[i]);
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(asDouble(actual[i]), expected[i],
                tolerance * (1 + std::fabs(expected[i])));
  }
}

TEST(Reduce, SumsOverAnyDimensions) {
  for (const Case& c : cases()) {
    checkSum<float>(c, 1e-5);
    checkSum<double>(c, 1e-12);
    checkSum<BFloat16>(c, 1e-2);
  }
}

TEST(Reduce, TakesTransposedInputs) {
  TestQueue queue;
  const auto x = randomTensor<float>({300, 500}, 2);
  const auto turned = x.transposed(0, 1);
  const DeviceTensor<float> out({500}, 0.0f);
  const int64_t dim = 1;
  ASSERT_EQ(sum(queue, out.view(), turned.view(), {&dim, 1}), Status::kOk);
  const auto actual = out.read();
  const auto values = x.read();
  for (std::size_t j = 0; j < 500; ++j) {
    double expected = 0;
    for (std::size_t i = 0; i < 300; ++i) expected += values[i * 500 + j];
    ASSERT_NEAR(actual[j], expected, 1e-4);
  }
}

TEST(Reduce, KeepsTheErrorOfLongSumsSmall) {
  TestQueue queue;
  constexpr int64_t kCount = 1 << 22;
  const DeviceTensor<float> x({kCount}, 0.1f);
  const DeviceTensor<float> out({}, 0.0f);
  ASSERT_EQ(sum(queue, out.view(), x.view(), {}), Status::kOk);
  const double expected = static_cast<double>(0.1f) * kCount;
  EXPECT_NEAR(out.read()[0], expected, expected * 1e-6);
}

TEST(Reduce, GivesPyTorchsResultsOverNoElements) {
  TestQueue queue;
  const DeviceTensor<float> x({0, 3}, 0.0f);
  const DeviceTensor<float> out({3}, 5.0f);
  const int64_t dim = 0;
  ASSERT_EQ(sum(queue, out.view(), x.view(), {&dim, 1}), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 0, 0}));
  ASSERT_EQ(prod(queue, out.view(), x.view(), {&dim, 1}), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 1, 1}));
  ASSERT_EQ(mean(queue, out.view(), x.view(), {&dim, 1}), Status::kOk);
  EXPECT_TRUE(std::isnan(out.read()[0]));
  EXPECT_EQ(extreme(queue, Extreme::kMax, out.view(), x.view(), {&dim, 1}),
            Status::kInvalid);
}

TEST(Reduce, FindsTheFirstExtremeAlongADimension) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 4}, {1, 5, 5, 2, 9, 0, 9, 0});
  const DeviceTensor<int32_t> values({2}, 0);
  const DeviceTensor<int64_t> indices({2}, int64_t{0});
  ASSERT_EQ(extremeAlong(queue, Extreme::kMax, values.view(), indices.view(),
                         x.view(), 1),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<int32_t>{5, 9}));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{1, 0}));
  const DeviceTensor<int64_t> columns({4}, int64_t{0});
  ASSERT_EQ(extremeAlong(queue, Extreme::kMin, {}, columns.view(), x.view(), 0),
            Status::kOk);
  EXPECT_EQ(columns.read(), (std::vector<int64_t>{0, 1, 0, 1}));
}

TEST(Reduce, LetsNaNWinExtremes) {
  TestQueue queue;
  std::vector<float> data(1000, 1.0f);
  data[700] = kNaN;
  data[900] = kNaN;
  const DeviceTensor<float> x({1000}, data);
  const DeviceTensor<float> out({}, 0.0f);
  const DeviceTensor<int64_t> index({}, int64_t{0});
  ASSERT_EQ(extreme(queue, Extreme::kMin, out.view(), x.view(), {}),
            Status::kOk);
  EXPECT_TRUE(std::isnan(out.read()[0]));
  ASSERT_EQ(
      extremeAlong(queue, Extreme::kMax, out.view(), index.view(), x.view(), 0),
      Status::kOk);
  EXPECT_TRUE(std::isnan(out.read()[0]));
  EXPECT_EQ(index.read()[0], 700);
}

TEST(Reduce, MeasuresDeviationFarFromZero) {
  TestQueue queue;
  const DeviceTensor<double> x({4}, {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  const DeviceTensor<double> out({}, 0.0);
  ASSERT_EQ(stddev(queue, out.view(), x.view(), 1.0, {}), Status::kOk);
  EXPECT_NEAR(out.read()[0], std::sqrt(30.0), 1e-9);
}

TEST(Reduce, TakesNormsOfEachOrder) {
  TestQueue queue;
  const DeviceTensor<float> x({4}, {3.0f, -4.0f, 0.0f, 12.0f});
  const DeviceTensor<float> out({}, 0.0f);
  const auto of = [&](double p) {
    EXPECT_EQ(norm(queue, out.view(), x.view(), p, {}), Status::kOk);
    return out.read()[0];
  };
  EXPECT_EQ(of(2.0), 13.0f);
  EXPECT_EQ(of(1.0), 19.0f);
  EXPECT_EQ(of(0.0), 3.0f);
  EXPECT_EQ(of(HUGE_VAL), 12.0f);
  EXPECT_EQ(of(-HUGE_VAL), 0.0f);
  EXPECT_NEAR(of(3.0), std::cbrt(27.0 + 64.0 + 1728.0), 1e-5);
}

TEST(Reduce, TakesVariancesWithAnyCorrection) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, {1, 2, 3, 5, 5, 8});
  const DeviceTensor<float> out({2}, 0.0f);
  const int64_t dim = 1;
  ASSERT_EQ(variance(queue, out.view(), x.view(), 1.0, {&dim, 1}), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 3}));
  ASSERT_EQ(variance(queue, out.view(), x.view(), 0.0, {&dim, 1}), Status::kOk);
  EXPECT_FLOAT_EQ(out.read()[1], 2.0f);
  ASSERT_EQ(variance(queue, out.view(), x.view(), 3.0, {&dim, 1}), Status::kOk);
  EXPECT_TRUE(std::isinf(out.read()[0]));
}

TEST(Reduce, LeavesNaNOutOfSumsButNotWhatTheSumMakes) {
  TestQueue queue;
  const float inf = std::numeric_limits<float>::infinity();
  const DeviceTensor<float> x({2, 3}, {1, kNaN, 2, inf, -inf, kNaN});
  const DeviceTensor<float> out({2}, 0.0f);
  const int64_t dim = 1;
  ASSERT_EQ(nanSum(queue, out.view(), x.view(), {&dim, 1}), Status::kOk);
  EXPECT_EQ(out.read()[0], 3.0f);
  EXPECT_TRUE(std::isnan(out.read()[1]));
}

TEST(Reduce, CountsWhatIsNotZero) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, {0.25f, -0.0f, kNaN, 0, 0, 1});
  const DeviceTensor<int64_t> out({3}, int64_t{9});
  const int64_t dim = 0;
  ASSERT_EQ(countAlong(queue, out.view(), x.view(), {&dim, 1}), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace dipu::kernels
