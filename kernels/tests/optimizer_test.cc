// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compute/optimizer/adagrad.h"
#include "kernels/compute/optimizer/adaptive.h"
#include "kernels/compute/optimizer/foreach.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

// One parameter with its state.
struct Parameter {
  DeviceTensor<double> p, g, m, v, x;
  DeviceTensor<float> step{{}, 3.0F};

  explicit Parameter(const std::vector<int64_t>& sizes)
      : p(randomTensor<double>(sizes, 1)),
        g(randomTensor<double>(sizes, 2)),
        m(randomTensor<double>(sizes, 3)),
        v(sizes, 0.25),
        x(sizes, 0.5) {}

  AdamParameter view() const {
    return {p.view(), g.view(), m.view(), v.view(), x.view(), step.view()};
  }
};

// The parameter after one step of Adam, by the formulas of the paper.
std::vector<double> adamReference(const Parameter& t, const AdamOptions& o) {
  auto p = t.p.read();
  for (std::size_t i = 0; i < p.size(); ++i) {
    double g = o.maximize ? -t.g.read()[i] : t.g.read()[i];
    if (o.decoupled) {
      p[i] *= 1 - o.lr * o.weight_decay;
    } else {
      g += o.weight_decay * p[i];
    }
    const double m = o.beta1 * t.m.read()[i] + (1 - o.beta1) * g;
    double v = o.beta2 * t.v.read()[i] + (1 - o.beta2) * g * g;
    if (o.amsgrad) v = std::max(v, t.x.read()[i]);
    const double first = m / (1 - std::pow(o.beta1, 3));
    const double second = v / (1 - std::pow(o.beta2, 3));
    p[i] -= o.lr * first / (std::sqrt(second) + o.eps);
  }
  return p;
}

TEST(AdamTest, EveryOption) {
  TestQueue queue;
  for (int bits = 0; bits < 8; ++bits) {
    const AdamOptions options{0.01,           0.9,           0.99,
                              1e-8,           0.1,           (bits & 1) > 0,
                              (bits & 2) > 0, (bits & 4) > 0};
    const Parameter first({3, 4});
    const Parameter second({7});
    const auto expected_first = adamReference(first, options);
    const auto expected_second = adamReference(second, options);
    const AdamParameter both[] = {first.view(), second.view()};
    ASSERT_EQ(adam(queue, both, 2, options, 0), Status::kOk);
    const auto actual_first = first.p.read();
    const auto actual_second = second.p.read();
    for (std::size_t i = 0; i < actual_first.size(); ++i) {
      ASSERT_NEAR(actual_first[i], expected_first[i], 1e-12);
    }
    for (std::size_t i = 0; i < actual_second.size(); ++i) {
      ASSERT_NEAR(actual_second[i], expected_second[i], 1e-12);
    }
  }
}

TEST(AdamTest, ManyParametersOnManyThreads) {
  TestQueue queue;
  const AdamOptions options{0.01, 0.9, 0.99, 1e-8, 0.1, true, false, false};
  const Parameter alone({3});
  std::vector<Parameter> parameters;
  std::vector<AdamParameter> views;
  for (int i = 0; i < 40; ++i) parameters.emplace_back(std::vector<int64_t>{i});
  parameters.emplace_back(std::vector<int64_t>{300000});
  for (const Parameter& parameter : parameters) {
    views.push_back(parameter.view());
  }
  ASSERT_EQ(adam(queue, views.data(), views.size(), options, 3), Status::kOk);
  for (const Parameter& parameter : parameters) {
    const auto actual = parameter.p.read();
    const Parameter fresh({static_cast<int64_t>(actual.size())});
    if (actual.empty()) continue;
    const AdamParameter one = fresh.view();
    ASSERT_EQ(adam(queue, &one, 1, options, 3), Status::kOk);
    ASSERT_EQ(actual, fresh.p.read());
  }
}

TEST(AdamTest, RefusesTensorsThatDoNotCorrespond) {
  TestQueue queue;
  const Parameter a({3, 4});
  AdamParameter wrong = a.view();
  const auto transposed = randomTensor<double>({4, 3}, 1).transposed(0, 1);
  wrong.gradient = transposed.view();
  const AdamOptions options{};
  EXPECT_EQ(adam(queue, &wrong, 1, options, 1), Status::kUnsupported);
}

TEST(AdagradTest, DecaysTheRateByTheStep) {
  TestQueue queue;
  for (const bool maximize : {false, true}) {
    const auto p = randomTensor<double>({5}, 1);
    const auto g = randomTensor<double>({5}, 2);
    const DeviceTensor<double> sum({5}, 0.5);
    const DeviceTensor<float> step({}, 3.0F);
    const auto before = p.read();
    const AdagradParameter parameter{p.view(), g.view(), sum.view(),
                                     step.view()};
    ASSERT_EQ(adagrad(queue, &parameter, 1, {0.1, 0.25, 0.3, 1e-8, maximize}),
              Status::kOk);
    for (std::size_t i = 0; i < 5; ++i) {
      const double gradient =
          (maximize ? -g.read()[i] : g.read()[i]) + 0.3 * before[i];
      const double squares = 0.5 + gradient * gradient;
      EXPECT_NEAR(sum.read()[i], squares, 1e-12);
      EXPECT_NEAR(p.read()[i],
                  before[i] - 0.1 / 1.5 * gradient / std::sqrt(squares), 1e-8);
    }
  }
}

TEST(RmspropTest, CenteredAndWithMomentum) {
  TestQueue queue;
  for (const bool both : {false, true}) {
    const auto p = randomTensor<double>({5}, 1);
    const auto g = randomTensor<double>({5}, 2);
    const DeviceTensor<double> square({5}, 4.0);
    const DeviceTensor<double> average({5}, 0.5);
    const DeviceTensor<double> buffer({5}, 0.25);
    const auto before = p.read();
    const double momentum = both ? 0.75 : 0.0;
    ASSERT_EQ(rmsprop(queue, p.view(), g.view(), square.view(), average.view(),
                      buffer.view(), {0.1, 0.9, 1e-3, 0.3, momentum, both}),
              Status::kOk);
    for (std::size_t i = 0; i < 5; ++i) {
      const double gradient = g.read()[i] + 0.3 * before[i];
      const double squares = 3.6 + 0.1 * gradient * gradient;
      const double mean = both ? 0.45 + 0.1 * gradient : 0.0;
      const double step = gradient / (std::sqrt(squares - mean * mean) + 1e-3) +
                          momentum * 0.25;
      EXPECT_NEAR(square.read()[i], squares, 1e-12);
      EXPECT_NEAR(average.read()[i], both ? mean : 0.5, 1e-12);
      EXPECT_NEAR(buffer.read()[i], both ? step : 0.25, 1e-12);
      EXPECT_NEAR(p.read()[i], before[i] - 0.1 * step, 1e-12);
    }
  }
}

TEST(AdadeltaTest, StepsAsLongAsTheLastOnes) {
  TestQueue queue;
  const auto p = randomTensor<double>({5}, 1);
  const auto g = randomTensor<double>({5}, 2);
  const DeviceTensor<double> square({5}, 4.0);
  const DeviceTensor<double> change({5}, 2.0);
  const auto before = p.read();
  ASSERT_EQ(adadelta(queue, p.view(), g.view(), square.view(), change.view(),
                     {0.5, 0.9, 1e-3, 0.3}),
            Status::kOk);
  for (std::size_t i = 0; i < 5; ++i) {
    const double gradient = g.read()[i] + 0.3 * before[i];
    const double squares = 3.6 + 0.1 * gradient * gradient;
    const double step =
        std::sqrt(2.0 + 1e-3) / std::sqrt(squares + 1e-3) * gradient;
    EXPECT_NEAR(p.read()[i], before[i] - 0.5 * step, 1e-12);
    EXPECT_NEAR(change.read()[i], 1.8 + 0.1 * step * step, 1e-12);
  }
}

TEST(SgdTest, MomentumAndNesterov) {
  TestQueue queue;
  for (bool nesterov : {false, true}) {
    for (double momentum : {0.0, 0.9}) {
      const auto p = randomTensor<double>({5}, 1);
      const auto g = randomTensor<double>({5}, 2);
      const auto b = randomTensor<double>({5}, 3);
      const auto before = p.read();
      const auto buffer = b.read();
      ASSERT_EQ(sgd(queue, p.view(), g.view(), b.view(),
                    {0.1, momentum, 0.2, 0.3, nesterov}),
                Status::kOk);
      for (int i = 0; i < 5; ++i) {
        const double gradient = g.read()[i] + 0.3 * before[i];
        const double moved = momentum * buffer[i] + 0.8 * gradient;
        const double used = momentum == 0 ? gradient
                            : nesterov    ? gradient + momentum * moved
                                          : moved;
        EXPECT_NEAR(p.read()[i], before[i] - 0.1 * used, 1e-13);
        EXPECT_NEAR(b.read()[i], momentum == 0 ? buffer[i] : moved, 1e-13);
      }
    }
  }
}

TEST(ForeachTest, DenseAndAwkwardTensors) {
  TestQueue queue;
  const auto dense = randomTensor<float>({4, 5}, 1);
  const auto strided = randomTensor<float>({4, 6}, 2).strided(1, 2);
  const DeviceTensor<int64_t> integers({3}, int64_t{4});
  const Scalar two{true, 2, 2.0};
  const auto expect = [&](const auto& tensor) {
    const auto before = tensor.read();
    const TensorView view = tensor.view();
    ASSERT_EQ(foreachScalar(queue, ForeachOp::kMul, &view, &view, 1, two),
              Status::kOk);
    ASSERT_EQ(foreachScalar(queue, ForeachOp::kAdd, &view, &view, 1, two),
              Status::kOk);
    const auto after = tensor.read();
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i], before[i] * 2 + 2);
    }
  };
  expect(dense);
  expect(strided);
  expect(integers);
}

TEST(ForeachTest, FactorOnTheDevice) {
  TestQueue queue;
  const auto a = randomTensor<float>({9}, 1);
  const DeviceTensor<float> factor({}, 0.5F);
  const auto before = a.read();
  const TensorView view = a.view();
  ASSERT_EQ(foreachMulTensor(queue, &view, &view, 1, factor.view()),
            Status::kOk);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(a.read()[i], before[i] * 0.5F);
}

TEST(ForeachTest, Norms) {
  TestQueue queue;
  const DeviceTensor<float> x({20000}, -0.5F);
  const DeviceTensor<float> out({}, NAN);
  const TensorView in = x.view();
  const TensorView to = out.view();
  foreachNorm(queue, &to, &in, 1, 1.0);
  EXPECT_NEAR(out.read()[0], 10000.0, 1e-2);
  foreachNorm(queue, &to, &in, 1, 2.0);
  EXPECT_NEAR(out.read()[0], std::sqrt(5000.0), 1e-4);
  foreachNorm(queue, &to, &in, 1, INFINITY);
  EXPECT_EQ(out.read()[0], 0.5F);
  EXPECT_EQ(foreachNorm(queue, &to, &in, 1, 3.0), Status::kUnsupported);
}

TEST(AmpTest, FindsWhatIsNotFinite) {
  TestQueue queue;
  for (float bad : {1.0F, std::numeric_limits<float>::infinity(), NAN}) {
    const DeviceTensor<float> g({3}, {4.0F, bad, 8.0F});
    const DeviceTensor<float> found({}, 0.0F);
    const DeviceTensor<float> inverse({}, 0.25F);
    const TensorView view = g.view();
    ASSERT_EQ(ampUnscale(queue, &view, 1, found.view(), inverse.view()),
              Status::kOk);
    EXPECT_EQ(found.read()[0], std::isfinite(bad) ? 0.0F : 1.0F);
    EXPECT_EQ(g.read()[2], 2.0F);
  }
}

TEST(AmpTest, ScaleGrowsAndBacksOff) {
  TestQueue queue;
  const DeviceTensor<float> scale({}, 8.0F);
  const DeviceTensor<int32_t> tracker({}, 0);
  const DeviceTensor<float> fine({}, 0.0F);
  const DeviceTensor<float> inf({}, 1.0F);
  const auto update = [&](const DeviceTensor<float>& found) {
    ampUpdateScale(queue, scale.view(), tracker.view(), found.view(), 2.0, 0.5,
                   2);
    return scale.read()[0];
  };
  EXPECT_EQ(update(fine), 8.0F);
  EXPECT_EQ(tracker.read()[0], 1);
  EXPECT_EQ(update(fine), 16.0F);
  EXPECT_EQ(tracker.read()[0], 0);
  EXPECT_EQ(update(inf), 8.0F);
}

}  // namespace
}  // namespace dipu::kernels
