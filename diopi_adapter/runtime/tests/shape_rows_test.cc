// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "diopi_adapter/runtime/shape.h"

namespace dipu::adapter {
namespace {

using Sizes = at::DimVector;

TEST(ShapeRowsTest, HalvedNeedsAnEvenSize) {
  const at::Tensor t = at::empty({3, 4});
  EXPECT_EQ(shape::halved(t, -1).sizes, Sizes({3, 2}));
  EXPECT_THROW(shape::halved(t, 0), c10::Error);
  EXPECT_THROW(shape::halved(at::empty({}), 0), c10::Error);
}

TEST(ShapeRowsTest, LossesPerRow) {
  const at::Tensor matrix = at::empty({3, 4});
  EXPECT_EQ(shape::reducedRows(matrix, at::Reduction::None).sizes, Sizes({3}));
  EXPECT_TRUE(shape::reducedRows(matrix, at::Reduction::Mean).sizes.empty());
  EXPECT_TRUE(
      shape::reducedRows(at::empty({4}), at::Reduction::None).sizes.empty());
  const OutputSpec each =
      shape::perElement(at::empty({2}, at::kHalf), at::empty({5}, at::kLong));
  EXPECT_EQ(each.sizes, Sizes({5}));
  EXPECT_EQ(each.dtype, at::kHalf);
}

TEST(ShapeRowsTest, BagsEndWithTheLastOffset) {
  const at::Tensor weight = at::empty({7, 5});
  const at::Tensor offsets = at::empty({3}, at::kInt);
  EXPECT_EQ(shape::bags(weight, offsets, false).sizes, Sizes({3, 5}));
  EXPECT_EQ(shape::bags(weight, offsets, true).sizes, Sizes({2, 5}));
  EXPECT_EQ(shape::bagSizes(offsets, true).dtype, at::kInt);
  EXPECT_EQ(shape::bagMaxima(weight, offsets, true, 2).sizes, Sizes({2, 5}));
  EXPECT_EQ(shape::bagMaxima(weight, offsets, true, 0).sizes, Sizes({0}));
  EXPECT_THROW(shape::bags(weight, at::empty({0}, at::kInt), true), c10::Error);
}

TEST(ShapeRowsTest, DistancesBroadcastBatches) {
  const at::Tensor x1 = at::empty({2, 1, 4, 3});
  const at::Tensor x2 = at::empty({5, 6, 3});
  EXPECT_EQ(shape::distances(x1, x2).sizes, Sizes({2, 5, 4, 6}));
  EXPECT_EQ(shape::distancesGrad(x1, x2).sizes, Sizes({2, 5, 4, 3}));
  EXPECT_EQ(shape::pairs(at::empty({4, 3})).sizes, Sizes({6}));
  EXPECT_THROW(shape::distances(x1, at::empty({6, 2})), c10::Error);
}

TEST(ShapeRowsTest, PlacesOfAGrid) {
  const at::Tensor image = at::empty({2, 3, 4, 5});
  EXPECT_EQ(shape::gridSampled(image, at::empty({2, 6, 7, 2})).sizes,
            Sizes({2, 3, 6, 7}));
  EXPECT_THROW(shape::gridSampled(image, at::empty({2, 6, 7, 3})), c10::Error);
}

}  // namespace
}  // namespace dipu::adapter
