// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/compute/normalization/batch_norm.h"
#include "kernels/compute/normalization/group_norm.h"
#include "kernels/compute/normalization/layer_norm.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::product;
using testing::randomTensor;
using testing::TestQueue;

using Values = std::vector<double>;

// (x - mean) / sqrt(var + eps) * weight + bias, where elements of one group
// share mean and variance, and elements of one channel weight and bias.
struct Normalization {
  std::function<int64_t(int64_t)> group;
  std::function<int64_t(int64_t)> channel;
  int64_t groups;
  double eps = 1e-5;

  void statistics(const Values& x, Values* mean, Values* var) const {
    Values count(groups, 0.0);
    mean->assign(groups, 0.0);
    var->assign(groups, 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      (*mean)[group(i)] += x[i];
      count[group(i)] += 1;
    }
    for (int64_t k = 0; k < groups; ++k) (*mean)[k] /= count[k];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = x[i] - (*mean)[group(i)];
      (*var)[group(i)] += d * d / count[group(i)];
    }
  }

  Values forward(const Values& x, const Values& weight,
                 const Values& bias) const {
    Values mean;
    Values var;
    statistics(x, &mean, &var);
    Values y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int64_t k = group(i);
      y[i] = (x[i] - mean[k]) / std::sqrt(var[k] + eps) * weight[channel(i)] +
             bias[channel(i)];
    }
    return y;
  }
};

template <typename T>
Values doubles(const std::vector<T>& values) {
  Values result;
  for (T value : values) result.push_back(asDouble(value));
  return result;
}

template <typename T>
void expectNear(const std::vector<T>& actual, const Values& expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(asDouble(actual[i]), expected[i],
                tolerance * (1 + std::abs(expected[i])));
  }
}

// Derivatives of sum(g * forward(...)) by central differences.
Values derivative(const Values& at, const Values& g,
                  const std::function<Values(const Values&)>& forward) {
  constexpr double kStep = 1e-5;
  Values result(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    Values moved = at;
    moved[i] = at[i] + kStep;
    const Values up = forward(moved);
    moved[i] = at[i] - kStep;
    const Values down = forward(moved);
    for (std::size_t j = 0; j < up.size(); ++j) {
      result[i] += g[j] * (up[j] - down[j]) / (2 * kStep);
    }
  }
  return result;
}

template <typename T>
double tolerance() {
  return kDTypeOf<T> == DType::kFloat64   ? 1e-12
         : kDTypeOf<T> == DType::kFloat32 ? 1e-5
                                          : 2e-2;
}

template <typename T>
class NormalizationTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(NormalizationTest, FloatTypes);

TYPED_TEST(NormalizationTest, LayerNorm) {
  using T = TypeParam;
  TestQueue queue;
  for (int64_t n : {1, 7, 64, 3000}) {
    const int64_t rows = 5;
    const auto x = randomTensor<T>({n, rows}, 1).transposed(0, 1);
    const auto w = randomTensor<T>({n}, 2);
    const auto b = randomTensor<T>({n}, 3);
    const DeviceTensor<T> y({rows, n}, T(NAN));
    const DeviceTensor<T> mean({rows, 1}, T(NAN));
    const DeviceTensor<T> rstd({rows, 1}, T(NAN));
    ASSERT_EQ(layerNorm(queue, y.view(), mean.view(), rstd.view(), x.view(),
                        w.view(), b.view(), 1, 1e-5),
              Status::kOk);
    const Normalization reference{[n](int64_t i) { return i / n; },
                                  [n](int64_t i) { return i % n; }, rows};
    expectNear(y.read(),
               reference.forward(doubles(x.read()), doubles(w.read()),
                                 doubles(b.read())),
               tolerance<T>());
  }
}

TYPED_TEST(NormalizationTest, BatchNormTrainsInEveryLayout) {
  using T = TypeParam;
  TestQueue queue;
  constexpr int64_t kN = 4, kC = 5, kH = 6, kW = 7;
  // [N, H, W, C] in memory for the second layout.
  const DeviceTensor<T> planar = randomTensor<T>({kN, kC, kH, kW}, 1);
  const DeviceTensor<T> interleaved =
      randomTensor<T>({kN, kH, kW, kC}, 1).transposed(2, 3).transposed(1, 2);
  const DeviceTensor<T> awkward =
      randomTensor<T>({kN, kC, kW, kH}, 1).transposed(2, 3);
  for (const auto& x : {planar, interleaved, awkward}) {
    const auto w = randomTensor<float>({kC}, 2);
    const auto b = randomTensor<float>({kC}, 3);
    const DeviceTensor<T> y({kN, kC, kH, kW}, T(NAN));
    const DeviceTensor<float> running_mean({kC}, 1.0F);
    const DeviceTensor<float> running_var({kC}, 2.0F);
    const DeviceTensor<float> save_mean({kC}, NAN);
    const DeviceTensor<float> save_invstd({kC}, NAN);
    BatchNormArguments a{
        y.view(), save_mean.view(),    save_invstd.view(), x.view(), w.view(),
        b.view(), running_mean.view(), running_var.view(), true,     0.25,
        1e-5};
    ASSERT_EQ(batchNorm(queue, a), Status::kOk);
    const auto channel = [](int64_t i) { return i / (kH * kW) % kC; };
    const Normalization reference{channel, channel, kC};
    const Values values = doubles(x.read());
    const double precision = std::max(tolerance<T>(), 1e-6);
    expectNear(y.read(),
               reference.forward(values, doubles(w.read()), doubles(b.read())),
               precision);
    Values mean;
    Values var;
    reference.statistics(values, &mean, &var);
    expectNear(save_mean.read(), mean, 1e-5);
    constexpr double kCount = kN * kH * kW;
    for (int64_t c = 0; c < kC; ++c) {
      EXPECT_NEAR(save_invstd.read()[c], 1 / std::sqrt(var[c] + 1e-5), 1e-4);
      EXPECT_NEAR(running_mean.read()[c], 0.75 + 0.25 * mean[c], 1e-5);
      EXPECT_NEAR(running_var.read()[c],
                  1.5 + 0.25 * var[c] * kCount / (kCount - 1), 1e-5);
    }
  }
}

TYPED_TEST(NormalizationTest, BatchNormEvaluatesByRunningStatistics) {
  using T = TypeParam;
  TestQueue queue;
  const auto x = randomTensor<T>({6, 3}, 1);
  const DeviceTensor<T> y({6, 3}, T(NAN));
  const DeviceTensor<float> mean({3}, {0.5F, 0.0F, -1.0F});
  const DeviceTensor<float> var({3}, {1.0F, 4.0F, 0.25F});
  BatchNormArguments a{};
  a.out = y.view();
  a.input = x.view();
  a.running_mean = mean.view();
  a.running_var = var.view();
  a.eps = 0.0;
  ASSERT_EQ(batchNorm(queue, a), Status::kOk);
  const auto in = doubles(x.read());
  Values expected;
  const double means[] = {0.5, 0.0, -1.0};
  const double deviations[] = {1.0, 2.0, 0.5};
  for (std::size_t i = 0; i < in.size(); ++i) {
    expected.push_back((in[i] - means[i % 3]) / deviations[i % 3]);
  }
  expectNear(y.read(), expected, std::max(tolerance<T>(), 1e-6));
}

TYPED_TEST(NormalizationTest, GroupNorm) {
  using T = TypeParam;
  TestQueue queue;
  constexpr int64_t kN = 2, kC = 6, kS = 11;
  for (int64_t groups : {1, 2, 6}) {
    const auto x = randomTensor<T>({kN, kC, kS}, 1);
    const auto w = randomTensor<T>({kC}, 2);
    const auto b = randomTensor<T>({kC}, 3);
    const DeviceTensor<T> y({kN, kC, kS}, T(NAN));
    const DeviceTensor<T> mean({kN, groups}, T(NAN));
    const DeviceTensor<T> rstd({kN, groups}, T(NAN));
    ASSERT_EQ(groupNorm(queue, y.view(), mean.view(), rstd.view(), x.view(),
                        w.view(), b.view(), groups, 1e-5),
              Status::kOk);
    const int64_t length = kC / groups * kS;
    const Normalization reference{[=](int64_t i) { return i / length; },
                                  [](int64_t i) { return i / kS % kC; },
                                  kN * groups};
    expectNear(y.read(),
               reference.forward(doubles(x.read()), doubles(w.read()),
                                 doubles(b.read())),
               tolerance<T>());
  }
}

// Everything that the three backward tests share.
struct BackwardCase {
  DeviceTensor<double> x, g, w, b, dx, dw, db;

  BackwardCase(const std::vector<int64_t>& sizes, int64_t channels)
      : x(randomTensor<double>(sizes, 1)),
        g(randomTensor<double>(sizes, 2)),
        w(randomTensor<double>({channels}, 3)),
        b(randomTensor<double>({channels}, 4)),
        dx(sizes, NAN),
        dw({channels}, NAN),
        db({channels}, NAN) {}

  void check(const Normalization& reference) const {
    const Values in = x.read();
    const Values weight = w.read();
    const Values bias = b.read();
    expectNear(dx.read(),
               derivative(in, g.read(),
                          [&](const Values& v) {
                            return reference.forward(v, weight, bias);
                          }),
               1e-7);
    expectNear(dw.read(),
               derivative(weight, g.read(),
                          [&](const Values& v) {
                            return reference.forward(in, v, bias);
                          }),
               1e-7);
    expectNear(db.read(),
               derivative(bias, g.read(),
                          [&](const Values& v) {
                            return reference.forward(in, weight, v);
                          }),
               1e-7);
  }

  // Mean and reciprocal deviation of each group.
  void statistics(const Normalization& reference, Values* mean,
                  Values* rstd) const {
    reference.statistics(x.read(), mean, rstd);
    for (double& value : *rstd) value = 1 / std::sqrt(value + reference.eps);
  }
};

TEST(NormalizationBackwardTest, LayerNorm) {
  TestQueue queue;
  constexpr int64_t kRows = 17, kLength = 6;
  const BackwardCase c({kRows, kLength}, kLength);
  const Normalization reference{[](int64_t i) { return i / kLength; },
                                [](int64_t i) { return i % kLength; }, kRows};
  Values mean;
  Values rstd;
  c.statistics(reference, &mean, &rstd);
  const DeviceTensor<double> m({kRows, 1}, mean);
  const DeviceTensor<double> r({kRows, 1}, rstd);
  ASSERT_EQ(layerNormBackward(queue, c.dx.view(), c.dw.view(), c.db.view(),
                              c.g.view(), c.x.view(), c.w.view(), m.view(),
                              r.view(), 1),
            Status::kOk);
  c.check(reference);
}

TEST(NormalizationBackwardTest, GroupNorm) {
  TestQueue queue;
  constexpr int64_t kN = 3, kC = 4, kS = 5, kGroups = 2;
  const BackwardCase c({kN, kC, kS}, kC);
  const Normalization reference{
      [](int64_t i) { return i / (kC / kGroups * kS); },
      [](int64_t i) { return i / kS % kC; }, kN * kGroups};
  Values mean;
  Values rstd;
  c.statistics(reference, &mean, &rstd);
  const DeviceTensor<double> m({kN, kGroups}, mean);
  const DeviceTensor<double> r({kN, kGroups}, rstd);
  ASSERT_EQ(groupNormBackward(queue, c.dx.view(), c.dw.view(), c.db.view(),
                              c.g.view(), c.x.view(), c.w.view(), m.view(),
                              r.view(), kGroups),
            Status::kOk);
  c.check(reference);
}

TEST(NormalizationBackwardTest, BatchNorm) {
  TestQueue queue;
  constexpr int64_t kN = 3, kC = 4, kS = 5;
  for (bool flat : {false, true}) {
    const int64_t pixels = flat ? 1 : kS;
    const BackwardCase c(
        flat ? std::vector<int64_t>{kN, kC} : std::vector<int64_t>{kN, kC, kS},
        kC);
    const auto channel = [pixels](int64_t i) { return i / pixels % kC; };
    const Normalization reference{channel, channel, kC};
    Values mean;
    Values rstd;
    c.statistics(reference, &mean, &rstd);
    const DeviceTensor<double> m({kC}, mean);
    const DeviceTensor<double> r({kC}, rstd);
    BatchNormBackwardArguments a{};
    a.grad_input = c.dx.view();
    a.grad_weight = c.dw.view();
    a.grad_bias = c.db.view();
    a.grad_output = c.g.view();
    a.input = c.x.view();
    a.weight = c.w.view();
    a.save_mean = m.view();
    a.save_invstd = r.view();
    a.training = true;
    a.eps = 1e-5;
    ASSERT_EQ(batchNormBackward(queue, a), Status::kOk);
    c.check(reference);
  }
}

TEST(NormalizationEdgeTest, RefusesWrongArguments) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, 0.0F);
  const DeviceTensor<float> weight({4}, 0.0F);
  const TensorView none;
  EXPECT_EQ(layerNorm(queue, x.view(), none, none, x.view(), none, none, 3, 0),
            Status::kInvalid);
  EXPECT_EQ(groupNorm(queue, x.view(), none, none, x.view(), none, none, 2, 0),
            Status::kInvalid);
  BatchNormArguments a{};
  a.out = x.view();
  a.input = x.view();
  EXPECT_EQ(batchNorm(queue, a), Status::kInvalid);
  a.training = true;
  a.weight = weight.view();
  EXPECT_EQ(batchNorm(queue, a), Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
