// SPDX-License-Identifier: Apache-2.0
//
// Kernels bear the name of the DIOPI function that was called: in counters,
// traces, faults and failures. The samples of ops.yaml show it for many more
// functions (vendors/droplet/cts/kernel_names.cc).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/tests/device_tensor.h"
#include "kernels/tests/diopi_fixture.h"
#include "softdevice/soft_debug.h"

namespace dipu::kernels {
namespace {

using testing::countedNames;
using testing::DeviceTensor;
using testing::Diopi;
using testing::Generator;
using testing::handleOf;
using testing::integer;
using Names = std::vector<std::string>;

class Named : public Diopi {
 protected:
  // Names of the kernels that the call of a function enqueues.
  template <typename Call>
  Names namesOf(const Call& call) {
    soft_counters_reset();
    EXPECT_EQ(call(), diopiSuccess);
    soft_stream_synchronize(stream_);
    return countedNames();
  }

  std::string failure() {
    EXPECT_NE(soft_stream_synchronize(stream_), SOFT_OK);
    const std::string message = soft_last_message();
    soft_fault_clear();
    soft_device_reset(0);
    return message;
  }

  const DeviceTensor<float> values_{{4}, {1, 2, 3, 4}};
  diopiTensor x_ = handleOf(values_.view());
  const diopiScalar_t one_ = integer(1);
};

TEST_F(Named, AnInPlaceFormHasANameOfItsOwn) {
  EXPECT_EQ(namesOf([&] { return diopiAdd(&context_, &x_, &x_, &x_, &one_); }),
            Names{"diopiAdd"});
  EXPECT_EQ(namesOf([&] { return diopiAddInp(&context_, &x_, &x_, &one_); }),
            Names{"diopiAddInp"});
  EXPECT_EQ(namesOf([&] { return diopiExpInp(&context_, &x_); }),
            Names{"diopiExpInp"});
  EXPECT_EQ(namesOf([&] { return diopiLtInpScalar(&context_, &x_, &one_); }),
            Names{"diopiLtInpScalar"});
}

TEST_F(Named, AllKernelsOfACallHaveItsName) {
  const DeviceTensor<uint8_t> flags({4}, {1, 0, 0, 1});
  diopiTensor mask = handleOf(flags.view());
  mask.dtype = diopi_dtype_bool;
  diopiConstTensorHandle_t indices[] = {&mask};
  const DeviceTensor<float> result({4}, 0.0F);
  diopiTensor out = handleOf(result.view());
  const DeviceTensor<float> number({1}, 7.0F);
  diopiTensor value = handleOf(number.view());
  EXPECT_EQ(namesOf([&] {
              return diopiIndexPut(&context_, &out, &x_, &value, indices, 1,
                                   /*accumulate=*/false);
            }),
            Names{"diopiIndexPut"});
  EXPECT_EQ(result.read(), (std::vector<float>{7, 2, 3, 7}));
  diopiTensorHandle_t distinct = nullptr;
  EXPECT_EQ(namesOf([&] {
              return diopiUnique(&context_, &distinct, &x_, nullptr, true,
                                 false, nullptr, nullptr);
            }),
            Names{"diopiUnique"});
}

TEST_F(Named, WorkOnListsAndDrawnNumbersHaveNamesToo) {
  diopiTensorHandle_t list[] = {&x_};
  EXPECT_EQ(namesOf([&] {
              return diopiForeachaddInpScalar(&context_, list, 1, &one_);
            }),
            Names{"diopiForeachaddInpScalar"});
  Generator generator;
  EXPECT_EQ(namesOf([&] {
              return diopiNormalInp(&context_, &x_, 0, 1, generator.handle());
            }),
            Names{"diopiNormalInp"});
}

TEST_F(Named, TracesTellTheFunction) {
  soft_trace_start(16);
  EXPECT_EQ(diopiMul(&context_, &x_, &x_, &x_), diopiSuccess);
  soft_stream_synchronize(stream_);
  soft_trace_stop();
  soft_trace_entry entries[16];
  std::size_t count = 0;
  soft_trace_read(entries, 16, &count, nullptr);
  Names kernels;
  for (std::size_t i = 0; i < count; ++i) {
    if (entries[i].kind == SOFT_TRACE_KERNEL)
      kernels.push_back(entries[i].name);
  }
  EXPECT_EQ(kernels, Names{"diopiMul"});
}

TEST_F(Named, AFaultStrikesOneFunction) {
  ASSERT_EQ(soft_fault_add("launch=1,kernel=diopiAdd"), SOFT_OK);
  EXPECT_EQ(diopiMul(&context_, &x_, &x_, &x_), diopiSuccess);
  EXPECT_EQ(diopiSub(&context_, &x_, &x_, &x_, &one_), diopiSuccess);
  EXPECT_EQ(soft_stream_synchronize(stream_), SOFT_OK);
  EXPECT_EQ(diopiAdd(&context_, &x_, &x_, &x_, &one_), diopiSuccess);
  const std::string message = failure();
  EXPECT_NE(message.find("diopiAdd: the kernel was kept from running"),
            std::string::npos)
      << message;
}

TEST_F(Named, AFailureNamesTheFunctionOnce) {
  const DeviceTensor<int64_t> positions({1}, int64_t{7});
  diopiTensor index = handleOf(positions.view());
  const DeviceTensor<float> result({1}, 0.0F);
  diopiTensor out = handleOf(result.view());
  EXPECT_EQ(diopiGather(&context_, &out, &x_, 0, &index), diopiSuccess);
  const std::string message = failure();
  EXPECT_NE(message.find("diopiGather: index 7 is out of range of a dimension "
                         "of size 4"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find("gather:"), std::string::npos) << message;
}

}  // namespace
}  // namespace dipu::kernels
