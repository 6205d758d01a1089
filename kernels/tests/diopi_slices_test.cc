// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that copy parts, and those that read values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::handleOf;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

// 0, 1, 2, ...
DeviceTensor<int64_t> counted(const std::vector<int64_t>& sizes) {
  Ints values(static_cast<std::size_t>(testing::product(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int64_t>(i);
  }
  return DeviceTensor<int64_t>(sizes, values);
}

class Slices : public testing::Diopi {
 protected:
  static std::string text() { return diopiGetLastErrorString(); }
};

TEST_F(Slices, PermutesAndTransposes) {
  const auto input = counted({2, 3, 2});
  const DeviceTensor<int64_t> out({2, 2, 3}, int64_t{-1});
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  const int64_t order[] = {2, 0, -2};
  ASSERT_EQ(diopiPermute(&context_, &y, &x, {order, 3}), diopiSuccess);
  EXPECT_EQ(out.read(), (Ints{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
  ASSERT_EQ(diopiTranspose(&context_, &y, &x, 1, -1), diopiSuccess);
  EXPECT_EQ(out.read(), (Ints{0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}));
  const int64_t twice[] = {0, 0, 1};
  EXPECT_EQ(diopiPermute(&context_, &y, &x, {twice, 3}), diopiErrorOccurred);
  EXPECT_NE(text().find("dimension 0 twice"), std::string::npos);
  EXPECT_EQ(diopiPermute(&context_, &x, &x, {order, 3}), diopiErrorOccurred);
  EXPECT_EQ(diopiTranspose(&context_, &y, &x, 0, 3), diopiErrorOccurred);
}

TEST_F(Slices, CutsAndGivesBackASlice) {
  const auto input = counted({3, 5});
  const DeviceTensor<int64_t> out({3, 2}, int64_t{-1});
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  ASSERT_EQ(diopiSlice(&context_, &y, &x, -1, 1, 99, 2), diopiSuccess);
  EXPECT_EQ(out.read(), (Ints{1, 3, 6, 8, 11, 13}));
  ASSERT_EQ(diopiSlice(&context_, &y, &x, 1, -2, 5, 1), diopiSuccess);
  EXPECT_EQ(out.read(), (Ints{3, 4, 8, 9, 13, 14}));
  const DeviceTensor<int64_t> grad({3, 5}, int64_t{-1});
  diopiTensor g = handleOf(grad.view());
  ASSERT_EQ(diopiSliceBackward(&context_, &g, &y, {}, 1, 1, 5, 2),
            diopiSuccess);
  EXPECT_EQ(grad.read(), (Ints{0, 3, 0, 4, 0, 0, 8, 0, 9, 0, 0, 13, 0, 14, 0}));
  ASSERT_EQ(diopiSliceScatter(&context_, &g, &x, &y, 1, 0, 2, 1), diopiSuccess);
  EXPECT_EQ(grad.read(),
            (Ints{3, 4, 2, 3, 4, 8, 9, 7, 8, 9, 13, 14, 12, 13, 14}));
  const DeviceTensor<int64_t> column({3, 1}, int64_t{-1});
  diopiTensor c = handleOf(column.view());
  const int64_t longest = std::numeric_limits<int64_t>::max();
  ASSERT_EQ(diopiSlice(&context_, &c, &x, 1, 1, 5, longest), diopiSuccess)
      << text();
  EXPECT_EQ(column.read(), (Ints{1, 6, 11}));
  EXPECT_EQ(diopiSlice(&context_, &y, &x, 1, 0, 5, 1), diopiErrorOccurred);
  EXPECT_EQ(diopiSlice(&context_, &y, &x, 1, 0, 5, 0), diopiErrorOccurred);
}

TEST_F(Slices, TakesAndGivesBackASelection) {
  const auto input = counted({3, 4});
  const DeviceTensor<int64_t> out({3}, int64_t{-1});
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  ASSERT_EQ(diopiSelect(&context_, &y, &x, 1, -1), diopiSuccess);
  EXPECT_EQ(out.read(), (Ints{3, 7, 11}));
  const DeviceTensor<int64_t> grad({3, 4}, int64_t{-1});
  diopiTensor g = handleOf(grad.view());
  ASSERT_EQ(diopiSelectBackward(&context_, &g, &y, {}, 1, 2), diopiSuccess);
  EXPECT_EQ(grad.read(), (Ints{0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 11, 0}));
  ASSERT_EQ(diopiSelectScatter(&context_, &g, &x, &y, 1, 0), diopiSuccess);
  EXPECT_EQ(grad.read(), (Ints{3, 1, 2, 3, 7, 5, 6, 7, 11, 9, 10, 11}));
  EXPECT_EQ(diopiSelect(&context_, &y, &x, 1, 4), diopiErrorOccurred);
  EXPECT_NE(text().find("index 4 is out of range"), std::string::npos);
}

TEST_F(Slices, SpansAGrid) {
  const auto a = counted({2});
  const auto b = counted({3});
  const DeviceTensor<int64_t> x({2, 3}, int64_t{-1});
  const DeviceTensor<int64_t> y({2, 3}, int64_t{-1});
  diopiTensor handles[] = {handleOf(a.view()), handleOf(b.view()),
                           handleOf(x.view()), handleOf(y.view())};
  diopiConstTensorHandle_t inputs[] = {&handles[0], &handles[1]};
  diopiTensorHandle_t outs[] = {&handles[2], &handles[3]};
  ASSERT_EQ(diopiMeshGrid(&context_, outs, inputs, 2), diopiSuccess);
  EXPECT_EQ(x.read(), (Ints{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(y.read(), (Ints{0, 1, 2, 0, 1, 2}));
}

TEST_F(Slices, MakesTensorsContiguous) {
  const auto input = counted({1, 2, 2, 3});
  const auto turned = input.transposed(1, 3);
  diopiTensor x = handleOf(turned.view());
  diopiTensorHandle_t out = nullptr;
  ASSERT_EQ(diopiContiguous(&context_, &out, &x, Contiguous), diopiSuccess);
  EXPECT_EQ(read<int64_t>(out), turned.read());
  ASSERT_EQ(diopiContiguous(&context_, &out, &x, ChannelsLast), diopiSuccess);
  EXPECT_EQ(Ints(out->strides, out->strides + 4), (Ints{12, 1, 6, 3}));
  EXPECT_EQ(read<int64_t>(out), (Ints{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(diopiContiguous(&context_, &out, &x, ChannelsLast3d),
            diopiErrorOccurred);
  int64_t format = -1;
  ASSERT_EQ(diopiGetNativeMemoryFormat(&context_, &x, &format), diopiSuccess);
  ASSERT_EQ(diopiNativeMemoryFormatCast(&context_, &out, &x, format),
            diopiSuccess);
  EXPECT_EQ(out, &x);
  EXPECT_EQ(diopiNativeMemoryFormatCast(&context_, &out, &x, 29),
            diopiNoImplement);
  EXPECT_EQ(diopiTensorDestructionHook(&context_, x.data), diopiSuccess);
}

TEST_F(Slices, FillsWithTheValueOfATensor) {
  const auto input = counted({2, 3});
  const DeviceTensor<int64_t> out({2, 3}, int64_t{-1});
  const DeviceTensor<int64_t> index({2}, {2, 0});
  const DeviceTensor<int64_t> value({}, (int64_t{1} << 62) + 1);
  diopiTensor x = handleOf(input.view());
  diopiTensor y = handleOf(out.view());
  diopiTensor i = handleOf(index.view());
  diopiTensor v = handleOf(value.view());
  ASSERT_EQ(diopiIndexFill(&context_, &y, &x, 1, &i, &v), diopiSuccess);
  const int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(out.read(), (Ints{big, 1, big, big, 4, big}));
  const DeviceTensor<float> half({}, 2.5F);
  diopiTensor h = handleOf(half.view());
  ASSERT_EQ(diopiIndexFillInp(&context_, &x, 1, &i, &h), diopiSuccess);
  EXPECT_EQ(input.read(), (Ints{2, 1, 2, 2, 4, 2}));
  EXPECT_EQ(diopiIndexFillInp(&context_, &x, 0, &i, &i), diopiErrorOccurred);
  EXPECT_NE(text().find("a value of 2 elements"), std::string::npos);
}

TEST_F(Slices, GivesGradientsToIndexedElements) {
  const DeviceTensor<float> zeros({4}, 0.0F);
  const DeviceTensor<float> grad({4}, 9.0F);
  const DeviceTensor<float> g({3}, {1, 2, 4});
  const DeviceTensor<int64_t> positions({3}, {2, 0, 2});
  diopiTensor z = handleOf(zeros.view());
  diopiTensor out = handleOf(grad.view());
  diopiTensor gh = handleOf(g.view());
  diopiTensor i = handleOf(positions.view());
  diopiConstTensorHandle_t indices[] = {&i};
  ASSERT_EQ(diopiIndexBackward(&context_, &out, &z, indices, 1, &gh),
            diopiSuccess);
  EXPECT_EQ(grad.read(), (Floats{2, 0, 5, 0}));
}

TEST_F(Slices, TellsEqualTensors) {
  const DeviceTensor<float> a({2, 2}, {1, 2, 3, 4});
  const DeviceTensor<float> b({2, 2}, {1, 3, 2, 4});
  const DeviceTensor<float> nan({1}, std::nanf(""));
  const auto turned = b.transposed(0, 1);
  diopiTensor x = handleOf(a.view());
  diopiTensor y = handleOf(b.view());
  diopiTensor t = handleOf(turned.view());
  diopiTensor n = handleOf(nan.view());
  bool same = true;
  ASSERT_EQ(diopiEqual(&context_, &same, &x, &y), diopiSuccess);
  EXPECT_FALSE(same);
  ASSERT_EQ(diopiEqual(&context_, &same, &x, &t), diopiSuccess);
  EXPECT_TRUE(same);
  ASSERT_EQ(diopiEqual(&context_, &same, &n, &n), diopiSuccess);
  EXPECT_FALSE(same);
  ASSERT_EQ(diopiEqual(&context_, &same, &x, &n), diopiSuccess);
  EXPECT_FALSE(same);
}

TEST_F(Slices, TakesComplexNumbersApart) {
  const DeviceTensor<double> parts({4}, 9.0);
  const DeviceTensor<double> first({2}, {1, 2});
  const DeviceTensor<double> second({2}, {3, -4});
  const DeviceTensor<double> out({2}, 9.0);
  diopiTensor z = handleOf(parts.view());
  const int64_t size = 2;
  z.sizes = &size;
  z.numel = 2;
  z.dtype = diopi_dtype_complex128;
  diopiTensor a = handleOf(first.view());
  diopiTensor b = handleOf(second.view());
  diopiTensor y = handleOf(out.view());
  ASSERT_EQ(diopiComplex(&context_, &z, &a, &b), diopiSuccess);
  EXPECT_EQ(parts.read(), (std::vector<double>{1, 3, 2, -4}));
  ASSERT_EQ(diopiReal(&context_, &y, &z), diopiSuccess);
  EXPECT_EQ(out.read(), first.read());
  ASSERT_EQ(diopiImag(&context_, &y, &z), diopiSuccess);
  EXPECT_EQ(out.read(), second.read());
  ASSERT_EQ(diopiPolar(&context_, &z, &a, &b), diopiSuccess);
  const std::vector<double> polar = parts.read();
  EXPECT_NEAR(polar[0], std::cos(3.0), 1e-15);
  EXPECT_NEAR(polar[3], 2 * std::sin(-4.0), 1e-15);
  EXPECT_EQ(diopiImag(&context_, &y, &a), diopiDtypeNotSupported);
  EXPECT_NE(text().find("imag has no kernel"), std::string::npos);
}

}  // namespace
}  // namespace dipu::kernels
