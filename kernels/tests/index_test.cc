// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/index.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kernels/compute/arrange.h"
#include "kernels/compute/elementwise.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

std::vector<int32_t> countTo(int32_t n) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < n; ++i) values.push_back(i);
  return values;
}

TEST(Index, SelectsRowsOfTransposedTensors) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, countTo(6));
  const DeviceTensor<int64_t> index({4}, {2, 0, 0, 1});
  const DeviceTensor<int32_t> out({4, 2}, 0);
  ASSERT_EQ(indexSelect(queue, out.view(), x.transposed(0, 1).view(), 0,
                        index.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{2, 5, 0, 3, 0, 3, 1, 4}));
}

TEST(Index, ReportsAnIndexThatIsOutOfRange) {
  const DeviceTensor<float> weight({5, 3}, 1.0f);
  const DeviceTensor<int64_t> index({2}, {4, 5});
  const DeviceTensor<float> out({2, 3}, 7.0f);
  TestQueue queue("lookUp");
  ASSERT_EQ(embedding(queue, out.view(), weight.view(), index.view()),
            Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  const std::string message = soft_last_message();
  EXPECT_NE(message.find("lookUp: index 5 is out of range of a dimension of "
                         "size 5"),
            std::string::npos)
      << message;
  soft_device_reset(0);
}

// Threads other than the stream's worker must not lose what they find.
TEST(Index, ReportsAnIndexThatAHelperThreadFinds) {
  constexpr int64_t kCount = 100000;
  for (const int64_t bad : {int64_t{0}, kCount - 1}) {
    std::vector<int64_t> values(kCount, 1);
    values[static_cast<std::size_t>(bad)] = -1;
    const DeviceTensor<float> weight({5, 16}, 1.0f);
    const DeviceTensor<int64_t> index({kCount}, values);
    const DeviceTensor<float> out({kCount, 16}, 7.0f);
    TestQueue queue;
    ASSERT_EQ(embedding(queue, out.view(), weight.view(), index.view()),
              Status::kOk);
    EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
    EXPECT_NE(std::string(soft_last_message()).find("index -1"),
              std::string::npos);
    soft_device_reset(0);
  }
}

TEST(Index, GathersAndScattersAlongADimension) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, countTo(6));
  const DeviceTensor<int32_t> index({2, 2}, {2, 0, 1, 1});
  const DeviceTensor<int32_t> out({2, 2}, 0);
  ASSERT_EQ(gather(queue, out.view(), x.view(), 1, index.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{2, 0, 4, 4}));
  const DeviceTensor<int32_t> ones({2, 2}, 10);
  ASSERT_EQ(
      scatter(queue, x.view(), 1, index.view(), ones.view(), ScatterMode::kAdd),
      Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{10, 1, 12, 3, 24, 5}));
  ASSERT_EQ(scatterScalar(queue, x.view(), 1, index.view(), {true, -1, -1.0},
                          ScatterMode::kAssign),
            Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{-1, 1, -1, 3, -1, 5}));
}

TEST(Index, AddsGradientsOfRepeatedRows) {
  TestQueue queue;
  const DeviceTensor<float> grad({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const DeviceTensor<int64_t> index({4}, {2, 0, 2, 1});
  const DeviceTensor<float> out({3, 2}, 9.0f);
  ASSERT_EQ(embeddingBackward(queue, out.view(), grad.view(), index.view(), -1,
                              false),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{3, 4, 7, 8, 6, 8}));
  ASSERT_EQ(
      embeddingBackward(queue, out.view(), grad.view(), index.view(), 0, true),
      Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{0, 0, 7, 8, 3, 4}));
}

TEST(Index, ReadsAndWritesByIndicesThatAreApart) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3, 4}, countTo(24));
  const DeviceTensor<int64_t> first({2}, {1, 0});
  const DeviceTensor<int64_t> last({2}, {-1, 2});
  const TensorView indices[] = {first.view(), {}, last.view()};
  const AdvancedIndex index{indices, 3};
  int64_t sizes[16];
  int32_t ndim = 0;
  ASSERT_EQ(indexedSizes(x.view(), index, sizes, &ndim), Status::kOk);
  ASSERT_EQ(ndim, 2);
  EXPECT_EQ(sizes[0], 2);
  EXPECT_EQ(sizes[1], 3);
  const DeviceTensor<int32_t> out({2, 3}, 0);
  ASSERT_EQ(indexGet(queue, out.view(), x.view(), index), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{15, 19, 23, 2, 6, 10}));
  const DeviceTensor<int32_t> value({}, 100);
  ASSERT_EQ(indexPut(queue, x.view(), value.view(), index, true), Status::kOk);
  ASSERT_EQ(indexGet(queue, out.view(), x.view(), index), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{115, 119, 123, 102, 106, 110}));
}

TEST(Index, ListsWhatIsNotZero) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 3}, {0, 1, 0, 2, 0, 3});
  int64_t count = 0;
  ASSERT_EQ(countNonzero(queue, x.view(), &count), Status::kOk);
  ASSERT_EQ(count, 3);
  const DeviceTensor<int64_t> out({3, 2}, int64_t{0});
  ASSERT_EQ(nonzero(queue, out.view(), x.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
  const DeviceTensor<float> selected({3}, 0.0f);
  ASSERT_EQ(maskedSelect(queue, selected.view(), x.view(), x.view()),
            Status::kOk);
  EXPECT_EQ(selected.read(), (std::vector<float>{1, 2, 3}));
}

TEST(Arrange, JoinsPartsAndTakesThemApart) {
  TestQueue queue;
  const DeviceTensor<int32_t> a({2, 1}, {1, 2});
  const DeviceTensor<int32_t> b({2, 2}, {3, 4, 5, 6});
  const DeviceTensor<int64_t> out({2, 3}, int64_t{0});
  ASSERT_EQ(copyInto(queue, out.view(), 1, 0, a.view()), Status::kOk);
  ASSERT_EQ(copyInto(queue, out.view(), -1, 1, b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 3, 4, 2, 5, 6}));
  const DeviceTensor<int64_t> part({2, 1}, int64_t{0});
  ASSERT_EQ(copyFrom(queue, part.view(), out.view(), 1, 2), Status::kOk);
  EXPECT_EQ(part.read(), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(copyInto(queue, out.view(), 1, 2, b.view()), Status::kInvalid);
}

TEST(Arrange, FlipsRollsAndRepeats) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, countTo(6));
  const DeviceTensor<int32_t> out({2, 3}, 0);
  const int64_t dims[] = {0, 1};
  ASSERT_EQ(flip(queue, out.view(), x.view(), dims, 2), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));
  const int64_t shifts[] = {1, -1};
  ASSERT_EQ(roll(queue, out.view(), x.view(), shifts, dims, 2), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{4, 5, 3, 1, 2, 0}));
  const DeviceTensor<int32_t> twice({2, 6}, 0);
  ASSERT_EQ(repeat(queue, twice.view(), x.view()), Status::kOk);
  EXPECT_EQ(twice.read(),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
}

TEST(Arrange, CutsTrianglesInPlace) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, countTo(6));
  ASSERT_EQ(triangle(queue, Triangle::kUpper, x.view(), x.view(), 1),
            Status::kOk);
  EXPECT_EQ(x.read(), (std::vector<int32_t>{0, 1, 2, 0, 0, 5}));
  const DeviceTensor<float> y({2, 2}, 1.0f);
  ASSERT_EQ(triangle(queue, Triangle::kLower, y.view(), y.view(), 0),
            Status::kOk);
  EXPECT_EQ(y.read(), (std::vector<float>{1, 0, 1, 1}));
}

}  // namespace
}  // namespace dipu::kernels
