// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/shape.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace dipu::adapter {
namespace {

using Sizes = at::DimVector;

TEST(ShapeTest, LikeKeepsDenseStridesAndPacksOthers) {
  const at::Tensor transposed = at::empty_strided({2, 3}, {1, 2});
  EXPECT_EQ(shape::like(transposed).strides, Sizes({1, 2}));
  const at::Tensor expanded = at::empty_strided({2, 3}, {0, 1});
  EXPECT_EQ(shape::like(expanded).strides, Sizes({3, 1}));
  EXPECT_TRUE(shape::like(at::empty({2, 3})).strides.empty());
}

TEST(ShapeTest, ReducedDropsOrKeepsDimensions) {
  const at::Tensor t = at::empty({2, 3, 4});
  const int64_t dim[] = {-1, 0};
  EXPECT_EQ(shape::reduced(t, at::IntArrayRef(dim), false).sizes, Sizes({3}));
  EXPECT_EQ(shape::reduced(t, at::IntArrayRef(dim), true).sizes,
            Sizes({1, 3, 1}));
  EXPECT_TRUE(shape::reduced(t, std::nullopt, false).sizes.empty());
}

TEST(ShapeTest, ArangeCountsInTheTypeOfTheOutput) {
  const at::Tensor ints = at::empty({0}, at::kLong);
  const at::Tensor floats = at::empty({0}, at::kDouble);
  EXPECT_EQ(shape::arange(0, 10, 3, ints).sizes, Sizes({4}));
  EXPECT_EQ(shape::arange(0.0, 1.0, 0.25, floats).sizes, Sizes({4}));
  EXPECT_EQ(shape::arange(5, 5, 1, ints).sizes, Sizes({0}));
  EXPECT_EQ(shape::arange(3, 0, -1, ints).sizes, Sizes({3}));
  EXPECT_THROW(shape::arange(0, 1, 0, ints), c10::Error);
  EXPECT_THROW(shape::arange(0, 1, -1, ints), c10::Error);
}

TEST(ShapeTest, TotalsOfIntegersAreInt64) {
  EXPECT_EQ(shape::total(at::empty({2}, at::kBool), std::nullopt).dtype,
            at::kLong);
  EXPECT_EQ(shape::total(at::empty({2}, at::kHalf), std::nullopt).dtype,
            at::kHalf);
  EXPECT_EQ(shape::total(at::empty({2}, at::kInt), at::kFloat).dtype,
            at::kFloat);
}

TEST(ShapeTest, NormStatsKeepOuterDimensionsInFloat32) {
  const at::Tensor input = at::empty({2, 3, 4}, at::kBFloat16);
  const OutputSpec stats = shape::normStats(input, {3, 4});
  EXPECT_EQ(stats.sizes, Sizes({2, 1, 1}));
  EXPECT_EQ(stats.dtype, at::kFloat);
  EXPECT_THROW(shape::normStats(input, {2, 4}), c10::Error);
}

TEST(ShapeTest, SelectedReplacesOneDimension) {
  const at::Tensor t = at::empty({2, 3, 4});
  EXPECT_EQ(shape::selected(t, -2, at::empty({5}, at::kLong)).sizes,
            Sizes({2, 5, 4}));
  EXPECT_THROW(shape::selected(t, 3, at::empty({5}, at::kLong)), c10::Error);
  EXPECT_THROW(shape::selected(t, 0, at::empty({1, 1}, at::kLong)), c10::Error);
}

}  // namespace
}  // namespace dipu::adapter
