// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's linear algebra: factors are multiplied again, gradients compared
// with differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"
#include "kernels/tests/matrices.h"

namespace dipu::kernels {
namespace {

using testing::derivative;
using testing::DeviceTensor;
using testing::doubles;
using testing::expectNear;
using testing::expectSlopes;
using testing::handleOf;
using testing::multiply;
using testing::part;
using testing::randomTensor;
using testing::randomValues;
using testing::transpose;
using testing::Values;

// A symmetric positive-definite matrix.
template <typename T>
std::vector<T> definite(int64_t n, uint32_t seed) {
  const Values a = randomValues<double>(n * n, seed);
  const Values square = multiply(a, transpose(a, n, n), n, n, n);
  std::vector<T> result;
  for (int64_t i = 0; i < n * n; ++i) {
    result.push_back(static_cast<T>(square[i] + (i % (n + 1) == 0 ? 1 : 0)));
  }
  return result;
}

class Linalg : public testing::Diopi {
 protected:
  static std::string text() { return diopiGetLastErrorString(); }

  Values factor(const Values& at, int64_t n, bool upper) {
    const DeviceTensor<double> input({n, n}, at);
    const DeviceTensor<double> out({n, n}, 9.0);
    diopiTensor x = handleOf(input.view());
    diopiTensor y = handleOf(out.view());
    EXPECT_EQ(diopiCholesky(&context_, &y, nullptr, &x, upper, true),
              diopiSuccess);
    return out.read();
  }
};

template <typename T>
class LinalgOf : public testing::Diopi {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LinalgOf, RealTypes);

TYPED_TEST(LinalgOf, CholeskyFactorsMultiplyToTheMatrix) {
  using T = TypeParam;
  constexpr int64_t n = 5;
  std::vector<T> matrices = definite<T>(n, 1);
  const std::vector<T> second = definite<T>(n, 2);
  matrices.insert(matrices.end(), second.begin(), second.end());
  const DeviceTensor<T> input({2, n, n}, matrices);
  const DeviceTensor<T> out({2, n, n}, T(9));
  const DeviceTensor<int32_t> info({2}, 7);
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  diopiTensor codes = handleOf(info.view());
  for (const bool upper : {false, true}) {
    ASSERT_EQ(diopiCholesky(&this->context_, &y, &codes, &x, upper, true),
              diopiSuccess);
    const Values all = doubles(out.read());
    Values product;
    for (int64_t i = 0; i < 2; ++i) {
      const Values f = part(all, i, n * n);
      EXPECT_EQ(f[upper ? n : 1], 0.0);
      const Values t = transpose(f, n, n);
      const Values p = multiply(upper ? t : f, upper ? f : t, n, n, n);
      product.insert(product.end(), p.begin(), p.end());
    }
    expectNear(input, product);
    EXPECT_EQ(info.read(), (std::vector<int32_t>{0, 0}));
  }
}

TEST_F(Linalg, CholeskyReportsAMatrixThatIsNotPositive) {
  const DeviceTensor<double> input({2, 2}, {1, 0, 0, -1});
  const DeviceTensor<double> out({2, 2}, 9.0);
  const DeviceTensor<int32_t> info({}, 7);
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  diopiTensor codes = handleOf(info.view());
  ASSERT_EQ(diopiCholesky(&context_, &y, &codes, &x, false, false),
            diopiSuccess);
  EXPECT_EQ(info.read()[0], 2);
  ASSERT_EQ(diopiCholesky(&context_, &y, &codes, &x, false, true),
            diopiSuccess);
  EXPECT_NE(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_NE(std::string(soft_last_message()).find("minor of order 2"),
            std::string::npos);
  soft_device_reset(0);
  const DeviceTensor<float> half({2, 3}, 1.0F);
  diopiTensor h = handleOf(half.view());
  EXPECT_EQ(diopiCholesky(&context_, &h, nullptr, &h, false, true),
            diopiErrorOccurred);
  EXPECT_EQ(diopiCholesky(&context_, &codes, nullptr, &codes, false, true),
            diopiDtypeNotSupported);
}

TEST_F(Linalg, TakesMatricesWithoutElements) {
  const DeviceTensor<double> none({2, 0, 0}, 0.0);
  const DeviceTensor<int32_t> info({2}, 7);
  diopiTensor x = handleOf(none.view());
  diopiTensor codes = handleOf(info.view());
  ASSERT_EQ(diopiCholesky(&context_, &x, &codes, &x, false, true),
            diopiSuccess);
  EXPECT_EQ(soft_stream_synchronize(stream_), SOFT_OK) << soft_last_message();
  EXPECT_EQ(info.read(), (std::vector<int32_t>{0, 0}));
  ASSERT_EQ(diopiCholeskyBackward(&context_, &x, &x, &x, false), diopiSuccess);
  ASSERT_EQ(
      diopiTriangularSolve(&context_, &x, nullptr, &x, &x, false, false, false),
      diopiSuccess);
  ASSERT_EQ(diopiLinalgQR(&context_, &x, "reduced", &x, &x), diopiSuccess);
  const DeviceTensor<double> tall({2, 0}, 0.0);
  const DeviceTensor<double> unit({2, 2}, 9.0);
  diopiTensor t = handleOf(tall.view());
  diopiTensor q = handleOf(unit.view());
  ASSERT_EQ(diopiLinalgQR(&context_, &t, "complete", &q, &t), diopiSuccess);
  EXPECT_EQ(unit.read(), (Values{1, 0, 0, 1}));
  EXPECT_EQ(soft_stream_synchronize(stream_), SOFT_OK) << soft_last_message();
}

TEST_F(Linalg, CholeskyBackward) {
  constexpr int64_t n = 4;
  const Values matrix = definite<double>(n, 1);
  const Values slopes = randomValues<double>(n * n, 2);
  for (const bool upper : {false, true}) {
    // A triangle has gradients in its own half only.
    Values g = slopes;
    for (int64_t i = 0; i < n * n; ++i) {
      if (upper ? i % n < i / n : i % n > i / n) g[i] = 0;
    }
    const DeviceTensor<double> l({n, n}, factor(matrix, n, upper));
    const DeviceTensor<double> grad({n, n}, g);
    const DeviceTensor<double> dx({n, n}, 9.0);
    diopiTensor lh = handleOf(l.view());
    diopiTensor gh = handleOf(grad.view());
    diopiTensor dh = handleOf(dx.view());
    ASSERT_EQ(diopiCholeskyBackward(&context_, &dh, &gh, &lh, upper),
              diopiSuccess)
        << text();
    // Both halves of the matrix move together.
    const auto symmetric = [&](const Values& at) {
      Values mean(n * n);
      const Values t = transpose(at, n, n);
      for (int64_t i = 0; i < n * n; ++i) mean[i] = (at[i] + t[i]) / 2;
      return factor(mean, n, upper);
    };
    expectSlopes(dx, derivative(matrix, g, symmetric));
  }
}

constexpr int64_t kQrRows = 5;

// Checks factors of two matrices: orthogonal columns times a triangle.
template <typename T>
void expectQr(const DeviceTensor<T>& a, const DeviceTensor<T>& q,
              const DeviceTensor<T>& r, int64_t columns, int64_t n) {
  const Values qs = doubles(q.read());
  const Values rs = doubles(r.read());
  Values product;
  for (int64_t i = 0; i < 2; ++i) {
    const Values one = part(qs, i, kQrRows * columns);
    const Values triangle = part(rs, i, columns * n);
    const Values p = multiply(one, triangle, kQrRows, columns, n);
    product.insert(product.end(), p.begin(), p.end());
    const Values unit = multiply(transpose(one, kQrRows, columns), one, columns,
                                 kQrRows, columns);
    for (int64_t j = 0; j < columns * columns; ++j) {
      EXPECT_NEAR(unit[j], j % (columns + 1) == 0 ? 1 : 0, 1e-5);
    }
    EXPECT_EQ(triangle[n], 0.0);
  }
  expectNear(a, product);
}

TYPED_TEST(LinalgOf, QrFactorsMultiplyToTheMatrix) {
  using T = TypeParam;
  for (const int64_t n : {3, 5, 7}) {
    const int64_t k = std::min(kQrRows, n);
    const auto a = randomTensor<T>({2, kQrRows, n}, 1);
    diopiTensor x = handleOf(a.view());
    for (const int64_t columns : {k, kQrRows}) {
      const DeviceTensor<T> q({2, kQrRows, columns}, T(9));
      const DeviceTensor<T> r({2, columns, n}, T(9));
      diopiTensor qh = handleOf(q.view());
      diopiTensor rh = handleOf(r.view());
      ASSERT_EQ(diopiLinalgQR(&this->context_, &x,
                              columns == k ? "reduced" : "complete", &qh, &rh),
                diopiSuccess)
          << diopiGetLastErrorString();
      expectQr(a, q, r, columns, n);
      const DeviceTensor<T> alone({2, columns, n}, T(9));
      diopiTensor ah = handleOf(alone.view());
      ASSERT_EQ(diopiLinalgQR(&this->context_, &x, "r", nullptr, &ah),
                diopiSuccess);
      EXPECT_EQ(alone.read(), r.read());
    }
  }
}

TYPED_TEST(LinalgOf, QrRefusesOtherModesAndSizes) {
  for (const int64_t n : {3, 5, 7}) {
    const auto a = randomTensor<TypeParam>({2, kQrRows, n}, 1);
    diopiTensor x = handleOf(a.view());
    for (const char* mode : {"thin", static_cast<const char*>(nullptr)}) {
      EXPECT_EQ(diopiLinalgQR(&this->context_, &x, mode, &x, &x),
                diopiErrorOccurred);
    }
    EXPECT_EQ(diopiLinalgQR(&this->context_, &x, "reduced", &x, &x),
              n == kQrRows ? diopiSuccess : diopiErrorOccurred);
  }
}

}  // namespace
}  // namespace dipu::kernels
