// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/random/variates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::TestQueue;

constexpr int64_t kCount = 40000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments momentsOf(const std::vector<double>& values) {
  Moments m;
  for (double v : values) m.mean += v / double(values.size());
  for (double v : values) {
    m.variance += (v - m.mean) * (v - m.mean) / double(values.size());
  }
  return m;
}

using Draw =
    std::function<Status(const Queue&, const TensorView&, RandomSource*)>;

std::vector<double> drawn(const Draw& draw, uint64_t seed) {
  TestQueue queue;
  const DeviceTensor<double> out({kCount}, 0.0);
  RandomSource source(seed, 0);
  EXPECT_EQ(draw(queue, out.view(), &source), Status::kOk);
  EXPECT_GT(source.offset(), 0U);
  return out.read();
}

void expectMoments(const Draw& draw, double mean, double variance) {
  const Moments m = momentsOf(drawn(draw, 1));
  EXPECT_NEAR(m.mean, mean, 5 * std::sqrt(variance / kCount));
  EXPECT_NEAR(m.variance, variance, 0.1 * variance);
  EXPECT_EQ(drawn(draw, 7), drawn(draw, 7));
  EXPECT_NE(drawn(draw, 7), drawn(draw, 8));
}

// A distribution of one parameter that all elements share.
template <typename Function>
Draw of(const Function& function, double parameter) {
  return [function, parameter](const Queue& queue, const TensorView& out,
                               RandomSource* source) {
    const DeviceTensor<double> p({kCount}, parameter);
    const Status status = function(queue, out, p.view(), source);
    soft_stream_synchronize(queue.stream());
    return status;
  };
}

TEST(VariatesTest, Poisson) {
  for (double rate : {0.3, 9.0, 11.0, 500.0}) {
    expectMoments(of(poisson, rate), rate, rate);
  }
}

TEST(VariatesTest, Gamma) {
  for (double a : {0.2, 1.0, 30.0}) expectMoments(of(standardGamma, a), a, a);
}

TEST(VariatesTest, Binomial) {
  for (double p : {0.05, 0.4, 0.8}) {
    const auto function = [p](const Queue& queue, const TensorView& out,
                              const TensorView& count, RandomSource* source) {
      const DeviceTensor<double> chance({kCount}, p);
      const Status status = binomial(queue, out, count, chance.view(), source);
      soft_stream_synchronize(queue.stream());
      return status;
    };
    expectMoments(of(function, 60.0), 60 * p, 60 * p * (1 - p));
  }
}

TEST(VariatesTest, Geometric) {
  expectMoments(
      [](const Queue& queue, const TensorView& out, RandomSource* source) {
        return geometric(queue, out, 0.25, source);
      },
      4.0, 12.0);
}

TEST(VariatesTest, LogNormal) {
  expectMoments(
      [](const Queue& queue, const TensorView& out, RandomSource* source) {
        return logNormal(queue, out, 0.0, 0.5, source);
      },
      std::exp(0.125), (std::exp(0.25) - 1) * std::exp(0.25));
}

TEST(VariatesTest, RowsOfDirichletAddUpToOne) {
  TestQueue queue;
  const DeviceTensor<double> a({100, 3}, 0.4);
  const DeviceTensor<double> out({100, 3}, 0.0);
  RandomSource source(3, 0);
  ASSERT_EQ(dirichlet(queue, out.view(), a.view(), &source), Status::kOk);
  const auto values = out.read();
  for (std::size_t i = 0; i < values.size(); i += 3) {
    EXPECT_NEAR(values[i] + values[i + 1] + values[i + 2], 1.0, 1e-12);
  }
}

TEST(VariatesTest, DirichletPassesNaNOn) {
  TestQueue queue;
  const DeviceTensor<double> a({2, 2}, {std::nan(""), 1.0, 1.0, 1.0});
  const DeviceTensor<double> out({2, 2}, 0.0);
  RandomSource source(3, 0);
  ASSERT_EQ(dirichlet(queue, out.view(), a.view(), &source), Status::kOk);
  const auto values = out.read();
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_NEAR(values[2] + values[3], 1.0, 1e-12);
}

// P(a, x) by its series, for differences.
double gammaDistribution(double a, double x) {
  double term = 1.0 / a;
  double sum = term;
  for (int n = 1; n < 2000; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

TEST(VariatesTest, GammaGradientMovesTheQuantile) {
  TestQueue queue;
  const std::vector<double> a{0.3, 1.0, 2.5, 8.0, 20.0};
  const std::vector<double> x{0.5, 0.1, 4.0, 26.0, 15.0};
  const DeviceTensor<double> concentration({5}, a);
  const DeviceTensor<double> sample({5}, x);
  const DeviceTensor<double> out({5}, 0.0);
  ASSERT_EQ(
      standardGammaGrad(queue, out.view(), concentration.view(), sample.view()),
      Status::kOk);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double by_a = gammaDistribution(a[i] + kStep, x[i]) -
                        gammaDistribution(a[i] - kStep, x[i]);
    const double by_x = gammaDistribution(a[i], x[i] + kStep) -
                        gammaDistribution(a[i], x[i] - kStep);
    EXPECT_NEAR(out.read()[i], -by_a / by_x, 1e-4 * std::abs(by_a / by_x));
  }
}

TEST(VariatesTest, BetaGradientOfAPower) {
  // Beta(1, b) has the distribution function 1 - (1 - x)^b; by symmetry the
  // variate of Beta(a, 1) is u^(1/a), whose derivative is -x log(x) / a.
  TestQueue queue;
  const DeviceTensor<double> x({3}, {0.1, 0.5, 0.9});
  const DeviceTensor<double> a({3}, 2.5);
  const DeviceTensor<double> total({3}, 3.5);
  const DeviceTensor<double> out({3}, 0.0);
  ASSERT_EQ(dirichletGrad(queue, out.view(), x.view(), a.view(), total.view()),
            Status::kOk);
  const auto samples = x.read();
  for (std::size_t i = 0; i < 3; ++i) {
    const double slope = -samples[i] * std::log(samples[i]) / 2.5;
    EXPECT_NEAR(out.read()[i], slope / (1 - samples[i]), 1e-10);
  }
}

}  // namespace
}  // namespace dipu::kernels
