// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/rectifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/compute/glu.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr EluOptions kElu{1.5, 0.75, 2.0};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

double eluOf(double x) { return 0.75 * (x < 0 ? 1.5 * std::expm1(2 * x) : x); }

// A forward function with its derivative, on device and in double.
struct Case {
  const char* name;
  std::function<Status(const Queue&, const TensorView&, const TensorView&)> run;
  std::function<double(double)> expected;
};

std::vector<Case> forwardCases() {
  return {
      {"elu", [](auto& q, auto& y, auto& x) { return elu(q, y, x, kElu); },
       eluOf},
      {"hardshrink",
       [](auto& q, auto& y, auto& x) { return hardshrink(q, y, x, 0.5); },
       [](double x) { return std::abs(x) <= 0.5 ? 0.0 : x; }},
      {"softshrink",
       [](auto& q, auto& y, auto& x) { return softshrink(q, y, x, 0.5); },
       [](double x) {
         return std::abs(x) <= 0.5 ? 0.0 : x - std::copysign(0.5, x);
       }},
      {"hardsigmoid", hardsigmoid,
       [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {"softplus",
       [](auto& q, auto& y, auto& x) { return softplus(q, y, x, 2.0, 20.0); },
       [](double x) { return 2 * x > 20 ? x : softplus(2 * x) / 2; }},
      {"mish", mish, [](double x) { return x * std::tanh(softplus(x)); }},
      {"log_sigmoid",
       [](auto& q, auto& y, auto& x) {
         const DeviceTensor<float> buffer({400}, 0.0F);
         const Status status = logSigmoid(q, y, buffer.view(), x);
         buffer.read();
         return status;
       },
       [](double x) { return -softplus(-x); }},
  };
}

std::vector<float> points() {
  std::vector<float> x = testing::randomValues<float>(400, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] *= i % 4 == 0 ? 1e-3F : (i % 4 == 1 ? 40.0F : 4.0F);
  }
  x[0] = 0.0F;
  x[1] = -100.0F;
  x[2] = 100.0F;
  return x;
}

TEST(RectifierTest, ForwardMatchesTheFormula) {
  TestQueue queue;
  const std::vector<float> x = points();
  const DeviceTensor<float> in({400}, x);
  for (const Case& c : forwardCases()) {
    const DeviceTensor<float> out({400}, NAN);
    ASSERT_EQ(c.run(queue, out.view(), in.view()), Status::kOk) << c.name;
    const auto y = out.read();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = c.expected(static_cast<double>(x[i]));
      EXPECT_NEAR(y[i], expected, 1e-6 * (1e-3 + std::abs(expected)))
          << c.name << " of " << x[i];
    }
  }
}

TEST(RectifierTest, NaNStaysAndInfinityHasItsLimit) {
  TestQueue queue;
  const float infinity = std::numeric_limits<float>::infinity();
  const DeviceTensor<float> in({3}, {NAN, infinity, -infinity});
  const DeviceTensor<float> out({3}, 0.0F);
  elu(queue, out.view(), in.view(), kElu);
  EXPECT_TRUE(std::isnan(out.read()[0]));
  EXPECT_EQ(out.read()[2], -1.125F);
  softplus(queue, out.view(), in.view(), 1.0, 20.0);
  EXPECT_EQ(out.read()[1], infinity);
  EXPECT_EQ(out.read()[2], 0.0F);
  hardshrink(queue, out.view(), in.view(), 0.5);
  EXPECT_TRUE(std::isnan(out.read()[0]));
}

// Backward functions against the difference quotient of the forward ones.
TEST(RectifierTest, BackwardIsTheDerivative) {
  using Backward = std::function<Status(const Queue&, const TensorView&,
                                        const TensorView&, const TensorView&)>;
  const std::vector<std::pair<std::function<double(double)>, Backward>> cases =
      {{eluOf, [](auto& q, auto& d, auto& g,
                  auto& x) { return eluBackward(q, d, g, x, kElu, false); }},
       {[](double x) { return std::abs(x) <= 0.5 ? 0.0 : x; },
        [](auto& q, auto& d, auto& g, auto& x) {
          return shrinkBackward(q, d, g, x, 0.5);
        }},
       {[](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; },
        hardsigmoidBackward},
       {[](double x) { return softplus(2 * x) / 2; },
        [](auto& q, auto& d, auto& g, auto& x) {
          return softplusBackward(q, d, g, x, 2.0, 20.0);
        }},
       {[](double x) { return x * std::tanh(softplus(x)); }, mishBackward},
       {[](double x) { return -softplus(-x); }, logSigmoidBackward}};
  TestQueue queue;
  const std::vector<double> x{-4.0, -1.0, -0.4, -0.01, 0.02, 0.3, 1.0, 4.0};
  const DeviceTensor<double> in({8}, x);
  const DeviceTensor<double> grad({8}, 3.0);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const DeviceTensor<double> out({8}, NAN);
    cases[k].second(queue, out.view(), grad.view(), in.view());
    const auto d = out.read();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto& f = cases[k].first;
      const double slope = (f(x[i] + 1e-5) - f(x[i] - 1e-5)) / 2e-5;
      EXPECT_NEAR(d[i], 3 * slope, 1e-6) << k << " at " << x[i];
    }
  }
}

TEST(RectifierTest, EluBackwardFromTheResult) {
  TestQueue queue;
  const DeviceTensor<double> in({3}, {-2.0, -0.1, 1.0});
  const DeviceTensor<double> result({3}, 0.0);
  const DeviceTensor<double> grad({3}, 2.0);
  const DeviceTensor<double> expected({3}, 0.0);
  const DeviceTensor<double> out({3}, 0.0);
  elu(queue, result.view(), in.view(), kElu);
  eluBackward(queue, expected.view(), grad.view(), in.view(), kElu, false);
  eluBackward(queue, out.view(), grad.view(), result.view(), kElu, true);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(out.read()[i], expected.read()[i], 1e-12);
  }
  EXPECT_EQ(eluBackward(queue, out.view(), grad.view(), result.view(),
                        {-1.0, 1.0, 1.0}, true),
            Status::kInvalid);
}

TEST(RectifierTest, PreluHasAWeightPerElement) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 2}, {-1.0F, 2.0F, -3.0F, 0.0F});
  const DeviceTensor<float> w({2}, {0.5F, 0.25F});
  const DeviceTensor<float> g({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F});
  const DeviceTensor<float> y({2, 2}, NAN);
  const DeviceTensor<float> dx({2, 2}, NAN);
  const DeviceTensor<float> dw({2, 2}, NAN);
  prelu(queue, y.view(), x.view(), w.view());
  preluBackward(queue, dx.view(), dw.view(), g.view(), x.view(), w.view());
  EXPECT_EQ(y.read(), (std::vector<float>{-0.5F, 2.0F, -1.5F, 0.0F}));
  EXPECT_EQ(dx.read(), (std::vector<float>{0.5F, 2.0F, 1.5F, 1.0F}));
  EXPECT_EQ(dw.read(), (std::vector<float>{-1.0F, 0.0F, -9.0F, 0.0F}));
}

TEST(GluTest, HalvesOfAnyDimensionAndDtype) {
  TestQueue queue;
  const auto x = randomTensor<BFloat16>({6, 4}, 1).transposed(0, 1);
  const DeviceTensor<BFloat16> y({4, 3}, BFloat16(0.0F));
  ASSERT_EQ(glu(queue, y.view(), x.view(), -1), Status::kOk);
  const auto in = x.read();
  const auto out = y.read();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t first = i / 3 * 6 + i % 3;
    const double expected =
        asDouble(in[first]) * sigmoid(asDouble(in[first + 3]));
    EXPECT_NEAR(asDouble(out[i]), expected, 4e-3);
  }
  EXPECT_EQ(glu(queue, y.view(), x.view(), 2), Status::kInvalid);
  const DeviceTensor<float> odd({3}, 0.0F);
  EXPECT_EQ(glu(queue, odd.view(), odd.view(), 0), Status::kInvalid);
}

TEST(GluTest, TangentAndGradientAgree) {
  TestQueue queue;
  const auto x = randomTensor<double>({2, 6}, 1);
  const auto dx = randomTensor<double>({2, 6}, 2);
  const auto g = randomTensor<double>({2, 3}, 3);
  const DeviceTensor<double> y({2, 3}, NAN);
  const DeviceTensor<double> dy({2, 3}, NAN);
  const DeviceTensor<double> grad({2, 6}, NAN);
  glu(queue, y.view(), x.view(), 1);
  gluTangent(queue, dy.view(), y.view(), x.view(), dx.view(), 1);
  gluBackward(queue, grad.view(), g.view(), x.view(), 1);
  double forward = 0;
  double backward = 0;
  for (std::size_t i = 0; i < 6; ++i) forward += g.read()[i] * dy.read()[i];
  for (std::size_t i = 0; i < 12; ++i)
    backward += grad.read()[i] * dx.read()[i];
  EXPECT_NEAR(forward, backward, 1e-12);
  EXPECT_NE(forward, 0);
}

}  // namespace
}  // namespace dipu::kernels
