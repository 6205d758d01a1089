// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's triangular solve: solutions are multiplied again, gradients compared
// with differences.
#include <gtest/gtest.h>

#include <string>

#include "kernels/tests/derivative.h"
#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"
#include "kernels/tests/matrices.h"

namespace dipu::kernels {
namespace {

using testing::derivative;
using testing::DeviceTensor;
using testing::expectNear;
using testing::expectSlopes;
using testing::handleOf;
using testing::multiply;
using testing::part;
using testing::randomTensor;
using testing::randomValues;
using testing::transpose;
using testing::Values;

class TriangularSolve : public testing::Diopi {
 protected:
  static constexpr int64_t kRows = 4;
  static constexpr int64_t kColumns = 3;

  // How the function reads its matrices.
  struct Reading {
    bool upper;
    bool turned;
    bool unit;
  };

  static Values dominant() {
    Values values = randomValues<double>(2 * kRows * kRows, 1);
    for (int64_t i = 0; i < 2 * kRows; ++i) {
      values[i * kRows + i % kRows] += 3;
    }
    return values;
  }

  // The triangle that is read of a matrix.
  static Values triangle(Values t, const Reading& reading) {
    for (int64_t i = 0; i < kRows * kRows; ++i) {
      const int64_t row = i / kRows;
      const int64_t column = i % kRows;
      if (reading.upper ? column < row : column > row) t[i] = 0;
      if (reading.unit && column == row) t[i] = 1;
    }
    return reading.turned ? transpose(t, kRows, kRows) : t;
  }

  Values solve(const DeviceTensor<double>& a, const DeviceTensor<double>& b,
               const Reading& reading) {
    const DeviceTensor<double> out({2, kRows, kColumns}, 9.0);
    diopiTensor ah = handleOf(a.view());
    diopiTensor bh = handleOf(b.view());
    diopiTensor x = handleOf(out.view());
    EXPECT_EQ(diopiTriangularSolve(&context_, &x, nullptr, &bh, &ah,
                                   reading.upper, reading.turned, reading.unit),
              diopiSuccess)
        << diopiGetLastErrorString();
    return out.read();
  }

  void expectSolution(const Reading& reading) {
    const DeviceTensor<double> copy({2, kRows, kRows}, 9.0);
    diopiTensor a = handleOf(a_.view());
    diopiTensor b = handleOf(b_.view());
    diopiTensor x = handleOf(x_.view());
    diopiTensor c = handleOf(copy.view());
    ASSERT_EQ(diopiTriangularSolve(&context_, &x, &c, &b, &a, reading.upper,
                                   reading.turned, reading.unit),
              diopiSuccess)
        << diopiGetLastErrorString();
    EXPECT_EQ(copy.read(), a_.read());
    Values product;
    for (int64_t i = 0; i < 2; ++i) {
      const Values t = triangle(part(a_.read(), i, kRows * kRows), reading);
      const Values solution = part(x_.read(), i, kRows * kColumns);
      const Values p = multiply(t, solution, kRows, kRows, kColumns);
      product.insert(product.end(), p.begin(), p.end());
    }
    expectNear(b_, product);
  }

  // For the solution in x_.
  void expectGradients(const Reading& reading) {
    const DeviceTensor<double> da({2, kRows, kRows}, 9.0);
    const DeviceTensor<double> db({2, kRows, kColumns}, 9.0);
    diopiTensor h[] = {handleOf(db.view()), handleOf(da.view()),
                       handleOf(g_.view()), handleOf(x_.view()),
                       handleOf(b_.view()), handleOf(a_.view())};
    ASSERT_EQ(diopiTriangularSolveBackward(
                  &context_, &h[0], &h[1], &h[2], nullptr, &h[3], &h[4], &h[5],
                  reading.upper, reading.turned, reading.unit),
              diopiSuccess)
        << diopiGetLastErrorString();
    const Values g = g_.read();
    expectSlopes(db, derivative(b_.read(), g, [&](const Values& at) {
                   return solve(a_, {{2, kRows, kColumns}, at}, reading);
                 }));
    expectSlopes(da, derivative(a_.read(), g, [&](const Values& at) {
                   return solve({{2, kRows, kRows}, at}, b_, reading);
                 }));
  }

  const DeviceTensor<double> a_{{2, kRows, kRows}, dominant()};
  const DeviceTensor<double> b_ = randomTensor<double>({2, kRows, kColumns}, 2);
  const DeviceTensor<double> g_ = randomTensor<double>({2, kRows, kColumns}, 3);
  const DeviceTensor<double> x_{{2, kRows, kColumns}, 9.0};
};

TEST_F(TriangularSolve, SolvesAndDifferentiates) {
  for (int bits = 0; bits < 8; ++bits) {
    const Reading reading{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    expectSolution(reading);
    expectGradients(reading);
  }
}

TEST_F(TriangularSolve, RefusesOtherSizes) {
  const auto one = randomTensor<double>({1, kRows, kRows}, 1);
  diopiTensor a = handleOf(a_.view());
  diopiTensor b = handleOf(b_.view());
  diopiTensor x = handleOf(x_.view());
  diopiTensor single = handleOf(one.view());
  EXPECT_EQ(
      diopiTriangularSolve(&context_, &a, nullptr, &b, &a, true, false, false),
      diopiErrorOccurred);
  EXPECT_EQ(diopiTriangularSolve(&context_, &x, nullptr, &b, &single, true,
                                 false, false),
            diopiDtypeNotSupported);
}

}  // namespace
}  // namespace dipu::kernels
