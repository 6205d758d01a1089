// SPDX-License-Identifier: Apache-2.0
//
// What transformers compute around attention, through DIOPI.
#include <diopi/functions_ext.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
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

template <typename T>
class Transformer : public testing::Diopi {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(Transformer, FloatTypes);

constexpr double kEps = 1e-5;

Values rms(const Values& x, const Values& w, const Values& b) {
  const std::size_t n = w.size();
  Values y(x.size());
  for (std::size_t r = 0; r < x.size(); r += n) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += x[r + i] * x[r + i];
    const double scale = 1 / std::sqrt(squares / double(n) + kEps);
    for (std::size_t i = 0; i < n; ++i) {
      y[r + i] = x[r + i] * scale * w[i] + (b.empty() ? 0 : b[i]);
    }
  }
  return y;
}

TYPED_TEST(Transformer, RmsNorm) {
  using T = TypeParam;
  for (int64_t n : {1, 7, 3000}) {
    const auto x = randomTensor<T>({n, 5}, 1).transposed(0, 1);
    const auto weight = randomTensor<T>({n}, 2);
    const auto bias = randomTensor<T>({n}, 3);
    const DeviceTensor<T> out({5, n}, T(ComputeType<T>(9)));
    const DeviceTensor<float> scale({5, 1}, 9.0F);
    diopiTensor xh = handleOf(x.view());
    diopiTensor wh = handleOf(weight.view());
    diopiTensor bh = handleOf(bias.view());
    diopiTensor oh = handleOf(out.view());
    diopiTensor sh = handleOf(scale.view());
    const diopiSize_t shape{&n, 1};
    ASSERT_EQ(
        diopiRMSNorm(&this->context_, &oh, &sh, &xh, shape, &wh, &bh, kEps),
        diopiSuccess);
    expectNear(out, rms(doubles(x.read()), doubles(weight.read()),
                        doubles(bias.read())));
    ASSERT_EQ(
        diopiRMSNorm(&this->context_, &oh, &sh, &xh, shape, &wh, nullptr, kEps),
        diopiSuccess);
    expectNear(out, rms(doubles(x.read()), doubles(weight.read()), {}));
  }
}

using TransformerDouble = testing::Diopi;

TEST_F(TransformerDouble, RmsNormBackward) {
  const int64_t sizes[] = {2, 3};
  const auto x = randomTensor<double>({40, 2, 3}, 1);
  const auto weight = randomTensor<double>({2, 3}, 2);
  const auto g = randomTensor<double>({40, 2, 3}, 3);
  const DeviceTensor<double> out({40, 2, 3}, 9.0);
  const DeviceTensor<double> scale({40}, 9.0);
  const DeviceTensor<double> dx({40, 2, 3}, 9.0);
  const DeviceTensor<double> dw({2, 3}, 9.0);
  const DeviceTensor<double> db({2, 3}, 9.0);
  diopiTensor h[] = {handleOf(x.view()),     handleOf(weight.view()),
                     handleOf(g.view()),     handleOf(out.view()),
                     handleOf(scale.view()), handleOf(dx.view()),
                     handleOf(dw.view()),    handleOf(db.view())};
  const diopiSize_t shape{sizes, 2};
  ASSERT_EQ(
      diopiRMSNorm(&context_, &h[3], &h[4], &h[0], shape, &h[1], nullptr, kEps),
      diopiSuccess);
  ASSERT_EQ(diopiRMSNormBackward(&context_, &h[5], &h[6], &h[7], &h[2], &h[0],
                                 &h[1], nullptr, &h[4], shape, kEps),
            diopiSuccess);
  const Values xs = x.read();
  const Values ws = weight.read();
  const Values gs = g.read();
  expectSlopes(dx, derivative(xs, gs, [&](const Values& at) {
                 return rms(at, ws, {});
               }));
  expectSlopes(dw, derivative(ws, gs, [&](const Values& at) {
                 return rms(xs, at, {});
               }));
  expectSlopes(db, derivative(Values(6), gs, [&](const Values& at) {
                 return rms(xs, ws, at);
               }));
  EXPECT_EQ(
      diopiRMSNorm(&context_, &h[3], &h[1], &h[0], shape, &h[1], nullptr, kEps),
      diopiErrorOccurred);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("inv_rms 40"),
            std::string::npos);
}

// x [2, tokens, heads, dim] turned by angles [tokens, pairs].
Values turned(const Values& x, const Values& cos, const Values& sin,
              int64_t tokens, int64_t heads, int64_t dim, bool neighbours,
              double sign) {
  const int64_t pairs = static_cast<int64_t>(cos.size()) / tokens;
  Values y = x;
  for (int64_t row = 0; row < int64_t(x.size()) / dim; ++row) {
    const int64_t token = row / heads % tokens;
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t a = row * dim + (neighbours ? 2 * i : i);
      const int64_t b = row * dim + (neighbours ? 2 * i + 1 : i + pairs);
      const double c = cos[token * pairs + i];
      const double s = sign * sin[token * pairs + i];
      y[a] = x[a] * c - x[b] * s;
      y[b] = x[a] * s + x[b] * c;
    }
  }
  return y;
}

TYPED_TEST(Transformer, Rotary) {
  using T = TypeParam;
  for (const bool neighbours : {false, true}) {
    for (const int64_t dim : {8, 10}) {  // 10: two features do not turn
      const auto x = randomTensor<T>({2, 3, 4, dim}, 1);
      const auto cos = randomTensor<T>({3, 4}, 2);
      const auto sin = randomTensor<T>({3, 4}, 3);
      const DeviceTensor<T> out({2, 3, 4, dim}, T(ComputeType<T>(9)));
      diopiTensor xh = handleOf(x.view());
      diopiTensor ch = handleOf(cos.view());
      diopiTensor sh = handleOf(sin.view());
      diopiTensor oh = handleOf(out.view());
      const Values before = doubles(x.read());
      const Values c = doubles(cos.read());
      const Values s = doubles(sin.read());
      ASSERT_EQ(diopiRotaryEmbedding(&this->context_, &oh, &xh, &ch, &sh, false,
                                     neighbours),
                diopiSuccess)
          << diopiGetLastErrorString();
      expectNear(out, turned(before, c, s, 3, 4, dim, neighbours, 1.0));
      // In place, and the other way.
      ASSERT_EQ(diopiRotaryEmbedding(&this->context_, &xh, &xh, &ch, &sh, true,
                                     neighbours),
                diopiSuccess);
      expectNear(x, turned(before, c, s, 3, 4, dim, neighbours, -1.0));
    }
  }
}

TEST_F(TransformerDouble, RotaryOfJoinedHeads) {
  const auto query = randomTensor<double>({3, 4 * 8}, 1);
  const auto key = randomTensor<double>({3, 2 * 8}, 2);
  const auto cos = randomTensor<double>({3, 4}, 3);
  const auto sin = randomTensor<double>({3, 4}, 4);
  // Each angle twice, as [1, tokens, 1, dim].
  const auto doubled = [](const Values& values) {
    Values result;
    for (int token = 0; token < 3; ++token) {
      for (int i = 0; i < 8; ++i) result.push_back(values[token * 4 + i % 4]);
    }
    return DeviceTensor<double>({1, 3, 1, 8}, result);
  };
  const auto cos_twice = doubled(cos.read());
  const auto sin_twice = doubled(sin.read());
  const Values q = query.read();
  const Values k = key.read();
  diopiTensor qh = handleOf(query.view());
  diopiTensor kh = handleOf(key.view());
  diopiTensor ch = handleOf(cos_twice.view());
  diopiTensor sh = handleOf(sin_twice.view());
  ASSERT_EQ(diopiRotaryEmbeddingV2(&context_, &qh, &kh, &ch, &sh, 8),
            diopiSuccess)
      << diopiGetLastErrorString();
  expectNear(query, turned(q, cos.read(), sin.read(), 3, 4, 8, false, 1.0));
  expectNear(key, turned(k, cos.read(), sin.read(), 3, 2, 8, false, 1.0));
  EXPECT_EQ(diopiRotaryEmbeddingV2(&context_, &qh, &kh, &ch, &sh, 5),
            diopiErrorOccurred);
  const auto deep = randomTensor<double>(std::vector<int64_t>(13, 1), 3);
  diopiTensor dh = handleOf(deep.view());
  EXPECT_EQ(diopiRotaryEmbeddingV2(&context_, &qh, &kh, &ch, &dh, 8),
            diopiDtypeNotSupported);
}

Values maskedSoftmax(const Values& x, int64_t keys, double scale,
                     const std::function<bool(int64_t, int64_t)>& left_out) {
  Values y(x.size());
  for (std::size_t row = 0; row < x.size() / keys; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      const std::size_t at = row * keys + j;
      y[at] = std::exp(left_out(row, j) ? -10000.0 : scale * x[at]);
      sum += y[at];
    }
    for (int64_t j = 0; j < keys; ++j) {
      double& value = y[row * keys + j];
      value = sum == 0 ? 1.0 / double(keys) : value / sum;
    }
  }
  return y;
}

TYPED_TEST(Transformer, ScaledMaskedSoftmax) {
  using T = TypeParam;
  const auto x = randomTensor<T>({2, 3, 4, 5}, 1);
  std::vector<uint8_t> bits(2 * 4 * 5);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0 || i < 5;
  const DeviceTensor<uint8_t> mask({2, 1, 4, 5}, bits);
  const DeviceTensor<T> out({2, 3, 4, 5}, T(ComputeType<T>(9)));
  diopiTensor xh = handleOf(x.view());
  diopiTensor mh = handleOf(mask.view());
  diopiTensor oh = handleOf(out.view());
  ASSERT_EQ(
      diopiScaledMaskedSoftmax(&this->context_, &oh, &xh, &mh, 0.5, false),
      diopiSuccess);
  expectNear(out, maskedSoftmax(doubles(x.read()), 5, 0.5,
                                [&](int64_t row, int64_t j) {
                                  const int64_t b = row / 12;
                                  return bits[(b * 4 + row % 4) * 5 + j] != 0;
                                }));
  ASSERT_EQ(
      diopiScaledMaskedSoftmax(&this->context_, &oh, &xh, nullptr, 2.0, true),
      diopiSuccess);
  expectNear(out,
             maskedSoftmax(doubles(x.read()), 5, 2.0,
                           [](int64_t row, int64_t j) { return j > row % 4; }));
}

TEST_F(TransformerDouble, ScaledMaskedSoftmaxBackward) {
  const auto x = randomTensor<double>({2, 3, 5}, 1);
  const auto g = randomTensor<double>({2, 3, 5}, 2);
  std::vector<uint8_t> bits(3 * 5);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0 || i < 5;
  const DeviceTensor<uint8_t> mask({3, 5}, bits);
  const DeviceTensor<double> out({2, 3, 5}, 9.0);
  const DeviceTensor<double> dx({2, 3, 5}, 9.0);
  diopiTensor xh = handleOf(x.view());
  diopiTensor mh = handleOf(mask.view());
  diopiTensor gh = handleOf(g.view());
  diopiTensor oh = handleOf(out.view());
  diopiTensor dh = handleOf(dx.view());
  ASSERT_EQ(diopiScaledMaskedSoftmax(&context_, &oh, &xh, &mh, 0.5, false),
            diopiSuccess);
  ASSERT_EQ(diopiScaledMaskedSoftmaxBackward(&context_, &dh, &gh, &oh, &mh, 0.5,
                                             false),
            diopiSuccess);
  expectSlopes(dx, derivative(x.read(), g.read(), [&](const Values& at) {
                 return maskedSoftmax(at, 5, 0.5, [&](int64_t row, int64_t j) {
                   return bits[row % 3 * 5 + j] != 0;
                 });
               }));
  const DeviceTensor<uint8_t> wrong({3, 4}, uint8_t{0});
  diopiTensor wh = handleOf(wrong.view());
  EXPECT_EQ(diopiScaledMaskedSoftmax(&context_, &oh, &xh, &wh, 0.5, false),
            diopiErrorOccurred);
}

}  // namespace
}  // namespace dipu::kernels
