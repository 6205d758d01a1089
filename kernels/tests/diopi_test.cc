// SPDX-License-Identifier: Apache-2.0
//
// The operator library as a host uses it: through handles and the DIOPI
// runtime.
#include <diopi/functions.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::Diopi;
using testing::handleOf;
using testing::integer;

TEST_F(Diopi, NamesItself) {
  EXPECT_STREQ(diopiGetVendorName(), "dipu_kernels");
  EXPECT_NE(std::string(diopiGetImplVersion()), "");
}

TEST_F(Diopi, AddsThroughHandles) {
  const DeviceTensor<float> a({2, 3}, {1, 2, 3, 4, 5, 6});
  const DeviceTensor<float> b({3}, {10, 20, 30});
  const DeviceTensor<float> out({2, 3}, 0.0f);
  diopiTensor x = handleOf(a.view());
  diopiTensor y = handleOf(b.view());
  diopiTensor z = handleOf(out.view());
  const diopiScalar_t alpha = integer(2);
  ASSERT_EQ(diopiAdd(&context_, &z, &x, &y, &alpha), diopiSuccess);
  EXPECT_EQ(out.read(), (std::vector<float>{21, 42, 63, 24, 45, 66}));
}

TEST_F(Diopi, AsksTheHostToComputeWhatItLacks) {
  const DeviceTensor<int64_t> a({3}, int64_t{1});
  diopiTensor x = handleOf(a.view());
  EXPECT_EQ(diopiExpInp(&context_, &x), diopiDtypeNotSupported);
  EXPECT_NE(std::string(diopiGetLastErrorString()).find("exp has no kernel"),
            std::string::npos);
}

TEST_F(Diopi, MovesComplexNumbersBetweenLayouts) {
  // Two rows of two complex numbers, read as columns.
  const DeviceTensor<float> from({8}, {1, -1, 2, -2, 3, -3, 4, -4});
  const DeviceTensor<float> to({8}, 0.0f);
  const int64_t sizes[] = {2, 2};
  const int64_t columns[] = {1, 2};
  const int64_t rows[] = {2, 1};
  diopiTensor source = handleOf(from.view());
  diopiTensor target = handleOf(to.view());
  for (diopiTensor* tensor : {&source, &target}) {
    tensor->sizes = sizes;
    tensor->strides = tensor == &source ? columns : rows;
    tensor->ndim = 2;
    tensor->numel = 4;
    tensor->dtype = diopi_dtype_complex64;
  }
  ASSERT_EQ(diopiCopyInp(&context_, &source, &target), diopiSuccess);
  EXPECT_EQ(to.read(), (std::vector<float>{1, -1, 3, -3, 2, -2, 4, -4}));
}

TEST_F(Diopi, AllocatesTheResultOfMaskedIndexing) {
  const DeviceTensor<float> a({4}, {1, 2, 3, 4});
  const DeviceTensor<uint8_t> mask({4}, {1, 0, 0, 1});
  diopiTensor x = handleOf(a.view());
  diopiTensor m = handleOf(mask.view());
  m.dtype = diopi_dtype_bool;
  diopiConstTensorHandle_t indices[] = {&m};
  diopiTensorHandle_t out = nullptr;
  ASSERT_EQ(diopiIndex(&context_, &out, &x, indices, 1), diopiSuccess);
  ASSERT_NE(out, nullptr);
  ASSERT_EQ(out->ndim, 1);
  ASSERT_EQ(out->sizes[0], 2);
  float values[2] = {};
  ASSERT_EQ(soft_memcpy(values, out->data, sizeof(values)), SOFT_OK);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 4.0f);
}

TEST_F(Diopi, FindsThePositionInATransposedTensor) {
  const DeviceTensor<float> a({2, 3}, {1, 9, 3, 4, 5, 6});
  const DeviceTensor<float> turned = a.transposed(0, 1);
  const DeviceTensor<int64_t> out({}, int64_t{0});
  diopiTensor x = handleOf(turned.view());
  diopiTensor y = handleOf(out.view());
  ASSERT_EQ(diopiArgmax(&context_, &y, &x, nullptr, false), diopiSuccess);
  EXPECT_EQ(out.read()[0], 2);  // row 1, column 0 of three rows of two
}

TEST_F(Diopi, GivesGradientsToThePositionsThatWereTaken) {
  using Floats = std::vector<float>;
  const DeviceTensor<float> grad({3}, {1, 2, 4});
  const DeviceTensor<int64_t> positions({3}, {2, 0, 2});
  const DeviceTensor<float> out({4}, 9.0f);
  diopiTensor g = handleOf(grad.view());
  diopiTensor i = handleOf(positions.view());
  diopiTensor o = handleOf(out.view());
  ASSERT_EQ(diopiGatherBackward(&context_, &o, &g, &o, 0, &i), diopiSuccess);
  EXPECT_EQ(out.read(), (Floats{2, 0, 5, 0}));
  ASSERT_EQ(diopiIndexSelectBackward(&context_, &o, &g, {}, 0, &i),
            diopiSuccess);
  EXPECT_EQ(out.read(), (Floats{2, 0, 5, 0}));
  const DeviceTensor<int64_t> order({3}, {2, 0, 1});
  const DeviceTensor<float> sorted({3}, 9.0f);
  diopiTensor p = handleOf(order.view());
  diopiTensor s = handleOf(sorted.view());
  ASSERT_EQ(diopiSortBackward(&context_, &s, &g, 0, &p, {}, false),
            diopiSuccess);
  EXPECT_EQ(sorted.read(), (Floats{2, 4, 1}));
  const DeviceTensor<uint8_t> flags({4}, {1, 0, 1, 1});
  diopiTensor m = handleOf(flags.view());
  ASSERT_EQ(diopiMaskedSelectBackward(&context_, &o, &g, &o, &m), diopiSuccess);
  EXPECT_EQ(out.read(), (Floats{1, 0, 2, 4}));
}

TEST_F(Diopi, RefusesModesThatItDoesNotKnow) {
  const DeviceTensor<float> image({1, 1, 2}, {1, 3});
  const DeviceTensor<float> pooled({1, 1, 1}, 9.0f);
  const DeviceTensor<float> wide({1, 1, 4}, 9.0f);
  diopiTensor x = handleOf(image.view());
  diopiTensor y = handleOf(pooled.view());
  diopiTensor w = handleOf(wide.view());
  const int64_t two = 2;
  const int64_t one = 1;
  const int64_t none = 0;
  const diopiSize_t kernel{&two, 1};
  const int64_t pads[] = {1, 1};
  const auto pool = [&](const char* mode) {
    return diopiPool1d(&context_, &y, &x, mode, kernel, kernel, {&none, 1},
                       {&one, 1}, false, false, false, {});
  };
  ASSERT_EQ(pool("max"), diopiSuccess) << diopiGetLastErrorString();
  EXPECT_EQ(pooled.read()[0], 3.0f);
  ASSERT_EQ(pool("avg"), diopiSuccess) << diopiGetLastErrorString();
  EXPECT_EQ(pooled.read()[0], 2.0f);
  for (const char* mode : {"sum", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(pool(mode), diopiErrorOccurred);
    EXPECT_EQ(diopiPool1dBackward(&context_, &x, &y, &x, mode, kernel, kernel,
                                  {&none, 1}, {&one, 1}, false, false, false,
                                  nullptr),
              diopiErrorOccurred);
    EXPECT_EQ(diopiUpsampleLinear(&context_, &w, &x, {}, false, mode),
              diopiErrorOccurred);
    EXPECT_EQ(diopiPad(&context_, &w, &x, {pads, 2}, mode, nullptr),
              diopiErrorOccurred);
    const std::string name = mode == nullptr ? "" : mode;
    EXPECT_NE(
        std::string(diopiGetLastErrorString()).find("no mode '" + name + "'"),
        std::string::npos);
  }
}

TEST_F(Diopi, AllocatesDistinctElementsAndTheirCounts) {
  const DeviceTensor<float> a({2, 2}, {3, 1, 3, 3});
  const DeviceTensor<int64_t> inverse({2, 2}, int64_t{-1});
  diopiTensor x = handleOf(a.view());
  diopiTensor i = handleOf(inverse.view());
  diopiTensorHandle_t out = nullptr;
  diopiTensorHandle_t counts = nullptr;
  ASSERT_EQ(diopiUnique(&context_, &out, &x, nullptr, true, true, &i, &counts),
            diopiSuccess);
  EXPECT_EQ(inverse.read(), (std::vector<int64_t>{1, 0, 1, 1}));
  ASSERT_EQ(out->sizes[0], 2);
  ASSERT_EQ(counts->sizes[0], 2);
  float values[2] = {};
  int64_t members[2] = {};
  ASSERT_EQ(soft_memcpy(values, out->data, sizeof(values)), SOFT_OK);
  ASSERT_EQ(soft_memcpy(members, counts->data, sizeof(members)), SOFT_OK);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 3.0f);
  EXPECT_EQ(members[0], 1);
  EXPECT_EQ(members[1], 3);
}

}  // namespace
}  // namespace dipu::kernels
