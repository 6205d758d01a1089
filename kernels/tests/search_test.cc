// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/compute/histogram.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Search, FindsPlacesOnBothSidesOfEqualElements) {
  TestQueue queue;
  const DeviceTensor<float> sorted({5}, {1, 2, 2, 2, 5});
  const DeviceTensor<float> values({2, 3}, {0, 2, 9, 5, kNaN, 1.5f});
  const DeviceTensor<int64_t> out({2, 3}, int64_t{-1});
  ASSERT_EQ(
      searchSorted(queue, out.view(), sorted.view(), values.view(), {}, false),
      Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{0, 1, 5, 4, 5, 1}));
  const DeviceTensor<int32_t> narrow({2, 3}, -1);
  ASSERT_EQ(searchSorted(queue, narrow.view(), sorted.view(), values.view(), {},
                         true),
            Status::kOk);
  EXPECT_EQ(narrow.read(), (std::vector<int32_t>{0, 4, 5, 5, 5, 1}));
}

TEST(Search, SearchesEachLineInItsOwn) {
  TestQueue queue;
  const DeviceTensor<int64_t> sorted({2, 3}, {1, 3, 5, 10, 30, 50});
  const DeviceTensor<int64_t> values({2, 2}, {4, 6, 4, 60});
  const DeviceTensor<int64_t> out({2, 2}, int64_t{-1});
  ASSERT_EQ(
      searchSorted(queue, out.view(), sorted.view(), values.view(), {}, false),
      Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{2, 3, 0, 3}));
  const DeviceTensor<int64_t> other({3, 2}, int64_t{0});
  EXPECT_EQ(
      searchSorted(queue, other.view(), sorted.view(), other.view(), {}, false),
      Status::kInvalid);
}

TEST(Search, GoesThroughASorter) {
  TestQueue queue;
  const DeviceTensor<int32_t> unsorted({3}, {30, 10, 20});
  const DeviceTensor<int64_t> sorter({3}, {1, 2, 0});
  const DeviceTensor<int32_t> values({2}, {15, 40});
  const DeviceTensor<int64_t> out({2}, int64_t{-1});
  ASSERT_EQ(searchSorted(queue, out.view(), unsorted.view(), values.view(),
                         sorter.view(), false),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 3}));
  const DeviceTensor<int64_t> wrong({3}, {1, 7, 0});
  ASSERT_EQ(searchSorted(queue, out.view(), unsorted.view(), values.view(),
                         wrong.view(), false),
            Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  soft_device_reset(0);
}

TEST(Histogram, CountsIntegersAndSumsTheirWeights) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({5}, {3, 0, 3, 1, 3});
  int64_t low = -1;
  int64_t high = -1;
  ASSERT_EQ(integerRange(queue, x.view(), &low, &high), Status::kOk);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, 3);
  const DeviceTensor<int64_t> counts({5}, int64_t{9});
  ASSERT_EQ(binCount(queue, counts.view(), x.view(), {}), Status::kOk);
  EXPECT_EQ(counts.read(), (std::vector<int64_t>{1, 1, 0, 3, 0}));
  const DeviceTensor<float> weights({5}, {1, 2, 4, 8, 16});
  const DeviceTensor<double> sums({4}, 9.0);
  ASSERT_EQ(binCount(queue, sums.view(), x.view(), weights.view()),
            Status::kOk);
  EXPECT_EQ(sums.read(), (std::vector<double>{2, 8, 0, 21}));
  EXPECT_EQ(binCount(queue, sums.view(), weights.view(), {}),
            Status::kUnsupported);
}

TEST(Histogram, PutsElementsIntoEqualBins) {
  TestQueue queue;
  const DeviceTensor<float> x({6}, {0, 1, 4, 5, -1, kNaN});
  const DeviceTensor<float> out({2}, 9.0f);
  ASSERT_EQ(equalBins(queue, out.view(), x.view(), 0, 4), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{2, 1}));
  const DeviceTensor<float> range({3}, {2, 4, 3});
  ASSERT_EQ(equalBins(queue, out.view(), range.view(), 0, 0), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 2}));
  EXPECT_EQ(equalBins(queue, out.view(), x.view(), 2, 1), Status::kInvalid);
  ASSERT_EQ(equalBins(queue, out.view(), x.view(), 0, 0), Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  EXPECT_NE(std::string(soft_last_message()).find("element 5 is nan"),
            std::string::npos);
  soft_device_reset(0);
  EXPECT_EQ(equalBins(queue, out.view(), x.view(), 0, INFINITY),
            Status::kInvalid);
}

TEST(Histogram, CountsExactlyInSixteenBits) {
  TestQueue queue;
  const DeviceTensor<BFloat16> x({3000}, BFloat16(1.0f));
  const DeviceTensor<BFloat16> out({2}, BFloat16(0.0f));
  ASSERT_EQ(equalBins(queue, out.view(), x.view(), 0, 1), Status::kOk);
  // Adding 1 to 256 gives 256 in this type.
  EXPECT_EQ(testing::asDouble(out.read()[1]), 3008.0);
  const DeviceTensor<BFloat16> fine({1000}, BFloat16(0.0f));
  ASSERT_EQ(equalBins(queue, fine.view(), x.view(), 0, 1), Status::kOk);
  EXPECT_EQ(testing::asDouble(fine.read()[999]), 3008.0);
}

TEST(Histogram, PutsElementsBetweenGivenEdges) {
  TestQueue queue;
  const DeviceTensor<double> edges({4}, {0, 1, 3, 4});
  const DeviceTensor<double> x({6}, {0, 1, 2.9, 3, 4, 4.1});
  const DeviceTensor<double> out({3}, 9.0);
  ASSERT_EQ(givenBins(queue, out.view(), edges.view(), x.view(), {}, false),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1, 2, 2}));
  const DeviceTensor<double> weights({6}, {5, 1, 1, 1, 2, 100});
  ASSERT_EQ(givenBins(queue, out.view(), edges.view(), x.view(), weights.view(),
                      true),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{0.5, 0.1, 0.3}));
}

}  // namespace
}  // namespace dipu::kernels
