// SPDX-License-Identifier: Apache-2.0
//
// Calls of attention for its tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/compute/attention/attention.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels::testing {

using Values = std::vector<double>;

struct Shape {
  int64_t batch = 2;
  int64_t queries = 5;
  int64_t keys = 7;
  int64_t heads = 4;
  int64_t key_heads = 2;
  int64_t dim = 3;

  std::vector<int64_t> q() const { return {batch, queries, heads, dim}; }
  std::vector<int64_t> k() const { return {batch, keys, key_heads, dim}; }
  std::vector<int64_t> lse() const { return {batch, heads, queries}; }
};

// Crosses the borders of blocks in both directions.
constexpr Shape kLarge{1, 150, 300, 2, 1, 8};

// The tensors of one call, and the call.
template <typename T>
struct Call {
  Shape shape;
  DeviceTensor<T> q;
  DeviceTensor<T> k;
  DeviceTensor<T> v;
  DeviceTensor<T> out;
  DeviceTensor<ComputeType<T>> lse;
  AttentionArguments arguments;

  explicit Call(const Shape& s)
      : shape(s),
        q(randomTensor<T>(s.q(), 1)),
        k(randomTensor<T>(s.k(), 2)),
        v(randomTensor<T>(s.k(), 3)),
        out(s.q(), T(ComputeType<T>(9))),
        lse(s.lse(), ComputeType<T>(9)) {
    arguments.scale = 1.5;
  }

  Status run() {
    TestQueue queue;
    arguments.q = q.view();
    arguments.k = k.view();
    arguments.v = v.view();
    AttentionStatistics statistics;
    statistics.logsumexp = lse.view();
    return attention(queue, arguments, out.view(), statistics);
  }
};

template <typename T>
double tolerance() {
  return kDTypeOf<T> == DType::kFloat64   ? 1e-12
         : kDTypeOf<T> == DType::kFloat32 ? 1e-5
                                          : 2e-2;
}

template <typename T>
void expectNear(const std::vector<T>& actual, const Values& expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(asDouble(actual[i]), expected[i]) << i;
    } else {
      ASSERT_NEAR(asDouble(actual[i]), expected[i], tolerance) << i;
    }
  }
}

}  // namespace dipu::kernels::testing
