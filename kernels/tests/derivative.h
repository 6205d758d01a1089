// SPDX-License-Identifier: Apache-2.0
//
// Gradients against differences of a plain function in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels::testing {

using Values = std::vector<double>;

template <typename T>
Values doubles(const std::vector<T>& values) {
  Values result;
  for (T value : values) result.push_back(asDouble(value));
  return result;
}

// Derivatives of sum(g * forward(at)) by central differences.
inline Values derivative(const Values& at, const Values& g,
                         const std::function<Values(const Values&)>& forward) {
  constexpr double kStep = 1e-5;
  Values result(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    Values moved = at;
    moved[i] = at[i] + kStep;
    const Values up = forward(moved);
    moved[i] = at[i] - kStep;
    const Values down = forward(moved);
    for (std::size_t j = 0; j < up.size(); ++j) {
      result[i] += g[j] * (up[j] - down[j]) / (2 * kStep);
    }
  }
  return result;
}

// Whether elements are as close to the expected ones as their type allows.
template <typename T>
void expectNear(const DeviceTensor<T>& actual, const Values& expected) {
  const double close = kDTypeOf<T> == DType::kFloat64   ? 1e-12
                       : kDTypeOf<T> == DType::kFloat32 ? 1e-5
                                                        : 2e-2;
  const std::vector<T> values = actual.read();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(asDouble(values[i]), expected[i],
                close * (1 + std::abs(expected[i])))
        << i;
  }
}

// The same for gradients, as close as differences are.
inline void expectSlopes(const DeviceTensor<double>& actual,
                         const Values& expected) {
  const Values values = actual.read();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-8 * (1 + std::abs(expected[i])))
        << i;
  }
}

}  // namespace dipu::kernels::testing
