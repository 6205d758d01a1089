// SPDX-License-Identifier: Apache-2.0
#include "kernels/diopi/tensor_args.h"

#include <gtest/gtest.h>

#include "diopi_adapter/abi/diopi_host.h"

namespace dipu::kernels::diopi {
namespace {

void expectEqual(const TensorView& a, const TensorView& b) {
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.sizes, b.sizes);
  EXPECT_EQ(a.strides, b.strides);
  EXPECT_EQ(a.numel, b.numel);
  EXPECT_EQ(a.ndim, b.ndim);
  EXPECT_EQ(a.dtype, b.dtype);
}

TEST(TensorArgsTest, ReadsATensorAsTheRuntimeFunctionsTell) {
  const int64_t sizes[] = {3, 4};
  const int64_t strides[] = {8, 2};
  double storage[32] = {};
  const diopiTensor tensor{&storage[1],
                           sizes,
                           strides,
                           /*numel=*/12,
                           /*ndim=*/2,
                           diopi_dtype_float64,
                           /*device_index=*/0,
                           sizeof(double),
                           /*flags=*/0,
                           storage,
                           /*storage_offset=*/1,
                           sizeof(storage),
                           /*owner=*/nullptr};
  ASSERT_TRUE(tensorsAreReadable()) << "the runtime publishes its layout";
  expectEqual(view(&tensor), askForView(&tensor));
  EXPECT_EQ(view(&tensor).data, &storage[1]);
  EXPECT_EQ(view(&tensor).numel, 12);
}

TEST(TensorArgsTest, ReadsAScalarTensor) {
  float value = 0;
  const diopiTensor tensor{&value, nullptr, nullptr, 1, 0, 9,      0,
                           4,      0,       &value,  0, 4, nullptr};
  expectEqual(view(&tensor), askForView(&tensor));
  EXPECT_TRUE(view(&tensor).defined());
}

TEST(TensorArgsTest, AnAbsentTensorIsUndefined) {
  EXPECT_FALSE(view(nullptr).defined());
}

}  // namespace
}  // namespace dipu::kernels::diopi
