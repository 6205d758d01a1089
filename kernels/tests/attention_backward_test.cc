// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention against differences of its result.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/compute/attention/attention.h"
#include "kernels/compute/status.h"
#include "kernels/tests/attention_call.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::Call;
using testing::DeviceTensor;
using testing::expectNear;
using testing::kLarge;
using testing::randomTensor;
using testing::randomValues;
using testing::Shape;
using testing::TestQueue;
using testing::Values;

// Gradients of sum(g * out).
template <typename T>
struct Gradients {
  DeviceTensor<T> q;
  DeviceTensor<T> k;
  DeviceTensor<T> v;
};

template <typename T>
Gradients<T> gradients(Call<T>* call, const DeviceTensor<T>& g) {
  const T nine = T(ComputeType<T>(9));
  Gradients<T> result{DeviceTensor<T>(call->shape.q(), nine),
                      DeviceTensor<T>(call->shape.k(), nine),
                      DeviceTensor<T>(call->shape.k(), nine)};
  EXPECT_EQ(call->run(), Status::kOk) << lastMessage();
  TestQueue queue;
  EXPECT_EQ(
      attentionBackward(queue, call->arguments, g.view(), call->out.view(),
                        call->lse.view(),
                        {result.q.view(), result.k.view(), result.v.view()}),
      Status::kOk)
      << lastMessage();
  queue.wait();
  return result;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The derivative of sum(g * out) when `operand` moves along `direction`.
double slope(Call<double>* call, DeviceTensor<double> Call<double>::* operand,
             const Values& direction, const Values& g) {
  constexpr double kStep = 1e-5;
  const DeviceTensor<double> tensor = call->*operand;
  const Values at = tensor.read();
  double ends[2] = {};
  for (int end = 0; end < 2; ++end) {
    Values moved = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
      moved[i] += (end == 0 ? -kStep : kStep) * direction[i];
    }
    std::vector<int64_t> sizes(tensor.view().sizes,
                               tensor.view().sizes + tensor.view().ndim);
    call->*operand = DeviceTensor<double>(sizes, moved);
    EXPECT_EQ(call->run(), Status::kOk);
    ends[end] = dot(call->out.read(), g);
  }
  call->*operand = tensor;
  return (ends[1] - ends[0]) / (2 * kStep);
}

void expectGradients(Call<double>* call, double close) {
  const DeviceTensor<double> g = randomTensor<double>(call->shape.q(), 11);
  const Gradients<double> computed = gradients(call, g);
  const auto check = [&](DeviceTensor<double> Call<double>::* operand,
                         const DeviceTensor<double>& gradient) {
    const Values values = gradient.read();
    const auto count = static_cast<int64_t>(values.size());
    // Along every axis where there are few, and along some directions.
    for (int64_t i = 0; count < 200 && i < count; ++i) {
      Values axis(values.size());
      axis[i] = 1;
      ASSERT_NEAR(slope(call, operand, axis, g.read()), values[i], close) << i;
    }
    for (uint32_t seed = 21; seed < 24; ++seed) {
      const Values direction = randomValues<double>(count, seed);
      ASSERT_NEAR(slope(call, operand, direction, g.read()),
                  dot(direction, values), 20 * close);
    }
  };
  check(&Call<double>::q, computed.q);
  check(&Call<double>::k, computed.k);
  check(&Call<double>::v, computed.v);
}

TEST(AttentionBackward, MatchesDifferences) {
  for (const Shape& shape : {Shape{}, kLarge}) {
    Call<double> call(shape);
    expectGradients(&call, 1e-8);
    call.arguments.causal = true;
    expectGradients(&call, 1e-8);
    call.arguments.window_left = 3;
    expectGradients(&call, 1e-8);
  }
}

TEST(AttentionBackward, MatchesDifferencesUnderDropoutAndBias) {
  for (const Shape& shape : {Shape{}, kLarge}) {
    Call<double> call(shape);
    const DeviceTensor<float> slopes(
        {shape.batch, shape.heads},
        randomValues<float>(shape.batch * shape.heads, 5));
    std::vector<uint8_t> left_out(shape.keys);
    for (std::size_t j = 0; j < left_out.size(); j += 3) left_out[j] = 1;
    const DeviceTensor<uint8_t> mask({shape.keys}, left_out);
    call.arguments.mask = mask.view();
    call.arguments.slopes = slopes.view();
    call.arguments.dropout = 0.3;
    call.arguments.seed = 99;
    expectGradients(&call, 1e-8);
  }
}

TEST(AttentionBackward, IsZeroForAQueryWithoutKeys) {
  Call<double> call(Shape{1, 7, 5, 1, 1, 3});
  call.arguments.causal = true;
  expectGradients(&call, 1e-8);
}

TEST(AttentionBackward, IsZeroWithoutAnyKeys) {
  Call<double> call(Shape{1, 3, 0, 1, 1, 2});
  const DeviceTensor<double> g = randomTensor<double>(call.shape.q(), 11);
  EXPECT_EQ(gradients(&call, g).q.read(), Values(6));
}

TEST(AttentionBackward, ReadsSavedNumbers) {
  Call<double> call(Shape{});
  const DeviceTensor<double> g = randomTensor<double>(call.shape.q(), 11);
  call.arguments.dropout = 0.3;
  call.arguments.seed = 99;
  call.arguments.position = 64;
  const Values expected = gradients(&call, g).q.read();
  const DeviceTensor<int64_t> saved({2}, {99, 64});
  call.arguments.seed = 0;
  call.arguments.position = 0;
  call.arguments.saved = saved.view();
  EXPECT_EQ(gradients(&call, g).q.read(), expected);
}

template <typename T>
class AttentionBackwardTest : public ::testing::Test {};
using NarrowTypes = ::testing::Types<float, Float16, BFloat16>;
TYPED_TEST_SUITE(AttentionBackwardTest, NarrowTypes);

TYPED_TEST(AttentionBackwardTest, IsCloseToFloat64) {
  using T = TypeParam;
  Call<T> call(kLarge);
  Call<double> wide(kLarge);
  const auto widen = [](const DeviceTensor<T>& from,
                        const std::vector<int64_t>& sizes) {
    Values values;
    for (T value : from.read()) values.push_back(asDouble(value));
    return DeviceTensor<double>(sizes, values);
  };
  wide.q = widen(call.q, kLarge.q());
  wide.k = widen(call.k, kLarge.k());
  wide.v = widen(call.v, kLarge.k());
  call.arguments.causal = wide.arguments.causal = true;
  const DeviceTensor<T> g = randomTensor<T>(kLarge.q(), 11);
  const Gradients<T> narrow = gradients(&call, g);
  const Gradients<double> exact = gradients(&wide, widen(g, kLarge.q()));
  const double close = kDTypeOf<T> == DType::kFloat32 ? 1e-5 : 3e-2;
  expectNear(narrow.q.read(), exact.q.read(), close);
  expectNear(narrow.k.read(), exact.k.read(), close);
  expectNear(narrow.v.read(), exact.v.read(), close);
}

TEST(AttentionBackward, RefusesGradientsThatDoNotFit) {
  Call<float> call(Shape{});
  ASSERT_EQ(call.run(), Status::kOk);
  const DeviceTensor<float> wrong({2, 5, 4, 4}, 0.0F);
  TestQueue queue;
  EXPECT_EQ(attentionBackward(queue, call.arguments, call.out.view(),
                              call.out.view(), call.lse.view(),
                              {wrong.view(), call.k.view(), call.v.view()}),
            Status::kInvalid);
  EXPECT_EQ(attentionBackward(queue, call.arguments, call.out.view(),
                              call.out.view(), TensorView(),
                              {call.q.view(), call.k.view(), call.v.view()}),
            Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
