// SPDX-License-Identifier: Apache-2.0
//
// The random numbers of attention's dropout.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/compute/attention/attention.h"
#include "kernels/tests/attention_call.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::Call;
using testing::DeviceTensor;
using testing::Shape;

// With the unit matrix as values the result is what dropout left of the
// probabilities.
TEST(Attention, DropsPairsOfTheGivenShare) {
  const Shape shape{2, 64, 64, 2, 2, 64};
  Call<float> plain(shape);
  std::vector<float> unit(2 * 64 * 2 * 64);
  for (int64_t i = 0; i < 2 * 64 * 2; ++i) unit[i * 64 + i / 2 % 64] = 1.0F;
  plain.v = DeviceTensor<float>(shape.k(), unit);
  Call<float> dropped = plain;
  dropped.out = DeviceTensor<float>(shape.q(), 9.0F);
  dropped.arguments.dropout = 0.25;
  RandomSource source(42, 8);
  dropped.arguments.q = dropped.q.view();
  dropped.arguments.k = dropped.k.view();
  takeAttentionNumbers(&dropped.arguments, &source);
  EXPECT_EQ(source.offset(), 8U + 2 * 2 * 64 * 64);
  ASSERT_EQ(plain.run(), Status::kOk);
  ASSERT_EQ(dropped.run(), Status::kOk);
  const std::vector<float> all = plain.out.read();
  const std::vector<float> left = dropped.out.read();
  double gone = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (left[i] == 0.0F)
      ++gone;
    else
      ASSERT_NEAR(left[i], all[i] / 0.75F, 1e-5);
  }
  // Four standard deviations.
  EXPECT_NEAR(gone / double(all.size()), 0.25, 4 * 0.433 / 128);
  const std::vector<float> first = dropped.out.read();
  ASSERT_EQ(dropped.run(), Status::kOk);
  EXPECT_EQ(dropped.out.read(), first);
}

// A head's numbers follow from its place alone, not from who computes it.
TEST(Attention, DrawsNumbersByPosition) {
  const Shape shape{1, 70, 130, 3, 3, 4};
  Call<float> call(shape);
  call.arguments.dropout = 0.5;
  call.arguments.seed = 7;
  call.arguments.position = 16;
  ASSERT_EQ(call.run(), Status::kOk);
  const std::vector<float> all = call.out.read();
  Call<float> alone(Shape{1, 70, 130, 1, 1, 4});
  const auto head = [](const DeviceTensor<float>& from, int64_t tokens) {
    const std::vector<float> values = from.read();
    std::vector<float> result;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t d = 0; d < 4; ++d) {
        result.push_back(values[(t * 3 + 2) * 4 + d]);
      }
    }
    return DeviceTensor<float>({1, tokens, 1, 4}, result);
  };
  alone.q = head(call.q, 70);
  alone.k = head(call.k, 130);
  alone.v = head(call.v, 130);
  alone.arguments.dropout = 0.5;
  alone.arguments.seed = 7;
  alone.arguments.position = 16 + 2 * 70 * 132;
  ASSERT_EQ(alone.run(), Status::kOk);
  EXPECT_EQ(alone.out.read(), head(call.out, 70).read());
}

}  // namespace
}  // namespace dipu::kernels
