// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's other forms of normalization, and their gradients against
// differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

namespace dipu::kernels {
namespace {

using testing::derivative;
using testing::DeviceTensor;
using testing::doubles;
using testing::expectNear;
using testing::expectSlopes;
using testing::handleOf;
using testing::randomTensor;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Forms : public testing::Diopi {
 protected:
  static std::string text() { return diopiGetLastErrorString(); }
};

Values normalized(const Values& x, int64_t n, double p, double eps) {
  Values y(x.size());
  for (std::size_t r = 0; r < x.size(); r += n) {
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double size = std::abs(x[r + i]);
      norm = std::isinf(p) ? std::max(norm, size) : norm + std::pow(size, p);
    }
    if (!std::isinf(p)) norm = std::pow(norm, 1 / p);
    for (int64_t i = 0; i < n; ++i) y[r + i] = x[r + i] / std::max(norm, eps);
  }
  return y;
}

template <typename T>
class Normalized : public testing::Diopi {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(Normalized, FloatTypes);

TYPED_TEST(Normalized, DividesByTheNorm) {
  using T = TypeParam;
  const auto x = randomTensor<T>({3, 7}, 1);
  const DeviceTensor<T> out({3, 7}, T(ComputeType<T>(9)));
  diopiTensor xh = handleOf(x.view());
  diopiTensor oh = handleOf(out.view());
  for (const double p : {1.0, 2.0, 3.0, kInfinity}) {
    ASSERT_EQ(diopiNormalize(&this->context_, &oh, &xh, static_cast<float>(p),
                             -1, 1e-12),
              diopiSuccess);
    expectNear(out, normalized(doubles(x.read()), 7, p, 1e-12));
  }
}

TEST_F(Forms, OfNormalizedLines) {
  const auto x = randomTensor<double>({3, 4}, 1);
  const auto g = randomTensor<double>({3, 4}, 2);
  const DeviceTensor<double> dx({3, 4}, 9.0);
  diopiTensor xh = handleOf(x.view());
  diopiTensor gh = handleOf(g.view());
  diopiTensor dh = handleOf(dx.view());
  for (const double eps : {1e-12, 10.0}) {
    for (const double p : {1.0, 1.5, 2.0, 3.0, kInfinity}) {
      ASSERT_EQ(diopiNormalizeBackward(&context_, &dh, &gh, &xh,
                                       static_cast<float>(p), 1, eps),
                diopiSuccess);
      expectSlopes(dx, derivative(x.read(), g.read(), [&](const Values& at) {
                     return normalized(at, 4, p, eps);
                   }));
    }
  }
  EXPECT_EQ(diopiNormalizeBackward(&context_, &dh, &gh, &xh, 0.0F, 1, 1e-12),
            diopiErrorOccurred);
  EXPECT_EQ(diopiNormalize(&context_, &dh, &xh, 2.0F, 2, 1e-12),
            diopiErrorOccurred);
}

// x [2, 3, 4] with channels in `axis`, 1 or 2.
Values instances(const Values& x, const Values& scale, const Values& bias,
                 int axis) {
  const int64_t channels = axis == 1 ? 3 : 4;
  const int64_t others = 12 / channels;
  Values y(x.size());
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = [&](int64_t i) {
        return n * 12 + (axis == 1 ? c * 4 + i : i * 4 + c);
      };
      double mean = 0;
      double var = 0;
      for (int64_t i = 0; i < others; ++i) mean += x[at(i)] / double(others);
      for (int64_t i = 0; i < others; ++i) {
        var += (x[at(i)] - mean) * (x[at(i)] - mean) / double(others);
      }
      for (int64_t i = 0; i < others; ++i) {
        y[at(i)] =
            (x[at(i)] - mean) / std::sqrt(var + 1e-5) * scale[c] + bias[c];
      }
    }
  }
  return y;
}

TEST_F(Forms, OfInstanceNorms) {
  const auto x = randomTensor<double>({2, 3, 4}, 1);
  const auto g = randomTensor<double>({2, 3, 4}, 2);
  const DeviceTensor<double> out({2, 3, 4}, 9.0);
  for (const int axis : {1, 2}) {
    const int64_t channels = axis == 1 ? 3 : 4;
    const auto scale = randomTensor<double>({channels}, 3);
    const auto bias = randomTensor<double>({channels}, 4);
    const DeviceTensor<double> dx({2, 3, 4}, 9.0);
    const DeviceTensor<double> ds({channels}, 9.0);
    const DeviceTensor<double> db({channels}, 9.0);
    diopiTensor h[] = {handleOf(x.view()),    handleOf(scale.view()),
                       handleOf(bias.view()), handleOf(g.view()),
                       handleOf(dx.view()),   handleOf(ds.view()),
                       handleOf(db.view()),   handleOf(out.view())};
    ASSERT_EQ(
        diopiInstanceNorm(&context_, &h[7], &h[0], axis, &h[1], &h[2], 1e-5),
        diopiSuccess)
        << text();
    expectNear(out, instances(x.read(), scale.read(), bias.read(), axis));
    ASSERT_EQ(diopiInstanceNormBackward(&context_, &h[4], &h[5], &h[6], &h[3],
                                        &h[0], &h[1], &h[2], axis, 1e-5),
              diopiSuccess)
        << text();
    const Values gs = g.read();
    expectSlopes(dx, derivative(x.read(), gs, [&](const Values& at) {
                   return instances(at, scale.read(), bias.read(), axis);
                 }));
    expectSlopes(ds, derivative(scale.read(), gs, [&](const Values& at) {
                   return instances(x.read(), at, bias.read(), axis);
                 }));
    expectSlopes(db, derivative(bias.read(), gs, [&](const Values& at) {
                   return instances(x.read(), scale.read(), at, axis);
                 }));
    EXPECT_EQ(diopiInstanceNorm(&context_, &h[7], &h[0], 3 - axis, &h[1], &h[2],
                                1e-5),
              diopiErrorOccurred);
  }
}

class LayersFromAnAxisOn : public Forms {
 protected:
  // Into `out`, mean_ and spread_.
  diopiError_t normalize(const DeviceTensor<double>& out, int64_t axis) {
    diopiTensor h[] = {handleOf(out.view()),     handleOf(mean_.view()),
                       handleOf(spread_.view()), handleOf(x_.view()),
                       handleOf(w_.view()),      handleOf(b_.view())};
    return diopiLayerNormGB(&context_, &h[0], &h[1], &h[2], &h[3], &h[4], &h[5],
                            1e-5, axis);
  }

  // Without statistics.
  Values forward(const Values& at) {
    const DeviceTensor<double> moved({3, 2, 4}, at);
    const DeviceTensor<double> out({3, 2, 4}, 9.0);
    diopiTensor h[] = {handleOf(out.view()), handleOf(moved.view()),
                       handleOf(w_.view()), handleOf(b_.view())};
    EXPECT_EQ(diopiLayerNormGB(&context_, &h[0], nullptr, nullptr, &h[1], &h[2],
                               &h[3], 1e-5, -2),
              diopiSuccess);
    return out.read();
  }

  const DeviceTensor<double> x_ = randomTensor<double>({3, 2, 4}, 1);
  const DeviceTensor<double> w_ = randomTensor<double>({2, 4}, 2);
  const DeviceTensor<double> b_ = randomTensor<double>({2, 4}, 3);
  const DeviceTensor<double> out_{{3, 2, 4}, 9.0};
  const DeviceTensor<double> mean_{{3}, 9.0};
  const DeviceTensor<double> spread_{{3}, 9.0};
};

TEST_F(LayersFromAnAxisOn, AreCountedFromEitherEnd) {
  ASSERT_EQ(normalize(out_, 1), diopiSuccess) << text();
  expectNear(out_, forward(x_.read()));
  EXPECT_EQ(normalize(out_, 3), diopiErrorOccurred);
}

TEST_F(LayersFromAnAxisOn, HaveTheGradientsOfDifferences) {
  const auto g = randomTensor<double>({3, 2, 4}, 4);
  const DeviceTensor<double> dx({3, 2, 4}, 9.0);
  const DeviceTensor<double> dw({2, 4}, 9.0);
  const DeviceTensor<double> db({2, 4}, 9.0);
  ASSERT_EQ(normalize(out_, 1), diopiSuccess) << text();
  diopiTensor h[] = {
      handleOf(dx.view()), handleOf(dw.view()),    handleOf(db.view()),
      handleOf(g.view()),  handleOf(x_.view()),    handleOf(w_.view()),
      handleOf(b_.view()), handleOf(mean_.view()), handleOf(spread_.view())};
  ASSERT_EQ(diopiLayerNormGBBackward(&context_, &h[0], &h[1], &h[2], &h[3],
                                     &h[4], &h[5], &h[6], &h[7], &h[8], 1),
            diopiSuccess)
      << text();
  expectSlopes(dx, derivative(x_.read(), g.read(),
                              [&](const Values& at) { return forward(at); }));
  Values sums(8);
  const Values gs = g.read();
  for (std::size_t i = 0; i < gs.size(); ++i) sums[i % 8] += gs[i];
  expectNear(db, sums);
}

}  // namespace
}  // namespace dipu::kernels
