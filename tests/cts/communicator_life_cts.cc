// SPDX-License-Identifier: Apache-2.0
//
// dipu_communicator_api: order on streams, refusals, aborts and ranks that
// disagree.
#include <cstdint>
#include <string>

#include "tests/cts/communicator_ranks.h"

namespace dipu::cts {
namespace {

class CommunicatorLife : public RanksTest {};

// What precedes it on the stream is waited for, and what follows waits.
TEST_P(CommunicatorLife, CollectivesAreWorkOfTheirStream) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  runRanks(GetParam(), [](Rank& self) {
    const Array data(self, Values(4, 0));
    const Array after(self, Values(4, 0));
    Gate gate;
    gate.hold(self.queue());
    EXPECT_TRUE(succeeded(memoryApi().set_async(
        data.get(), self.device, 1, 4 * sizeof(int32_t), self.queue())));
    EXPECT_TRUE(succeeded(api().all_reduce(self.communicator, data.get(),
                                           data.get(), 4, DIPU_DTYPE_INT32,
                                           DIPU_REDUCE_SUM, self.queue())));
    EXPECT_TRUE(succeeded(memoryApi().copy_async(
        after.get(), self.device, data.get(), self.device, 4 * sizeof(int32_t),
        self.queue())));
    EXPECT_FALSE(self.stream.isDone()) << "the calls have waited";
    gate.open();
    self.expectNoError();
    EXPECT_EQ(after.read(), Values(4, 0x01010101 * self.size));
  });
}

TEST_P(CommunicatorLife, AnAbortReachesEveryRank) {
  runRanks(GetParam(), [](Rank& self) {
    const Array data(self, Values(4, 1));
    if (self.rank == 1) {
      api().abort(self.communicator);
      api().abort(self.communicator);
      EXPECT_TRUE(
          failedWith(api().get_async_error(self.communicator), DIPU_ABORTED));
      EXPECT_TRUE(failedWith(
          api().all_reduce(self.communicator, data.get(), data.get(), 4,
                           DIPU_DTYPE_INT32, DIPU_REDUCE_SUM, self.queue()),
          DIPU_ABORTED));
      return;
    }
    // It may come before or after the abort.
    const ErrorPtr early(api().all_reduce(self.communicator, data.get(),
                                          data.get(), 4, DIPU_DTYPE_INT32,
                                          DIPU_REDUCE_SUM, self.queue()));
    const ErrorPtr error = self.awaitError();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code, DIPU_ABORTED);
    EXPECT_NE(std::string(error->message).find("rank 1"), std::string::npos)
        << error->message;
    self.stream.synchronize();
  });
}

TEST_P(CommunicatorLife, RanksThatDisagreeAreTold) {
  runRanks(GetParam(), [](Rank& self) {
    const size_t count = self.rank == 1 ? 5 : 6;
    const Array data(self, Values(6, 1));
    EXPECT_TRUE(succeeded(api().all_reduce(self.communicator, data.get(),
                                           data.get(), count, DIPU_DTYPE_INT32,
                                           DIPU_REDUCE_SUM, self.queue())));
    const ErrorPtr error = self.awaitError();
    ASSERT_NE(error, nullptr);
    EXPECT_NE(std::string(error->message).find("rank 1"), std::string::npos)
        << error->message;
    self.stream.synchronize();
    EXPECT_EQ(data.read(), Values(6, 1));
  });
}

TEST_P(CommunicatorLife, WhatIsNotSupportedIsRefused) {
  runRanks(GetParam(), [](Rank& self) {
    const Array data(self, {1, 2});
    for (dipu_dtype dtype = 0; dtype <= DIPU_DTYPE_COMPLEX128; ++dtype) {
      if ((api().supported_dtypes >> dtype & 1) != 0) continue;
      EXPECT_TRUE(
          failedWith(api().all_reduce(self.communicator, data.get(), data.get(),
                                      1, dtype, DIPU_REDUCE_SUM, self.queue()),
                     DIPU_UNIMPLEMENTED))
          << "type " << dtype;
    }
    EXPECT_TRUE(failedWith(
        api().all_reduce(self.communicator, data.get(), data.get(), 1,
                         DIPU_DTYPE_INT32, /*op=*/63, self.queue()),
        DIPU_UNIMPLEMENTED));
    // A refusal does no harm.
    self.expectNoError();
    EXPECT_EQ(data.read(), (Values{1, 2}));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorLife, ::testing::Values(2, 4));

class CommunicatorArguments : public CommunicatorTest {};

TEST_F(CommunicatorArguments, CreateChecksThem) {
  const std::vector<uint8_t> id = makeId();
  const auto make = [&](int32_t device, int32_t rank, int32_t size) {
    dipu_communicator_create_args args{};
    args.struct_size = sizeof(args);
    args.device = device;
    args.rank = rank;
    args.world_size = size;
    args.unique_id = id.data();
    dipu_communicator* communicator = nullptr;
    dipu_error* const error = api().create(&args, &communicator);
    EXPECT_EQ(communicator, nullptr) << "outputs are untouched on error";
    return error;
  };
  EXPECT_TRUE(failedWith(make(deviceCount(), 0, 2), DIPU_INVALID_ARGUMENT));
  EXPECT_TRUE(failedWith(make(0, 2, 2), DIPU_INVALID_ARGUMENT));
  EXPECT_TRUE(failedWith(make(0, -1, 2), DIPU_INVALID_ARGUMENT));
  EXPECT_TRUE(failedWith(make(0, 0, 0), DIPU_INVALID_ARGUMENT));
  api().destroy(nullptr);
}

TEST_F(CommunicatorArguments, OneRankIsACopy) {
  runRanks(1, [](Rank& self) {
    const Array send(self, {5, 6});
    const Array recv(self, {0, 0});
    EXPECT_TRUE(succeeded(api().all_reduce(self.communicator, send.get(),
                                           recv.get(), 2, DIPU_DTYPE_INT32,
                                           DIPU_REDUCE_SUM, self.queue())));
    self.expectNoError();
    EXPECT_EQ(recv.read(), (Values{5, 6}));
    EXPECT_TRUE(
        failedWith(api().broadcast(self.communicator, send.get(), recv.get(), 2,
                                   DIPU_DTYPE_INT32, /*root=*/1, self.queue()),
                   DIPU_INVALID_ARGUMENT));
  });
}

}  // namespace
}  // namespace dipu::cts
