// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/embedding_bag.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::TestQueue;

// Bags [1 2], [], [2 0 1] of a weight of 3 rows.
class EmbeddingBag : public ::testing::Test {
 protected:
  BagArguments arguments(BagMode mode) const {
    return {weight_.view(),
            indices_.view(),
            offsets_.view(),
            TensorView(),
            mode,
            false,
            -1};
  }
  BagResults results() const {
    return {out_.view(), bags_.view(), sizes_.view(), maxima_.view()};
  }
  BagGradient gradient(BagMode mode) const {
    return {grad_.view(),  indices_.view(), bags_.view(),
            sizes_.view(), maxima_.view(),  TensorView(),
            mode,          false,           -1};
  }

  DeviceTensor<float> weight_{{3, 2}, {1.0F, 6.0F, 2.0F, 5.0F, 4.0F, 3.0F}};
  DeviceTensor<int32_t> indices_{{5}, {1, 2, 2, 0, 1}};
  DeviceTensor<int64_t> offsets_{{3}, {0, 2, 2}};
  DeviceTensor<float> out_{{3, 2}, NAN};
  DeviceTensor<int32_t> bags_{{5}, -7};
  DeviceTensor<int64_t> sizes_{{3}, int64_t{-7}};
  DeviceTensor<int64_t> maxima_{{3, 2}, int64_t{-7}};
  DeviceTensor<float> grad_{{3, 2}, {1.0F, 2.0F, 50.0F, 60.0F, 3.0F, 6.0F}};
  DeviceTensor<float> grad_weight_{{3, 2}, NAN};
};

TEST_F(EmbeddingBag, SumMeanAndMaximum) {
  TestQueue queue;
  ASSERT_EQ(embeddingBag(queue, results(), arguments(BagMode::kSum)),
            Status::kOk);
  EXPECT_EQ(out_.read(), (std::vector<float>{6, 8, 0, 0, 7, 14}));
  EXPECT_EQ(bags_.read(), (std::vector<int32_t>{0, 0, 2, 2, 2}));
  EXPECT_EQ(sizes_.read(), (std::vector<int64_t>{2, 0, 3}));
  embeddingBag(queue, results(), arguments(BagMode::kMean));
  EXPECT_EQ(out_.read(), (std::vector<float>{3, 4, 0, 0, 7.0F / 3, 14.0F / 3}));
  embeddingBag(queue, results(), arguments(BagMode::kMax));
  EXPECT_EQ(out_.read(), (std::vector<float>{4, 5, 0, 0, 4, 6}));
  EXPECT_EQ(maxima_.read(), (std::vector<int64_t>{2, 1, -1, -1, 2, 0}));
}

TEST_F(EmbeddingBag, PaddingWeightsAndLastOffset) {
  TestQueue queue;
  BagArguments a = arguments(BagMode::kSum);
  a.padding_idx = 2;
  embeddingBag(queue, results(), a);
  EXPECT_EQ(out_.read(), (std::vector<float>{2, 5, 0, 0, 3, 11}));
  EXPECT_EQ(sizes_.read(), (std::vector<int64_t>{1, 0, 2}));
  a = arguments(BagMode::kSum);
  const DeviceTensor<float> samples({5}, {1.0F, 2.0F, 0.0F, 0.5F, 1.0F});
  const DeviceTensor<int64_t> ends({4}, {0, 2, 2, 4});
  a.per_sample_weights = samples.view();
  a.offsets = ends.view();
  a.include_last_offset = true;
  embeddingBag(queue, results(), a);
  EXPECT_EQ(out_.read(), (std::vector<float>{10, 11, 0, 0, 0.5F, 3}));
  a.mode = BagMode::kMean;
  EXPECT_EQ(embeddingBag(queue, results(), a), Status::kInvalid);
}

TEST_F(EmbeddingBag, Gradients) {
  TestQueue queue;
  embeddingBag(queue, results(), arguments(BagMode::kMax));
  embeddingBagBackward(queue, grad_weight_.view(), gradient(BagMode::kMax));
  EXPECT_EQ(grad_weight_.read(), (std::vector<float>{0, 6, 0, 2, 4, 0}));
  embeddingBagBackward(queue, grad_weight_.view(), gradient(BagMode::kSum));
  EXPECT_EQ(grad_weight_.read(), (std::vector<float>{3, 6, 4, 8, 4, 8}));
  embeddingBagBackward(queue, grad_weight_.view(), gradient(BagMode::kMean));
  EXPECT_EQ(grad_weight_.read(), (std::vector<float>{1, 2, 1.5F, 3, 1.5F, 3}));
  BagGradient by_frequency = gradient(BagMode::kSum);
  by_frequency.by_frequency = true;
  by_frequency.padding_idx = 2;
  embeddingBagBackward(queue, grad_weight_.view(), by_frequency);
  EXPECT_EQ(grad_weight_.read(), (std::vector<float>{3, 6, 2, 4, 0, 0}));
  const DeviceTensor<float> samples({5}, NAN);
  embeddingBagSampleGradient(queue, samples.view(), grad_.view(),
                             weight_.view(), indices_.view(), bags_.view(), 0);
  EXPECT_EQ(samples.read(), (std::vector<float>{12, 10, 30, 0, 36}));
}

TEST_F(EmbeddingBag, IndexOutOfRangeFailsTheStream) {
  TestQueue queue;
  BagArguments a = arguments(BagMode::kSum);
  const DeviceTensor<int64_t> offsets({3}, {0, 4, 2});
  a.offsets = offsets.view();
  EXPECT_EQ(embeddingBag(queue, results(), a), Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  soft_device_reset(0);
}

TEST(EmbeddingRenormTest, ScalesLongRowsOnce) {
  TestQueue queue;
  const DeviceTensor<double> weight({3, 2}, {3, 4, 30, 40, 0.3, 0.4});
  const DeviceTensor<int64_t> indices({4}, {0, 0, 2, 0});
  embeddingRenorm(queue, weight.view(), indices.view(), 1.0, 2.0);
  const auto rows = weight.read();
  EXPECT_NEAR(rows[0], 0.6, 1e-7);
  EXPECT_NEAR(rows[1], 0.8, 1e-7);
  EXPECT_EQ(rows[2], 30.0);
  EXPECT_EQ(rows[4], 0.3);
}

}  // namespace
}  // namespace dipu::kernels
