// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/index_combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/compute/flat_index.h"
#include "kernels/compute/index.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(IndexCombine, AddsScaledRowsThatRepeat) {
  TestQueue queue;
  const DeviceTensor<float> out({3, 2}, 1.0f);
  const DeviceTensor<int64_t> index({3}, {2, 0, 2});
  const DeviceTensor<float> source({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(indexAdd(queue, out.view(), 0, index.view(), source.view(),
                     {true, 2, 2.0}),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{7, 9, 1, 1, 13, 17}));
}

TEST(IndexCombine, AddsColumnsOfTransposedTensors) {
  TestQueue queue;
  const DeviceTensor<int32_t> out({2, 3}, 0);
  const DeviceTensor<int32_t> index({2}, {1, 1});
  const DeviceTensor<int32_t> source({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(indexAdd(queue, out.transposed(0, 1).view(), -1, index.view(),
                     source.transposed(0, 1).view(), {true, 1, 1.0}),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{0, 0, 0, 5, 7, 9}));
}

TEST(IndexCombine, AgreesWithALoopOnSeveralThreads) {
  TestQueue queue;
  constexpr int64_t kRows = 500;
  constexpr int64_t kColumns = 900;
  const auto source = randomTensor<float>({kRows, kColumns}, 1);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < kRows; ++i) rows.push_back(i * i % 7);
  const DeviceTensor<int64_t> index({kRows}, rows);
  const DeviceTensor<float> out({7, kColumns}, 0.0f);
  ASSERT_EQ(indexAdd(queue, out.view(), 0, index.view(), source.view(),
                     {true, 1, 1.0}),
            Status::kOk);
  std::vector<double> expected(7 * kColumns, 0.0);
  const auto values = source.read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i / kColumns]);
    expected[row * kColumns + i % kColumns] += values[i];
  }
  const auto actual = out.read();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-4);
  }
}

TEST(IndexCombine, RoundsSmallFloatsOnce) {
  TestQueue queue;
  const DeviceTensor<BFloat16> out({1}, BFloat16(256.0f));
  const DeviceTensor<int64_t> index({8}, int64_t{0});
  const DeviceTensor<BFloat16> source({8}, BFloat16(0.5f));
  ASSERT_EQ(indexAdd(queue, out.view(), 0, index.view(), source.view(),
                     {true, 1, 1.0}),
            Status::kOk);
  EXPECT_EQ(static_cast<float>(out.read()[0]), 260.0f);
}

TEST(IndexCombine, ReducesWithAndWithoutWhatStoodThere) {
  TestQueue queue;
  const DeviceTensor<int64_t> index({4}, {0, 1, 0, 1});
  const DeviceTensor<float> source({4}, {3, -4, 5, -6});
  const auto run = [&](Combine combine, bool include_self) {
    const DeviceTensor<float> out({3}, 2.0f);
    EXPECT_EQ(indexReduce(queue, out.view(), 0, index.view(), source.view(),
                          combine, include_self),
              Status::kOk);
    return out.read();
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(run(Combine::kProduct, true), (Floats{30, 48, 2}));
  EXPECT_EQ(run(Combine::kProduct, false), (Floats{15, 24, 2}));
  EXPECT_EQ(run(Combine::kMax, true), (Floats{5, 2, 2}));
  EXPECT_EQ(run(Combine::kMax, false), (Floats{5, -4, 2}));
  EXPECT_EQ(run(Combine::kMin, true), (Floats{2, -6, 2}));
  EXPECT_EQ(run(Combine::kMean, false), (Floats{4, -5, 2}));
  EXPECT_FLOAT_EQ(run(Combine::kMean, true)[0], 10.0f / 3.0f);
}

TEST(IndexCombine, ScattersWithAndWithoutWhatStoodThere) {
  TestQueue queue;
  const DeviceTensor<int64_t> index({2, 3}, {0, 0, 1, 1, 1, 1});
  const DeviceTensor<int32_t> source({2, 3}, {1, 2, 3, 4, 5, -8});
  const auto run = [&](Combine combine, bool include_self) {
    const DeviceTensor<int32_t> out({2, 2}, 10);
    EXPECT_EQ(scatterReduce(queue, out.view(), 1, index.view(), source.view(),
                            combine, include_self),
              Status::kOk);
    return out.read();
  };
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(run(Combine::kSum, true), (Ints{13, 13, 10, 11}));
  EXPECT_EQ(run(Combine::kSum, false), (Ints{3, 3, 10, 1}));
  EXPECT_EQ(run(Combine::kProduct, false), (Ints{2, 3, 10, -160}));
  EXPECT_EQ(run(Combine::kMax, false), (Ints{2, 3, 10, 5}));
  EXPECT_EQ(run(Combine::kMin, true), (Ints{1, 3, 10, -8}));
  EXPECT_EQ(run(Combine::kMean, true), (Ints{4, 6, 10, 2}));
}

TEST(IndexCombine, RoundsMeansOfIntegersDown) {
  TestQueue queue;
  const DeviceTensor<int64_t> index({2}, int64_t{0});
  const DeviceTensor<int64_t> source({2}, {-2, -1});
  const DeviceTensor<int64_t> out({1}, int64_t{0});
  ASSERT_EQ(scatterReduce(queue, out.view(), 0, index.view(), source.view(),
                          Combine::kMean, false),
            Status::kOk);
  EXPECT_EQ(out.read()[0], -2);
}

TEST(IndexCombine, LetsNaNWin) {
  TestQueue queue;
  const DeviceTensor<int64_t> index({2}, int64_t{0});
  const DeviceTensor<float> source({2}, {kNaN, 3});
  for (const Combine combine : {Combine::kMax, Combine::kMin}) {
    const DeviceTensor<float> out({1}, 1.0f);
    ASSERT_EQ(indexReduce(queue, out.view(), 0, index.view(), source.view(),
                          combine, true),
              Status::kOk);
    EXPECT_TRUE(std::isnan(out.read()[0]));
  }
}

TEST(IndexCombine, CopiesTheLastOfEqualRows) {
  TestQueue queue;
  const DeviceTensor<int32_t> out({2, 3}, 0);
  const DeviceTensor<int64_t> index({3}, {2, 0, 2});
  const DeviceTensor<int32_t> source({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(indexCopy(queue, out.view(), 1, index.view(), source.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{2, 0, 3, 5, 0, 6}));
}

// Waits for work that finds the index out of range. Memory from before is gone
// afterwards.
void expectReport(int64_t index, TestQueue& queue, Status status) {
  ASSERT_EQ(status, Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  const std::string message = soft_last_message();
  EXPECT_NE(message.find("index " + std::to_string(index)), std::string::npos)
      << message;
  soft_device_reset(0);
}

// Calls operate(queue, out, index, source) with an index that is out of range.
template <typename Operate>
void checkReport(int64_t bad, const Operate& operate) {
  const DeviceTensor<float> out({3}, 0.0f);
  const DeviceTensor<int64_t> index({2}, {1, bad});
  const DeviceTensor<float> source({2}, 1.0f);
  TestQueue queue;
  expectReport(bad, queue,
               operate(queue, out.view(), index.view(), source.view()));
}

TEST(IndexCombine, ReportsAnIndexThatIsOutOfRange) {
  using View = const TensorView&;
  for (const int64_t bad : {int64_t{-1}, int64_t{3}}) {
    checkReport(bad, [](const Queue& queue, View out, View index, View source) {
      return indexAdd(queue, out, 0, index, source, {true, 1, 1.0});
    });
    checkReport(bad, [](const Queue& queue, View out, View index, View source) {
      return indexCopy(queue, out, 0, index, source);
    });
    checkReport(bad, [](const Queue& queue, View out, View index, View source) {
      return scatterReduce(queue, out, 0, index, source, Combine::kMax, true);
    });
  }
}

TEST(IndexCombine, RefusesSizesAndTypesThatDoNotFit) {
  TestQueue queue;
  const DeviceTensor<float> out({3, 2}, 0.0f);
  const DeviceTensor<int64_t> index({2}, int64_t{0});
  const DeviceTensor<float> source({2}, 1.0f);
  const DeviceTensor<double> wide({2, 2}, 1.0);
  EXPECT_EQ(indexAdd(queue, out.view(), 0, index.view(), source.view(),
                     {true, 1, 1.0}),
            Status::kInvalid);
  EXPECT_EQ(indexCopy(queue, out.view(), 0, index.view(), wide.view()),
            Status::kUnsupported);
}

TEST(FlatIndex, TakesAndPutsFromBothEnds) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, {0, 1, 2, 3, 4, 5});
  const DeviceTensor<int64_t> index({2, 2}, {-1, 1, 0, -6});
  const DeviceTensor<int32_t> out({2, 2}, 0);
  ASSERT_EQ(take(queue, out.view(), x.transposed(0, 1).view(), index.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{5, 3, 0, 0}));
  const DeviceTensor<int32_t> source({4}, {10, 20, 30, 40});
  ASSERT_EQ(put(queue, x.view(), index.view(), source.view(), true),
            Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{70, 21, 2, 3, 4, 15}));
  ASSERT_EQ(put(queue, x.view(), index.view(), source.view(), false),
            Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{40, 20, 2, 3, 4, 10}));
}

TEST(FlatIndex, ReportsWhatIsOutOfRange) {
  using View = const TensorView&;
  for (const int64_t bad : {int64_t{-4}, int64_t{3}}) {
    checkReport(bad, [](const Queue& queue, View out, View index, View source) {
      return take(queue, source, out, index);
    });
    checkReport(bad, [](const Queue& queue, View out, View index, View source) {
      return put(queue, out, index, source, false);
    });
  }
}

TEST(FlatIndex, ScattersByABroadcastMask) {
  TestQueue queue;
  const DeviceTensor<int32_t> out({2, 3}, 0);
  const DeviceTensor<uint8_t> mask({1, 3}, {1, 0, 1});
  const DeviceTensor<int32_t> source({6}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(maskedScatter(queue, out.view(), mask.view(), source.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{1, 0, 2, 3, 0, 4}));
  const DeviceTensor<int32_t> few({3}, 1);
  ASSERT_EQ(maskedScatter(queue, out.view(), mask.view(), few.view()),
            Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  soft_device_reset(0);
}

TEST(FlatIndex, RepeatsPositions) {
  TestQueue queue;
  const DeviceTensor<int32_t> repeats({4}, {1, 0, 3, 1});
  int64_t sum = 0;
  ASSERT_EQ(sumRepeats(queue, repeats.view(), &sum), Status::kOk);
  ASSERT_EQ(sum, 5);
  const DeviceTensor<int32_t> out({5}, 0);
  ASSERT_EQ(repeatInterleave(queue, out.view(), repeats.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{0, 2, 2, 2, 3}));
  const DeviceTensor<int64_t> negative({2}, {3, -1});
  EXPECT_EQ(sumRepeats(queue, negative.view(), &sum), Status::kInvalid);
  const DeviceTensor<int32_t> small({4}, 0);
  ASSERT_EQ(repeatInterleave(queue, small.view(), repeats.view()), Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  soft_device_reset(0);
}

TEST(FlatIndex, FillsPositionsThatAreLeft) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 2}, {0, 1, 2, 0});
  const DeviceTensor<int64_t> out({3, 2}, int64_t{7});
  ASSERT_EQ(nonzero(queue, out.view(), x.view(), -1), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{0, 1, 1, 0, -1, -1}));
  const DeviceTensor<int64_t> first({1, 2}, int64_t{7});
  ASSERT_EQ(nonzero(queue, first.view(), x.view(), -1), Status::kOk);
  EXPECT_EQ(first.read(), (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace dipu::kernels
