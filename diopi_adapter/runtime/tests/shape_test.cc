// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/shape.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cmath>

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

TEST(ShapeTest, EvaluationSavesNoStatistics) {
  const at::Tensor input = at::empty({2, 3, 4}, at::kHalf);
  EXPECT_EQ(shape::savedStats(input, true).sizes, Sizes({3}));
  EXPECT_EQ(shape::savedStats(input, false).sizes, Sizes({0}));
  EXPECT_EQ(shape::savedStats(input, false).dtype, at::kFloat);
}

TEST(ShapeTest, RefusesNumbersOutsideTheTensor) {
  EXPECT_EQ(shape::kthAlong(at::empty({0, 5}), 5, 1, false).sizes, Sizes({0}));
  EXPECT_THROW(shape::kthAlong(at::empty({0, 5}), 6, 1, false), c10::Error);
  EXPECT_THROW(shape::kthAlong(at::empty({5}), 0, 0, false), c10::Error);
  EXPECT_EQ(shape::kthAlong(at::empty({}), 1, -1, false).sizes, Sizes());
  EXPECT_THROW(shape::binned(at::empty({2}), 4, 0, INFINITY), c10::Error);
  EXPECT_THROW(shape::binned(at::empty({2}), 4, 2, 1), c10::Error);
  // The elements tell the range.
  EXPECT_EQ(shape::binned(at::empty({2}), 4, 0, 0).sizes, Sizes({4}));
}

TEST(ShapeTest, ClippedRefusesTypesWithoutTheLimits) {
  EXPECT_THROW(shape::clipped(at::empty({2}, at::kBool), 0, 1), c10::Error);
  EXPECT_THROW(shape::clipped(at::empty({2}, at::kByte), -1, 1), c10::Error);
  EXPECT_EQ(shape::clipped(at::empty({2}, at::kByte), 0, 6).sizes, Sizes({2}));
}

TEST(ShapeTest, SelectedReplacesOneDimension) {
  const at::Tensor t = at::empty({2, 3, 4});
  EXPECT_EQ(shape::selected(t, -2, at::empty({5}, at::kLong)).sizes,
            Sizes({2, 5, 4}));
  EXPECT_THROW(shape::selected(t, 3, at::empty({5}, at::kLong)), c10::Error);
  EXPECT_THROW(shape::selected(t, 0, at::empty({1, 1}, at::kLong)), c10::Error);
}

TEST(ShapeTest, ReducedAlongRefusesLinesWithoutElements) {
  const at::Tensor t = at::empty({2, 0, 4});
  EXPECT_EQ(shape::reducedAlong(t, -1, true).sizes, Sizes({2, 0, 1}));
  EXPECT_EQ(shape::positionsAlong(t, 0, false).sizes, Sizes({0, 4}));
  EXPECT_EQ(shape::positionsAlong(t, 0, false).dtype, at::kLong);
  EXPECT_THROW(shape::reducedAlong(t, 1, false), c10::IndexError);
  EXPECT_THROW(shape::reducedAlong(t, 3, false), c10::IndexError);
}

TEST(ShapeTest, SummedTakesTheTypeOfTheOutputUnlessToldOtherwise) {
  const at::Tensor t = at::empty({2, 3}, at::kInt);
  const at::Tensor out = at::empty({0}, at::kDouble);
  const auto typeOf = [&](std::optional<at::ScalarType> dtype,
                          const at::Tensor& given) {
    return shape::summed(t, std::nullopt, false, dtype, given).dtype;
  };
  EXPECT_EQ(typeOf(std::nullopt, at::Tensor()), at::kLong);
  EXPECT_EQ(typeOf(std::nullopt, out), at::kDouble);
  EXPECT_EQ(typeOf(at::kFloat, out), at::kFloat);
}

TEST(ShapeTest, ClosedRangeContainsItsEnd) {
  const at::Tensor out = at::empty({0});
  EXPECT_EQ(shape::closedRange(0, 4, 2, out).sizes, Sizes({3}));
  EXPECT_EQ(shape::closedRange(0, 5, 2, out).sizes, Sizes({3}));
  EXPECT_EQ(shape::closedRange(1, -1, -1, out).sizes, Sizes({3}));
  EXPECT_THROW(shape::closedRange(0, 1, -1, out), c10::Error);
}

TEST(ShapeTest, NarrowedCountsItsStartFromTheEndToo) {
  const at::Tensor t = at::empty({2, 5});
  EXPECT_EQ(shape::narrowed(t, -1, -2, 2).sizes, Sizes({2, 2}));
  EXPECT_THROW(shape::narrowed(t, 1, 4, 2), c10::Error);
  EXPECT_THROW(shape::narrowed(t, 1, -6, 1), c10::Error);
}

TEST(ShapeTest, ProductsCheckSizesAndTypes) {
  const at::Tensor a = at::empty({3, 2, 4});
  EXPECT_EQ(shape::batchSum(a, a, at::empty({3, 4, 5})).sizes, Sizes({2, 5}));
  EXPECT_THROW(shape::batchSum(a, a, a), c10::Error);
  EXPECT_THROW(shape::dotProduct(at::empty({3}), at::empty({3}, at::kDouble)),
               c10::Error);
  EXPECT_THROW(shape::int8Product(at::empty({2, 2}), at::empty({2, 2})),
               c10::Error);
}

}  // namespace
}  // namespace dipu::adapter
