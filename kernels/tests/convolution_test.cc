// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

struct Case {
  int64_t n, c, h, w, k, r, s;
  ConvolutionArguments arguments;

  int64_t outHeight() const { return outSize(0, h, r); }
  int64_t outWidth() const { return outSize(1, w, s); }

 private:
  int64_t outSize(int axis, int64_t in, int64_t kernel) const {
    return (in + 2 * arguments.padding[axis] -
            arguments.dilation[axis] * (kernel - 1) - 1) /
               arguments.stride[axis] +
           1;
  }
};

const Case kCases[] = {
    {2, 3, 8, 9, 4, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
    {1, 16, 7, 7, 32, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}},
    {2, 8, 6, 6, 8, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 1}},
    {2, 6, 9, 8, 4, 3, 2, {{1, 2}, {2, 0}, {2, 1}, 2}},
    {1, 4, 6, 6, 4, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 4}},
    {1, 1, 5, 5, 1, 5, 5, {{3, 3}, {2, 2}, {1, 1}, 1}},
};

// Calls body(offsets of image, weight and result, index of the feature) for
// every product of a convolution.
template <typename Body>
void forEachProduct(const Case& t, const Body& body) {
  const auto& a = t.arguments;
  const int64_t group_c = t.c / a.groups;
  const int64_t group_k = t.k / a.groups;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t k = 0; k < t.k; ++k)
      for (int64_t oh = 0; oh < t.outHeight(); ++oh)
        for (int64_t ow = 0; ow < t.outWidth(); ++ow)
          for (int64_t c = 0; c < group_c; ++c)
            for (int64_t r = 0; r < t.r; ++r)
              for (int64_t s = 0; s < t.s; ++s) {
                const int64_t h =
                    oh * a.stride[0] - a.padding[0] + r * a.dilation[0];
                const int64_t w =
                    ow * a.stride[1] - a.padding[1] + s * a.dilation[1];
                if (h < 0 || h >= t.h || w < 0 || w >= t.w) continue;
                const int64_t channel = k / group_k * group_c + c;
                body(((n * t.c + channel) * t.h + h) * t.w + w,
                     ((k * group_c + c) * t.r + r) * t.s + s,
                     ((n * t.k + k) * t.outHeight() + oh) * t.outWidth() + ow);
              }
}

template <typename T>
DeviceTensor<T> image(int64_t n, int64_t c, int64_t h, int64_t w, bool last,
                      uint32_t seed) {
  if (!last) return randomTensor<T>({n, c, h, w}, seed);
  return randomTensor<T>({n, h, w, c}, seed).transposed(2, 3).transposed(1, 2);
}

template <typename T>
void expectNear(const std::vector<T>& actual,
                const std::vector<double>& expected) {
  const double tolerance = kDTypeOf<T> == DType::kFloat64   ? 1e-12
                           : kDTypeOf<T> == DType::kFloat32 ? 1e-4
                           : kDTypeOf<T> == DType::kFloat16 ? 1e-2
                                                            : 5e-2;
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(asDouble(actual[i]), expected[i],
                tolerance * (1 + std::abs(expected[i])));
  }
}

template <typename T>
class ConvolutionTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(ConvolutionTest, FloatTypes);

TYPED_TEST(ConvolutionTest, Forward) {
  using T = TypeParam;
  TestQueue queue;
  for (const Case& t : kCases) {
    for (bool last : {false, true}) {
      const auto x = image<T>(t.n, t.c, t.h, t.w, last, 1);
      const auto w = image<T>(t.k, t.c / t.arguments.groups, t.r, t.s, last, 2);
      const auto b = randomTensor<T>({t.k}, 3);
      const auto y = image<T>(t.n, t.k, t.outHeight(), t.outWidth(), last, 4);
      ASSERT_EQ(
          convolve(queue, y.view(), x.view(), w.view(), b.view(), t.arguments),
          Status::kOk);
      const auto in = x.read();
      const auto weight = w.read();
      const auto bias = b.read();
      const int64_t pixels = t.outHeight() * t.outWidth();
      std::vector<double> expected(y.read().size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = asDouble(bias[i / pixels % t.k]);
      }
      forEachProduct(t, [&](int64_t i, int64_t j, int64_t o) {
        expected[o] += asDouble(in[i]) * asDouble(weight[j]);
      });
      expectNear(y.read(), expected);
    }
  }
}

TYPED_TEST(ConvolutionTest, Gradients) {
  using T = TypeParam;
  TestQueue queue;
  for (const Case& t : kCases) {
    for (bool last : {false, true}) {
      const int64_t group_c = t.c / t.arguments.groups;
      const auto x = image<T>(t.n, t.c, t.h, t.w, last, 1);
      const auto w = image<T>(t.k, group_c, t.r, t.s, last, 2);
      const auto g = image<T>(t.n, t.k, t.outHeight(), t.outWidth(), last, 3);
      const auto dx = image<T>(t.n, t.c, t.h, t.w, last, 4);
      const auto dw = image<T>(t.k, group_c, t.r, t.s, last, 5);
      const DeviceTensor<T> db({t.k}, T(NAN));
      ASSERT_EQ(convolveBackward(queue, dx.view(), dw.view(), db.view(),
                                 g.view(), x.view(), w.view(), t.arguments),
                Status::kOk);
      const auto in = x.read();
      const auto weight = w.read();
      const auto gradient = g.read();
      std::vector<double> expected_x(in.size(), 0.0);
      std::vector<double> expected_w(weight.size(), 0.0);
      std::vector<double> expected_b(t.k, 0.0);
      forEachProduct(t, [&](int64_t i, int64_t j, int64_t o) {
        expected_x[i] += asDouble(gradient[o]) * asDouble(weight[j]);
        expected_w[j] += asDouble(gradient[o]) * asDouble(in[i]);
      });
      const int64_t pixels = t.outHeight() * t.outWidth();
      for (std::size_t o = 0; o < gradient.size(); ++o) {
        expected_b[o / pixels % t.k] += asDouble(gradient[o]);
      }
      expectNear(dx.read(), expected_x);
      expectNear(dw.read(), expected_w);
      expectNear(db.read(), expected_b);
      const DeviceTensor<T> alone({t.k}, T(NAN));
      convolveBackward(queue, TensorView(), TensorView(), alone.view(),
                       g.view(), x.view(), w.view(), t.arguments);
      expectNear(alone.read(), expected_b);
    }
  }
}

template <typename T>
double dot(const DeviceTensor<T>& a, const DeviceTensor<T>& b) {
  const auto p = a.read();
  const auto q = b.read();
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += asDouble(p[i]) * asDouble(q[i]);
  }
  return sum;
}

template <typename T>
class WideTest : public ::testing::Test {};
TYPED_TEST_SUITE(WideTest, FloatTypes);

// A kernel with one element copies the image, shifted.
TYPED_TEST(WideTest, ThreeDimensionsShift) {
  using T = TypeParam;
  TestQueue queue;
  std::vector<T> kernel(18, T(0.0F));
  kernel[16] = T(2.0F);  // depth 2, row 2, column 0
  const auto x = randomTensor<T>({1, 1, 3, 4, 5}, 1);
  const DeviceTensor<T> w({1, 1, 3, 3, 2}, kernel);
  const auto y = randomTensor<T>({1, 1, 3, 2, 4}, 2);
  ConvolutionArguments a;
  a.padding = {1, 1, 0};
  a.stride = {1, 2, 1};
  ASSERT_EQ(convolve(queue, y.view(), x.view(), w.view(), TensorView(), a),
            Status::kOk);
  const auto in = x.read();
  const auto out = y.read();
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const int64_t d = i / 8 + 1;
    const int64_t h = i / 4 % 2 * 2 + 1;
    const double expected =
        d < 3 ? 2 * asDouble(in[(d * 4 + h) * 5 + i % 4]) : 0.0;
    EXPECT_EQ(asDouble(out[i]), expected);
  }
}

// Sums of products with a transposed convolution are those with the
// convolution itself, and so are its gradients.
TYPED_TEST(WideTest, TransposedIsTheAdjoint) {
  using T = TypeParam;
  TestQueue queue;
  const double tolerance = sizeof(T) == 2 ? 0.5 : sizeof(T) == 4 ? 1e-3 : 1e-10;
  ConvolutionArguments a;
  a.stride = {2, 1, 2};
  a.padding = {1, 0, 1};
  a.dilation = {1, 2, 1};
  a.groups = 2;
  const auto small = randomTensor<T>({2, 4, 3, 4, 2}, 1);
  const auto large = randomTensor<T>({2, 6, 6, 8, 4}, 2);
  const auto w = randomTensor<T>({4, 3, 3, 3, 3}, 3);
  const auto up = randomTensor<T>({2, 6, 6, 8, 4}, 4);
  const auto down = randomTensor<T>({2, 4, 3, 4, 2}, 5);
  ASSERT_EQ(convolveTransposed(queue, up.view(), small.view(), w.view(),
                               TensorView(), a),
            Status::kOk);
  ASSERT_EQ(
      convolve(queue, down.view(), large.view(), w.view(), TensorView(), a),
      Status::kOk);
  EXPECT_NEAR(dot(up, large), dot(down, small), tolerance);
  const auto dx = randomTensor<T>({2, 4, 3, 4, 2}, 6);
  const auto dw = randomTensor<T>({4, 3, 3, 3, 3}, 7);
  const auto db = randomTensor<T>({6}, 8);
  ASSERT_EQ(convolveTransposedBackward(queue, dx.view(), dw.view(), db.view(),
                                       large.view(), small.view(), w.view(), a),
            Status::kOk);
  EXPECT_NEAR(dot(dx, small), dot(up, large), tolerance);
  EXPECT_NEAR(dot(dw, w), dot(up, large), tolerance);
  const auto gradient = large.read();
  std::vector<double> sums(6, 0.0);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    sums[i / 192 % 6] += asDouble(gradient[i]);
  }
  expectNear(db.read(), sums);
}

TEST(ConvolutionEdgeTest, TransposedAddsItsBiasEverywhere) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 1, 2, 2}, 0.0F);
  const DeviceTensor<float> w({1, 2, 1, 1}, 1.0F);
  const DeviceTensor<float> b({2}, {3.0F, 4.0F});
  const DeviceTensor<float> y({1, 2, 4, 4}, NAN);
  ConvolutionArguments a;
  a.stride = {2, 2};
  ASSERT_EQ(
      convolveTransposed(queue, y.view(), x.view(), w.view(), b.view(), a),
      Status::kOk);
  const auto out = y.read();
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], i < 16 ? 3.0F : 4.0F);
  }
}

TEST(ConvolutionEdgeTest, EmptyBatchHasZeroGradients) {
  TestQueue queue;
  const DeviceTensor<float> x({0, 2, 4, 4}, 0.0F);
  const DeviceTensor<float> w({3, 2, 1, 1}, 1.0F);
  const DeviceTensor<float> y({0, 3, 4, 4}, 0.0F);
  const DeviceTensor<float> dw({3, 2, 1, 1}, NAN);
  EXPECT_EQ(convolve(queue, y.view(), x.view(), w.view(), TensorView(), {}),
            Status::kOk);
  EXPECT_EQ(convolveBackward(queue, TensorView(), dw.view(), TensorView(),
                             y.view(), x.view(), w.view(), {}),
            Status::kOk);
  for (float value : dw.read()) EXPECT_EQ(value, 0.0F);
}

TEST(ConvolutionEdgeTest, RefusesWrongShapes) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2, 4, 4}, 0.0F);
  const DeviceTensor<float> w({3, 3, 1, 1}, 0.0F);
  const DeviceTensor<float> y({1, 3, 4, 4}, 0.0F);
  EXPECT_EQ(convolve(queue, y.view(), x.view(), w.view(), TensorView(), {}),
            Status::kInvalid);
  ConvolutionArguments no_stride;
  no_stride.stride = {0, 1};
  const DeviceTensor<float> fits({3, 2, 1, 1}, 0.0F);
  EXPECT_EQ(
      convolve(queue, y.view(), x.view(), fits.view(), TensorView(), no_stride),
      Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
