// SPDX-License-Identifier: Apache-2.0
//
// Wide vectors give what the others give.
#include "kernels/compute/wide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compute/activation.h"
#include "kernels/compute/binary.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/softmax/softmax.h"
#include "kernels/compute/unary.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

class WideTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detectWideVectors()) GTEST_SKIP() << "the processor has no AVX-512";
  }
  void TearDown() override { g_wide_vectors = detectWideVectors(); }

  // The results of enqueue(out) without and with wide vectors.
  template <typename Enqueue>
  std::pair<std::vector<float>, std::vector<float>> both(
      const std::vector<int64_t>& sizes, const Enqueue& enqueue) {
    std::vector<float> results[2];
    for (const bool wide : {false, true}) {
      g_wide_vectors = wide;
      const DeviceTensor<float> out(sizes, 0.0f);
      EXPECT_EQ(enqueue(out.view()), Status::kOk);
      results[wide ? 1 : 0] = out.read();
    }
    return {results[0], results[1]};
  }

  template <typename Enqueue>
  void expectSameBits(const Enqueue& enqueue, int op) {
    const auto [narrow, wide] = both(input_sizes_, enqueue);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      if (std::isnan(narrow[i]) && std::isnan(wide[i])) continue;
      ASSERT_EQ(bitCast<int32_t>(narrow[i]), bitCast<int32_t>(wide[i]))
          << "operator " << op << ", element " << i;
    }
  }

  template <typename Enqueue>
  void expectNear(const std::vector<int64_t>& sizes, const Enqueue& enqueue) {
    const auto [narrow, wide] = both(sizes, enqueue);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      EXPECT_NEAR(narrow[i], wide[i], 1e-4) << i;
    }
  }

  const std::vector<int64_t> input_sizes_{37, 1001};
  TestQueue queue_;
  const DeviceTensor<float> input_ = randomTensor<float>(input_sizes_, 1);
};

TEST_F(WideTest, FunctionsOfOneTensorGiveTheSameBits) {
  for (int op = 0; op <= static_cast<int>(UnaryOp::kRelu); ++op) {
    expectSameBits(
        [&](const TensorView& out) {
          return unary(queue_, static_cast<UnaryOp>(op), out, input_.view());
        },
        op);
  }
}

TEST_F(WideTest, ActivationsAndPowersGiveTheSameBits) {
  const auto view = input_.view();
  expectSameBits(
      [&](const TensorView& out) { return gelu(queue_, out, view, false); }, 0);
  expectSameBits(
      [&](const TensorView& out) { return gelu(queue_, out, view, true); }, 1);
  expectSameBits([&](const TensorView& out) { return silu(queue_, out, view); },
                 2);
  for (const double exponent : {1.3, -2.5, 7.0}) {
    expectSameBits(
        [&](const TensorView& out) {
          return powScalar(queue_, out, view, Scalar{false, 0, exponent});
        },
        3);
  }
}

TEST_F(WideTest, ReductionsAgree) {
  for (const int64_t dim : {0, 1}) {
    const std::vector<int64_t> kept{dim == 0 ? 1 : 37, dim == 0 ? 1001 : 1};
    const Dims dims{&dim, 1};
    expectNear(kept, [&](const TensorView& out) {
      return sum(queue_, out, input_.view(), dims);
    });
    expectNear(kept, [&](const TensorView& out) {
      return extreme(queue_, Extreme::kMax, out, input_.view(), dims);
    });
  }
}

TEST_F(WideTest, SoftmaxAgrees) {
  for (const SoftmaxKind kind : {SoftmaxKind::kPlain, SoftmaxKind::kLog}) {
    expectNear(input_sizes_, [&](const TensorView& out) {
      return softmax(queue_, kind, out, input_.view(), 1);
    });
    const DeviceTensor<float> grad = randomTensor<float>(input_sizes_, 2);
    expectNear(input_sizes_, [&](const TensorView& out) {
      return softmaxBackward(queue_, kind, out, grad.view(), input_.view(), 1);
    });
  }
}

}  // namespace
}  // namespace dipu::kernels
