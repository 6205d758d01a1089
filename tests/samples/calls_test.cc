// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "diopi_adapter/abi/diopi_host.h"
#include "tests/samples/arguments.h"

namespace dipu::samples {
namespace {

Argument integer(int64_t value) {
  Argument argument;
  argument.kind = Kind::kInteger;
  argument.integer = value;
  return argument;
}

Argument of(Kind kind, std::vector<int64_t> integers, int64_t number = 0) {
  Argument argument = integer(number);
  argument.kind = kind;
  argument.integers = std::move(integers);
  return argument;
}

// What a function of the signature of diopiTopk has got.
struct Got {
  diopiTensorHandle_t values, indices;
  diopiConstTensorHandle_t input;
  int64_t k, dim;
  bool largest, sorted;
};
Got got;

diopiError_t topk(diopiContextHandle_t, diopiTensorHandle_t values,
                  diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                  int64_t k, int64_t dim, bool largest, bool sorted) {
  got = {values, indices, input, k, dim, largest, sorted};
  return diopiNotInited;
}

TEST(Calls, PassArgumentsInTheirOrder) {
  diopiTensor tensors[3] = {};
  const std::vector<diopiTensorHandle_t> handles = {&tensors[0], &tensors[1],
                                                    &tensors[2]};
  const std::vector<Argument> list = {of(Kind::kTensor, {}, 1),
                                      of(Kind::kTensor, {}, 2),
                                      of(Kind::kTensor, {}, 0),
                                      integer(5),
                                      integer(-1),
                                      integer(1),
                                      integer(0)};
  Arguments arguments(list, handles);
  const Call call = callOf("diopiTopk");
  ASSERT_NE(call, nullptr);
  diopiContext context{};
  EXPECT_EQ(call(reinterpret_cast<void*>(&topk), &context, arguments),
            diopiNotInited);
  EXPECT_EQ(got.values, &tensors[1]);
  EXPECT_EQ(got.indices, &tensors[2]);
  EXPECT_EQ(got.input, &tensors[0]);
  EXPECT_EQ(got.k, 5);
  EXPECT_EQ(got.dim, -1);
  EXPECT_TRUE(got.largest);
  EXPECT_FALSE(got.sorted);
}

TEST(Calls, RefuseWhatTheFunctionDoesNotTake) {
  const std::vector<diopiTensorHandle_t> handles;
  diopiContext context{};
  const std::vector<Argument> few = {integer(1)};
  Arguments arguments(few, handles);
  EXPECT_THROW(callOf("diopiTopk")(nullptr, &context, arguments),
               std::runtime_error);
  const std::vector<Argument> wrong(7, integer(1));
  Arguments others(wrong, handles);
  EXPECT_THROW(callOf("diopiTopk")(nullptr, &context, others),
               std::runtime_error);
  EXPECT_EQ(callOf("diopiNothing"), nullptr);
  EXPECT_EQ(callOf("diopiGetVendorName"), nullptr);
}

TEST(Arguments, GiveOptionalNumbersListsAndSlots) {
  diopiTensor tensor{};
  const std::vector<diopiTensorHandle_t> handles = {&tensor};
  const std::vector<Argument> list = {
      of(Kind::kNone, {}),         integer(3),
      of(Kind::kTensors, {0, -1}), of(Kind::kSizes, {4, 5}),
      of(Kind::kAllocated, {}, 0), integer(2)};
  Arguments arguments(list, handles);
  EXPECT_EQ(arguments.next<const int64_t*>(), nullptr);
  EXPECT_EQ(*arguments.next<const int64_t*>(), 3);
  auto* tensors = arguments.next<diopiConstTensorHandle_t*>();
  EXPECT_EQ(tensors[0], &tensor);
  EXPECT_EQ(tensors[1], nullptr);
  const auto sizes = arguments.next<diopiSize_t>();
  ASSERT_EQ(sizes.len, 2);
  EXPECT_EQ(sizes.data[1], 5);
  EXPECT_EQ(arguments.allocated(0), nullptr);
  *arguments.next<diopiTensorHandle_t*>() = &tensor;
  EXPECT_EQ(arguments.allocated(0), &tensor);
  const auto* scalar = arguments.next<const diopiScalar_t*>();
  EXPECT_EQ(scalar->stype, diopi_dtype_int64);
  EXPECT_EQ(scalar->ival, 2);
}

}  // namespace
}  // namespace dipu::samples
