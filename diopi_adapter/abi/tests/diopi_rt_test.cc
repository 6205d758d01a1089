// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diopi_adapter/abi/diopi_host.h"

namespace {

class DiopiRuntimeTest : public testing::Test {
 protected:
  void TearDown() override { dipu_diopi_rt_install(nullptr); }

  const int64_t sizes_[2] = {3, 4};
  const int64_t strides_[2] = {8, 2};
  float storage_[32] = {};
  diopiTensor tensor_{&storage_[1],
                      sizes_,
                      strides_,
                      /*numel=*/12,
                      /*ndim=*/2,
                      diopi_dtype_float32,
                      /*device_index=*/1,
                      sizeof(float),
                      /*flags=*/0,
                      storage_,
                      /*storage_offset=*/1,
                      sizeof(storage_),
                      /*owner=*/nullptr};
  int stream_ = 0;
  diopiContext context_{&stream_, 1, 0, nullptr};
};

TEST_F(DiopiRuntimeTest, AnswersQuestionsAboutTensors) {
  void* data = nullptr;
  EXPECT_EQ(diopiGetTensorData(&tensor_, &data), diopiSuccess);
  EXPECT_EQ(data, &storage_[1]);
  const void* const_data = nullptr;
  EXPECT_EQ(diopiGetTensorDataConst(&tensor_, &const_data), diopiSuccess);
  EXPECT_EQ(const_data, &storage_[1]);
  diopiSize_t list{};
  EXPECT_EQ(diopiGetTensorShape(&tensor_, &list), diopiSuccess);
  EXPECT_EQ(list.data, sizes_);
  EXPECT_EQ(list.len, 2);
  EXPECT_EQ(diopiGetTensorStride(&tensor_, &list), diopiSuccess);
  EXPECT_EQ(list.data, strides_);
  EXPECT_EQ(list.len, 2);
  diopiDtype_t dtype{};
  EXPECT_EQ(diopiGetTensorDtype(&tensor_, &dtype), diopiSuccess);
  EXPECT_EQ(dtype, diopi_dtype_float32);
  int64_t number = 0;
  EXPECT_EQ(diopiGetTensorNumel(&tensor_, &number), diopiSuccess);
  EXPECT_EQ(number, 12);
  EXPECT_EQ(diopiGetTensorElemSize(&tensor_, &number), diopiSuccess);
  EXPECT_EQ(number, 4);
  bool sparse = true;
  EXPECT_EQ(diopiIsTensorSparse(&tensor_, &sparse), diopiSuccess);
  EXPECT_FALSE(sparse);
}

TEST_F(DiopiRuntimeTest, AnswersQuestionsAboutStorageAndDevice) {
  void* data = nullptr;
  EXPECT_EQ(diopiGetTensorStoragePtr(&tensor_, &data), diopiSuccess);
  EXPECT_EQ(data, storage_);
  int64_t offset = 0;
  EXPECT_EQ(diopiGetTensorStorageOffset(&tensor_, &offset), diopiSuccess);
  EXPECT_EQ(offset, 1);
  size_t bytes = 0;
  EXPECT_EQ(diopiGetTensorStorageNbytes(&tensor_, &bytes), diopiSuccess);
  EXPECT_EQ(bytes, sizeof(storage_));
  diopiDeviceIndex_t index = 0;
  EXPECT_EQ(diopiGetTensorDeviceIndex(&tensor_, &index), diopiSuccess);
  EXPECT_EQ(index, 1);
  diopiDevice_t device = diopi_host;
  EXPECT_EQ(diopiGetTensorDevice(&tensor_, &device), diopiSuccess);
  EXPECT_EQ(device, diopi_device);
  tensor_.device_index = -1;
  EXPECT_EQ(diopiGetTensorDevice(&tensor_, &device), diopiSuccess);
  EXPECT_EQ(device, diopi_host);
  diopiStreamHandle_t stream = nullptr;
  EXPECT_EQ(diopiGetStream(&context_, &stream), diopiSuccess);
  EXPECT_EQ(stream, &stream_);
}

TEST_F(DiopiRuntimeTest, NullIsAnErrorAndLeavesTheOutputAlone) {
  int64_t number = 7;
  EXPECT_EQ(diopiGetTensorNumel(nullptr, &number), diopiErrorOccurred);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(diopiGetTensorNumel(&tensor_, nullptr), diopiErrorOccurred);
  diopiStreamHandle_t stream = &number;
  EXPECT_EQ(diopiGetStream(nullptr, &stream), diopiErrorOccurred);
  EXPECT_EQ(stream, &number);
  diopiConstTensorHandle_t part = nullptr;
  EXPECT_EQ(diopiGetTensorValues(&tensor_, &part), diopiErrorOccurred)
      << "the tensor is dense";
}

TEST_F(DiopiRuntimeTest, NeedsAHostForWorkspace) {
  diopiTensorHandle_t made = nullptr;
  EXPECT_EQ(diopiRequireBuffer(&context_, &made, 16, diopi_device),
            diopiNotInited);
  dipu_diopi_rt_host host{};
  host.struct_size = sizeof(host);
  ASSERT_EQ(dipu_diopi_rt_install(&host), diopiSuccess);
  EXPECT_EQ(diopiRequireBuffer(&context_, &made, 16, diopi_device),
            diopiNoImplement);
  EXPECT_EQ(made, nullptr);
}

TEST_F(DiopiRuntimeTest, ForwardsToTheHost) {
  static diopiTensor made_tensor;
  static const diopiSize_t* seen_strides;
  dipu_diopi_rt_host host{};
  host.struct_size = sizeof(host);
  host.require_tensor = [](diopiContext*, const diopiSize_t*,
                           const diopiSize_t* strides, diopiDtype_t dtype,
                           diopiDevice_t, diopiTensorHandle_t* out_tensor) {
    seen_strides = strides;
    made_tensor.dtype = dtype;
    *out_tensor = &made_tensor;
    return diopiSuccess;
  };
  host.generator_get_seed_and_offset = [](diopiGeneratorHandle_t,
                                          uint64_t* seed, uint64_t* offset) {
    *seed = 11;
    *offset = 4;
    return diopiSuccess;
  };
  ASSERT_EQ(dipu_diopi_rt_install(&host), diopiSuccess);

  const diopiSize_t size{sizes_, 2};
  const diopiSize_t empty{nullptr, 0};
  diopiTensorHandle_t made = nullptr;
  EXPECT_EQ(diopiRequireTensor(&context_, &made, &size, &empty,
                               diopi_dtype_int64, diopi_device),
            diopiSuccess);
  EXPECT_EQ(made, &made_tensor);
  EXPECT_EQ(made_tensor.dtype, diopi_dtype_int64);
  EXPECT_EQ(seen_strides, nullptr) << "an empty list means contiguous";

  uint64_t seed = 0;
  uint64_t offset = 0;
  auto* generator = reinterpret_cast<diopiGeneratorHandle_t>(&stream_);
  EXPECT_EQ(diopiGeneratorGetSeedAndOffset(generator, &seed, &offset),
            diopiSuccess);
  EXPECT_EQ(seed, 11u);
  EXPECT_EQ(offset, 4u);
}

TEST_F(DiopiRuntimeTest, AnOlderHostLacksLaterSlots) {
  dipu_diopi_rt_host host{};
  host.get_current_device = [](diopiDeviceIndex_t* out) {
    *out = 1;
    return diopiSuccess;
  };
  diopiDeviceIndex_t index = 0;
  host.struct_size = offsetof(dipu_diopi_rt_host, get_current_device);
  ASSERT_EQ(dipu_diopi_rt_install(&host), diopiSuccess);
  EXPECT_EQ(diopiGetCurrentDeviceIndex(&index), diopiNoImplement);
  host.struct_size = sizeof(host);
  EXPECT_EQ(diopiGetCurrentDeviceIndex(&index), diopiSuccess);
  EXPECT_EQ(index, 1);
}

TEST_F(DiopiRuntimeTest, RefusesWhatIsNoTable) {
  dipu_diopi_rt_host host{};
  host.struct_size = 4;
  EXPECT_EQ(dipu_diopi_rt_install(&host), diopiErrorOccurred);
}

TEST_F(DiopiRuntimeTest, ProfilerRangesSucceedWithoutAProfiler) {
  void* record = &stream_;
  EXPECT_EQ(diopiRecordStart("matmul", &record), diopiSuccess);
  EXPECT_EQ(record, nullptr);
  EXPECT_EQ(diopiRecordEnd(&record), diopiSuccess);
}

}  // namespace
