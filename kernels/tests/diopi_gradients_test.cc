// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's gradients of sums, norms and products against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
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
using testing::expectSlopes;
using testing::handleOf;
using testing::randomTensor;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Gradients : public testing::Diopi {
 protected:
  static std::string text() { return diopiGetLastErrorString(); }

  diopiScalar_t real(double value) {
    diopiScalar_t scalar;
    scalar.stype = diopi_dtype_float64;
    scalar.fval = value;
    return scalar;
  }

  // What a function of DIOPI makes of values of these sizes.
  template <typename Function>
  Values apply(const std::vector<int64_t>& sizes, const Values& at,
               const std::vector<int64_t>& out_sizes, const Function& call) {
    const DeviceTensor<double> input(sizes, at);
    const DeviceTensor<double> out(out_sizes, 9.0);
    diopiTensor x = handleOf(input.view());
    diopiTensor y = handleOf(out.view());
    EXPECT_EQ(call(&y, &x), diopiSuccess) << text();
    return out.read();
  }
};

TEST_F(Gradients, OfRunningSums) {
  const auto g = randomTensor<double>({3, 5}, 1);
  const DeviceTensor<double> dx({3, 5}, 9.0);
  diopiTensor gh = handleOf(g.view());
  diopiTensor dh = handleOf(dx.view());
  for (const int64_t dim : {0, 1, -1}) {
    ASSERT_EQ(diopiCumsumBackward(&context_, &dh, &gh, dim), diopiSuccess);
    const auto forward = [&](const Values& at) {
      return apply({3, 5}, at, {3, 5}, [&](auto* y, auto* x) {
        return diopiCumsum(&context_, y, x, dim);
      });
    };
    expectSlopes(dx, derivative(Values(15), g.read(), forward));
  }
  EXPECT_EQ(diopiCumsumBackward(&context_, &dh, &gh, 2), diopiErrorOccurred);
}

TEST_F(Gradients, OfNorms) {
  const auto x = randomTensor<double>({3, 4, 2}, 1);
  const int64_t dim[] = {-2};
  const std::vector<int64_t> kept = {3, 1, 2};
  const std::vector<int64_t> dropped = {3, 2};
  const auto g = randomTensor<double>(dropped, 2);
  diopiTensor xh = handleOf(x.view());
  for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, kInfinity, -kInfinity}) {
    const diopiScalar_t power = real(p);
    const auto forward = [&](const Values& at) {
      return apply({3, 4, 2}, at, dropped, [&](auto* y, auto* input) {
        return diopiNorm(&context_, y, input, &power, {dim, 1});
      });
    };
    const Values norm = forward(x.read());
    const Values expected = derivative(x.read(), g.read(), forward);
    for (const auto& sizes : {kept, dropped}) {
      const DeviceTensor<double> n(sizes, norm);
      const DeviceTensor<double> gradient(sizes, g.read());
      const DeviceTensor<double> dx({3, 4, 2}, 9.0);
      diopiTensor nh = handleOf(n.view());
      diopiTensor gh = handleOf(gradient.view());
      diopiTensor dh = handleOf(dx.view());
      ASSERT_EQ(
          diopiNormBackward(&context_, &dh, &gh, &xh, &nh, {dim, 1}, &power),
          diopiSuccess)
          << text();
      expectSlopes(dx, expected);
    }
  }
}

TEST_F(Gradients, OfANormOfZerosAndOfTies) {
  const DeviceTensor<float> x({4}, {2, -2, 1, 0});
  const DeviceTensor<float> zeros({4}, 0.0F);
  const DeviceTensor<float> norm({}, 2.0F);
  const DeviceTensor<float> none({}, 0.0F);
  const DeviceTensor<float> g({}, 3.0F);
  const DeviceTensor<float> dx({4}, 9.0F);
  diopiTensor xh = handleOf(x.view());
  diopiTensor zh = handleOf(zeros.view());
  diopiTensor nh = handleOf(norm.view());
  diopiTensor oh = handleOf(none.view());
  diopiTensor gh = handleOf(g.view());
  diopiTensor dh = handleOf(dx.view());
  const diopiScalar_t top = real(kInfinity);
  const diopiScalar_t two = real(2);
  ASSERT_EQ(diopiNormBackward(&context_, &dh, &gh, &xh, &nh, {}, &top),
            diopiSuccess);
  EXPECT_EQ(dx.read(), (std::vector<float>{1.5F, -1.5F, 0, 0}));
  ASSERT_EQ(diopiNormBackward(&context_, &dh, &gh, &zh, &oh, {}, &two),
            diopiSuccess);
  EXPECT_EQ(dx.read(), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(diopiNormBackward(&context_, &dh, &gh, &xh, &xh, {}, &two),
            diopiErrorOccurred);
}

struct Product {
  std::vector<int64_t> a;
  std::vector<int64_t> b;
  std::vector<int64_t> out;
};

TEST_F(Gradients, OfMatrixProducts) {
  const Product products[] = {{{3, 4}, {4, 5}, {3, 5}},
                              {{4}, {4}, {}},
                              {{4}, {4, 5}, {5}},
                              {{3, 4}, {4}, {3}},
                              {{2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
                              {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                              {{2, 3, 4}, {4}, {2, 3}},
                              {{4}, {2, 4, 3}, {2, 3}}};
  for (const Product& p : products) {
    const auto a = randomTensor<double>(p.a, 1);
    const auto b = randomTensor<double>(p.b, 2);
    const auto g = randomTensor<double>(p.out, 3);
    const DeviceTensor<double> da(p.a, 9.0);
    const DeviceTensor<double> db(p.b, 9.0);
    diopiTensor ah = handleOf(a.view());
    diopiTensor bh = handleOf(b.view());
    diopiTensor gh = handleOf(g.view());
    diopiTensor dah = handleOf(da.view());
    diopiTensor dbh = handleOf(db.view());
    ASSERT_EQ(diopiMatmulBackward(&context_, &dah, &dbh, &gh, &ah, &bh),
              diopiSuccess)
        << text();
    const auto left = [&](const Values& at) {
      return apply(p.a, at, p.out, [&](auto* y, auto* x) {
        return diopiMatmul(&context_, y, x, &bh);
      });
    };
    const auto right = [&](const Values& at) {
      return apply(p.b, at, p.out, [&](auto* y, auto* x) {
        return diopiMatmul(&context_, y, &ah, x);
      });
    };
    expectSlopes(da, derivative(a.read(), g.read(), left));
    expectSlopes(db, derivative(b.read(), g.read(), right));
    EXPECT_EQ(diopiMatmulBackward(&context_, &ah, &bh, &gh, &bh, &gh),
              diopiErrorOccurred);
  }
}

TEST_F(Gradients, OfLinearLayers) {
  for (const std::vector<int64_t>& rows :
       {std::vector<int64_t>{}, {6}, {2, 3}}) {
    std::vector<int64_t> in = rows;
    std::vector<int64_t> out = rows;
    in.push_back(4);
    out.push_back(5);
    const auto x = randomTensor<double>(in, 1);
    const auto w = randomTensor<double>({5, 4}, 2);
    const auto b = randomTensor<double>({5}, 3);
    const auto g = randomTensor<double>(out, 4);
    const DeviceTensor<double> dx(in, 9.0);
    const DeviceTensor<double> dw({5, 4}, 9.0);
    const DeviceTensor<double> db({5}, 9.0);
    diopiTensor h[] = {handleOf(x.view()),  handleOf(w.view()),
                       handleOf(b.view()),  handleOf(g.view()),
                       handleOf(dx.view()), handleOf(dw.view()),
                       handleOf(db.view())};
    ASSERT_EQ(diopiLinearBackward(&context_, &h[4], &h[5], &h[6], &h[3], &h[0],
                                  &h[1]),
              diopiSuccess)
        << text();
    const auto linear = [&](const std::vector<int64_t>& sizes, int which) {
      return [&, sizes, which](const Values& at) {
        return apply(sizes, at, out, [&](auto* y, auto* moved) {
          return diopiLinear(&context_, y, which == 0 ? moved : &h[0],
                             which == 1 ? moved : &h[1],
                             which == 2 ? moved : &h[2]);
        });
      };
    };
    expectSlopes(dx, derivative(x.read(), g.read(), linear(in, 0)));
    expectSlopes(dw, derivative(w.read(), g.read(), linear({5, 4}, 1)));
    expectSlopes(db, derivative(b.read(), g.read(), linear({5}, 2)));
    EXPECT_EQ(diopiLinearBackward(&context_, &h[4], &h[5], &h[6], &h[3], &h[0],
                                  &h[2]),
              diopiErrorOccurred);
  }
}

TEST_F(Gradients, AreClippedTogether) {
  const DeviceTensor<float> a({2}, {3, 0});
  const DeviceTensor<double> b({2}, {0, 4});
  diopiTensor ah = handleOf(a.view());
  diopiTensor bh = handleOf(b.view());
  diopiTensorHandle_t grads[] = {&ah, &bh};
  double norm = 0;
  ASSERT_EQ(diopiClipGradNorm(&context_, &norm, grads, 2, 10, 2, true),
            diopiSuccess);
  EXPECT_EQ(norm, 5);
  EXPECT_EQ(a.read()[0], 3.0F);
  ASSERT_EQ(diopiClipGradNorm(&context_, &norm, grads, 2, 1, 2, true),
            diopiSuccess);
  EXPECT_EQ(norm, 5);
  EXPECT_NEAR(a.read()[0], 0.6, 1e-6);
  EXPECT_NEAR(b.read()[1], 0.8, 1e-6);
  ASSERT_EQ(diopiClipGradNorm(&context_, &norm, grads, 2, 9, kInfinity, true),
            diopiSuccess);
  EXPECT_NEAR(norm, 0.8, 1e-6);
  const DeviceTensor<float> bad({1}, std::numeric_limits<float>::infinity());
  diopiTensor h = handleOf(bad.view());
  diopiTensorHandle_t worse[] = {&ah, &h};
  EXPECT_EQ(diopiClipGradNorm(&context_, &norm, worse, 2, 1, 2, true),
            diopiErrorOccurred);
  EXPECT_NEAR(a.read()[0], 0.6, 1e-6);
  EXPECT_EQ(diopiClipGradNorm(&context_, &norm, grads, -1, 1, 2, true),
            diopiErrorOccurred);
  EXPECT_NE(text().find("-1 gradients"), std::string::npos);
}

TEST_F(Gradients, LimitTheRowsThatAreUsed) {
  const DeviceTensor<float> weight({3, 2}, {3, 4, 3, 4, 0.3F, 0.4F});
  const DeviceTensor<int64_t> indices({2, 2}, {2, 1, 1, 2});
  diopiTensor w = handleOf(weight.view());
  diopiTensor i = handleOf(indices.view());
  ASSERT_EQ(diopiEmbeddingRenorm_(&context_, &w, &i, 1.0, 2.0), diopiSuccess);
  const std::vector<float> rows = weight.read();
  EXPECT_EQ(rows[0], 3.0F);
  EXPECT_NEAR(rows[2], 0.6F, 1e-6);
  EXPECT_NEAR(rows[3], 0.8F, 1e-6);
  EXPECT_EQ(rows[4], 0.3F);
  EXPECT_EQ(diopiEmbeddingRenorm_(&context_, &w, &w, 1.0, 2.0),
            diopiDtypeNotSupported);
  const DeviceTensor<int64_t> outside({1}, int64_t{3});
  diopiTensor o = handleOf(outside.view());
  ASSERT_EQ(diopiEmbeddingRenorm_(&context_, &w, &o, 1.0, 2.0), diopiSuccess);
  EXPECT_NE(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_NE(std::string(soft_last_message())
                .find("diopiEmbeddingRenorm_: index 3 is out of range"),
            std::string::npos);
  soft_device_reset(0);
}

}  // namespace
}  // namespace dipu::kernels
