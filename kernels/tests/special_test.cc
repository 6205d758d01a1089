// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/special/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compute/special/bessel.h"
#include "kernels/compute/special/error_function.h"
#include "kernels/compute/special/gamma.h"
#include "kernels/compute/special/polynomial.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::TestQueue;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

// |actual - expected| within `tolerance` of the larger of 1e-300 and
// |expected|.
void expectClose(double actual, double expected, double tolerance, double x) {
  EXPECT_NEAR(actual, expected, std::fabs(expected) * tolerance + 1e-300)
      << "at " << x;
}

TEST(Gamma, DigammaDifferentiatesTheLogarithm) {
  EXPECT_NEAR(special::digamma(1), -0.57721566490153286061, 1e-15);
  EXPECT_NEAR(special::digamma(0.5), -1.96351002602142347944, 1e-14);
  EXPECT_NEAR(special::digamma(-0.5), 0.03648997397857652056, 1e-14);
  EXPECT_EQ(special::digamma(0.0), -kInfinity);
  EXPECT_EQ(special::digamma(-0.0), kInfinity);
  EXPECT_TRUE(std::isnan(special::digamma(-3)));
  EXPECT_EQ(special::digamma(kInfinity), kInfinity);
}

TEST(Gamma, ZetaKnowsItsClosedForms) {
  expectClose(special::zeta(2, 1), kPi * kPi / 6, 1e-15, 2);
  expectClose(special::zeta(4, 1), std::pow(kPi, 4) / 90, 1e-15, 4);
  expectClose(special::zeta(2, 0.5), kPi * kPi / 2, 1e-15, 0.5);
  // The first term of q = -1.5 and the sum from -0.5 on.
  for (const double s : {2.0, 3.0}) {
    expectClose(special::zeta(s, -1.5),
                std::pow(-1.5, -s) + special::zeta(s, -0.5), 1e-13, s);
  }
  // Next to a pole the distance to it must not be rounded away.
  expectClose(special::zeta(2, -1e-30), 1e60, 1e-13, -1e-30);
  expectClose(special::zeta(3, -1e-30), -1e90, 1e-13, -1e-30);
  EXPECT_EQ(special::zeta(1, 3), kInfinity);
  EXPECT_EQ(special::zeta(2, -1), kInfinity);
  EXPECT_EQ(special::zeta(std::nan(""), -1), kInfinity);
  EXPECT_TRUE(std::isnan(special::zeta(std::nan(""), 2)));
  EXPECT_TRUE(std::isnan(special::zeta(0.5, 1)));
  EXPECT_TRUE(std::isnan(special::zeta(2.5, -0.5)));
}

TEST(Gamma, PolygammaFollowsItsRecurrence) {
  EXPECT_NEAR(special::polygamma(1, 1), kPi * kPi / 6, 1e-12);
  for (int n = 0; n < 6; ++n) {
    const double factorial = std::tgamma(n + 1);
    for (const double x : {-1.25, 0.3, 1.0, 7.5, 40.0}) {
      const double step =
          (n % 2 == 0 ? factorial : -factorial) * std::pow(x, -n - 1);
      EXPECT_NEAR(special::polygamma(n, x + 1), special::polygamma(n, x) + step,
                  1e-11 * (1 + std::fabs(step)))
          << n << " " << x;
    }
  }
}

TEST(Gamma, IncompleteFunctionsMatchClosedForms) {
  for (const double x : {0.01, 0.5, 1.0, 3.0, 20.0}) {
    expectClose(special::upperGamma(1, x), std::exp(-x), 1e-13, x);
    expectClose(special::lowerGamma(0.5, x), std::erf(std::sqrt(x)), 1e-13, x);
    expectClose(special::upperGamma(2, x), (1 + x) * std::exp(-x), 1e-13, x);
  }
  EXPECT_EQ(special::lowerGamma(2, 0), 0);
  EXPECT_EQ(special::upperGamma(2, kInfinity), 0);
  EXPECT_EQ(special::lowerGamma(0, 1), 1);
  EXPECT_TRUE(std::isnan(special::lowerGamma(0, 0)));
  EXPECT_TRUE(std::isnan(special::upperGamma(-1, 1)));
}

// P(a + 1, x) = P(a, x) - x^a e^-x / Gamma(a + 1), DLMF 8.8.5, across the
// borders between the methods.
TEST(Gamma, IncompleteFunctionsAgreeAcrossMethods) {
  for (const double a : {9.5, 30.0, 99999.5}) {
    for (const double ratio : {0.97, 1.0, 1.003}) {
      const double x = a * ratio;
      const double step =
          std::exp(a * std::log(x) - x - special::logGamma(a + 1));
      EXPECT_NEAR(special::lowerGamma(a + 1, x),
                  special::lowerGamma(a, x) - step, 1e-10)
          << a << " " << ratio;
      EXPECT_NEAR(special::lowerGamma(a, x) + special::upperGamma(a, x), 1,
                  1e-14);
    }
  }
}

TEST(Bessel, FirstAndSecondKindHaveTheirWronskian) {
  for (const double x : {0.1, 1.0, 5.0, 24.0, 100.0}) {
    EXPECT_NEAR(special::besselJ1(x) * special::besselY0(x) -
                    special::besselJ0(x) * special::besselY1(x),
                2 / (kPi * x), 1e-14);
  }
  EXPECT_EQ(special::besselY0(0), -kInfinity);
  EXPECT_TRUE(std::isnan(special::besselY1(-1)));
}

// I0 K1 + I1 K0 = 1 / x, DLMF 10.28.2, on both sides of every border.
TEST(Bessel, ModifiedFunctionsHaveTheirWronskian) {
  for (const double x :
       {1e-8, 0.5, 1.999, 2.001, 9.0, 17.99, 18.01, 29.9, 30.1, 500.0, 1e5}) {
    expectClose(special::scaledBesselI0(x) * special::scaledBesselK1(x) +
                    special::scaledBesselI1(x) * special::scaledBesselK0(x),
                1 / x, 4e-15, x);
  }
  EXPECT_NEAR(special::besselI0(1), 1.26606587775200833560, 1e-15);
  EXPECT_NEAR(special::besselK0(1), 0.42102443824070833334, 1e-15);
  EXPECT_EQ(special::besselI1(-2), -special::besselI1(2));
  EXPECT_TRUE(std::isfinite(special::besselI0(712)));
  EXPECT_EQ(special::besselK0(0), kInfinity);
  EXPECT_TRUE(std::isnan(special::besselK1(-1)));
}

TEST(Bessel, AiryIsSmoothAcrossItsMethods) {
  EXPECT_NEAR(special::airyAi(0), 0.35502805388781723926, 1e-16);
  EXPECT_NEAR(special::airyAi(1), 0.13529241631288141552, 1e-16);
  EXPECT_NEAR(special::airyAi(-2.33810741045976703849), 0, 1e-15);
  expectClose(special::airyAi(10), 1.1047532552898685934e-10, 1e-13, 10);
  for (const double border : {-8.0, 1.0, 9.0}) {
    const double step = 1e-9;
    const double below = special::airyAi(border - step);
    const double above = special::airyAi(border + step);
    EXPECT_NEAR(below, above, 8e-9 * std::fabs(above) + 3e-9 * (border < 0))
        << border;
  }
}

TEST(ErrorFunction, ScaledComplementMeetsItsAsymptote) {
  expectClose(special::scaledErfc(1), std::exp(1.0) * std::erfc(1.0), 1e-14, 1);
  expectClose(special::scaledErfc(10.0001), special::scaledErfc(9.9999), 3e-5,
              10);
  expectClose(special::scaledErfc(1e100), 1e-100 / std::sqrt(kPi), 1e-14,
              1e100);
  EXPECT_EQ(special::scaledErfc(-30), kInfinity);
}

TEST(ErrorFunction, NormalQuantileInvertsTheDistribution) {
  for (const double p : {1e-300, 1e-20, 1e-3, 0.0999, 0.1001, 0.3, 0.5}) {
    const double x = special::inverseNormal(p);
    expectClose(std::exp(special::logNormal(x)), p, 2e-13, p);
  }
  for (const double p : {0.7, 0.8999, 0.9001, 0.999}) {
    EXPECT_NEAR(special::inverseNormal(p), -special::inverseNormal(1 - p),
                1e-13);
  }
  EXPECT_EQ(special::inverseNormal(0), -kInfinity);
  EXPECT_EQ(special::inverseNormal(1), kInfinity);
  EXPECT_TRUE(std::isnan(special::inverseNormal(1.5)));
}

TEST(Polynomial, HasTheCoefficientsOfTheTables) {
  const double x = 0.3;
  EXPECT_NEAR(special::chebyshevT(x, 3), 4 * x * x * x - 3 * x, 1e-15);
  EXPECT_NEAR(special::chebyshevU(x, 3), 8 * x * x * x - 4 * x, 1e-15);
  EXPECT_NEAR(special::chebyshevV(x, 2), 4 * x * x - 2 * x - 1, 1e-15);
  EXPECT_NEAR(special::chebyshevW(x, 2), 4 * x * x + 2 * x - 1, 1e-15);
  EXPECT_NEAR(special::hermiteH(x, 3), 8 * x * x * x - 12 * x, 1e-15);
  EXPECT_NEAR(special::hermiteHe(x, 3), x * x * x - 3 * x, 1e-15);
  EXPECT_NEAR(special::laguerreL(x, 2), 0.5 * (x * x - 4 * x + 2), 1e-15);
  EXPECT_NEAR(special::legendreP(x, 3), 0.5 * (5 * x * x * x - 3 * x), 1e-15);
  EXPECT_NEAR(special::shiftedChebyshevT(x, 2), 8 * x * x - 8 * x + 1, 1e-15);
}

// The closed forms continue the recurrences.
TEST(Polynomial, AgreesOnBothSidesOfTheClosedForm) {
  const auto check = [](double (*p)(double, int64_t)) {
    for (const double x : {-0.99, -0.4, 0.0, 0.7}) {
      for (const int64_t n : {8, 9, 20}) {
        EXPECT_NEAR(p(x, n + 1), 2 * x * p(x, n) - p(x, n - 1), 1e-11);
      }
    }
    EXPECT_EQ(p(0.5, -1), 0);
    EXPECT_EQ(p(0.5, 0), 1);
    EXPECT_NEAR(p(1.0, 12), p(1.0 - 1e-13, 12), 1e-8);
    EXPECT_NEAR(p(-1.0, 13), p(-1.0 + 1e-13, 13), 1e-8);
  };
  check(&special::chebyshevT<double>);
  check(&special::chebyshevU<double>);
  check(&special::chebyshevV<double>);
  check(&special::chebyshevW<double>);
}

TEST(Special, ComputesEveryFloatingTypeAndIntegers) {
  TestQueue queue;
  const DeviceTensor<int32_t> whole({3}, {1, 2, 5});
  const DeviceTensor<double> wide({3}, {1, 2, 5});
  const DeviceTensor<float> single({3}, 0.0f);
  const DeviceTensor<double> exact({3}, 0.0);
  const DeviceTensor<BFloat16> half({3}, BFloat16(0.0f));
  const auto run = [&](const TensorView& out, const TensorView& in) {
    ASSERT_EQ(specialUnary(queue, SpecialOp::kLgamma, out, in), Status::kOk);
  };
  run(single.view(), whole.view());
  run(exact.view(), wide.view());
  run(half.view(), whole.view());
  const double expected[] = {0, 0, std::log(24.0)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(single.read()[i], expected[i], 1e-6);
    EXPECT_NEAR(exact.read()[i], expected[i], 1e-15);
    EXPECT_NEAR(asDouble(half.read()[i]), expected[i], 0.02);
  }
  EXPECT_EQ(specialUnary(queue, SpecialOp::kI0, whole.view(), single.view()),
            Status::kUnsupported);
}

TEST(Special, BroadcastsDegrees) {
  TestQueue queue;
  const DeviceTensor<double> x({2, 1}, {0.5, 2.0});
  const DeviceTensor<int64_t> n({3}, {0, 1, 2});
  const DeviceTensor<double> out({2, 3}, 0.0);
  ASSERT_EQ(specialBinary(queue, SpecialBinaryOp::kChebyshevT, out.view(),
                          x.view(), n.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1, 0.5, -0.5, 1, 2, 7}));
}

TEST(Special, LogitHasLimits) {
  TestQueue queue;
  const DeviceTensor<double> x({4}, {-0.5, 0.0, 0.5, 2.0});
  const DeviceTensor<double> one({4}, 1.0);
  const DeviceTensor<double> out({4}, 0.0);
  ASSERT_EQ(logit(queue, out.view(), x.view(), nullptr), Status::kOk);
  auto values = out.read();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[3]));
  EXPECT_EQ(values[1], -kInfinity);
  EXPECT_EQ(values[2], 0);
  const double eps = 0.25;
  ASSERT_EQ(logit(queue, out.view(), x.view(), &eps), Status::kOk);
  EXPECT_DOUBLE_EQ(out.read()[3], std::log(3.0));
  ASSERT_EQ(logitBackward(queue, out.view(), one.view(), x.view(), &eps),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{0, 0, 4, 0}));
  ASSERT_EQ(logitBackward(queue, out.view(), one.view(), x.view(), nullptr),
            Status::kOk);
  values = out.read();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[3]));
  EXPECT_EQ(values[1], kInfinity);
}

TEST(Special, SumsOfLogarithmsKeepInfinities) {
  TestQueue queue;
  const DeviceTensor<double> a({3}, {-kInfinity, kInfinity, 0.0});
  const DeviceTensor<double> b({3}, {-kInfinity, kInfinity, 0.0});
  const DeviceTensor<double> out({3}, 0.0);
  ASSERT_EQ(specialBinary(queue, SpecialBinaryOp::kLogAddExp, out.view(),
                          a.view(), b.view()),
            Status::kOk);
  EXPECT_EQ(out.read(),
            (std::vector<double>{-kInfinity, kInfinity, std::log(2.0)}));
}

}  // namespace
}  // namespace dipu::kernels
