// SPDX-License-Identifier: Apache-2.0
//
// dipu_communicator_api: what collectives and messages give.
#include <cstdint>

#include "tests/cts/communicator_ranks.h"

namespace dipu::cts {
namespace {

class Communicator : public RanksTest {};

// None, few, and more than any buffer of a library.
constexpr size_t kCounts[] = {0, 3, 300003};

TEST_P(Communicator, AllReduceAddsInPlaceAndNot) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Array send(self, valuesOf(self.rank, count));
      const Array recv(self, Values(count));
      EXPECT_TRUE(succeeded(
          api().all_reduce(self.communicator, send.get(), recv.get(), count,
                           DIPU_DTYPE_INT32, DIPU_REDUCE_SUM, self.queue())));
      self.expectNoError();
      EXPECT_EQ(recv.read(), sumOf(self.size, count));
      EXPECT_EQ(send.read(), valuesOf(self.rank, count));
      EXPECT_TRUE(succeeded(
          api().all_reduce(self.communicator, send.get(), send.get(), count,
                           DIPU_DTYPE_INT32, DIPU_REDUCE_SUM, self.queue())));
      self.expectNoError();
      EXPECT_EQ(send.read(), sumOf(self.size, count));
    }
  });
}

TEST_P(Communicator, EveryReductionThatIsSupported) {
  runRanks(GetParam(), [](Rank& self) {
    int32_t product = 1;
    for (int32_t i = 0; i < self.size; ++i) product *= 3 * i + 2;
    const int32_t sum = 3 * self.size * (self.size - 1) / 2 + 2 * self.size;
    const int32_t expected[] = {sum, product, 3 * self.size - 1, 2,
                                sum / self.size};
    for (dipu_reduce_op op = 0; op <= DIPU_REDUCE_AVG; ++op) {
      if ((api().supported_reduce_ops >> op & 1) == 0) continue;
      const Array data(self, {3 * self.rank + 2});
      EXPECT_TRUE(
          succeeded(api().all_reduce(self.communicator, data.get(), data.get(),
                                     1, DIPU_DTYPE_INT32, op, self.queue())));
      self.expectNoError();
      EXPECT_EQ(data.read(), Values{expected[op]}) << "reduction " << op;
    }
  });
}

// The number one of every type.
uint64_t oneOf(dipu_dtype dtype) {
  switch (dtype) {
    case DIPU_DTYPE_FLOAT16:
      return 0x3c00;
    case DIPU_DTYPE_BFLOAT16:
      return 0x3f80;
    case DIPU_DTYPE_FLOAT32:
      return 0x3f800000;
    case DIPU_DTYPE_FLOAT64:
      return 0x3ff0000000000000;
    default:
      return 1;
  }
}

// The maximum of zero and one is one: wrong sizes and types show.
TEST_P(Communicator, EveryTypeThatIsSupported) {
  runRanks(GetParam(), [](Rank& self) {
    for (dipu_dtype dtype = 0; dtype <= DIPU_DTYPE_BFLOAT16; ++dtype) {
      if ((api().supported_dtypes >> dtype & 1) == 0) continue;
      const uint64_t own = self.rank == 1 ? oneOf(dtype) : 0;
      const Array data(
          self, {static_cast<int32_t>(own), static_cast<int32_t>(own >> 32)});
      EXPECT_TRUE(
          succeeded(api().all_reduce(self.communicator, data.get(), data.get(),
                                     1, dtype, DIPU_REDUCE_MAX, self.queue())));
      self.expectNoError();
      const uint64_t one = oneOf(dtype);
      EXPECT_EQ(data.read(), (Values{static_cast<int32_t>(one),
                                     static_cast<int32_t>(one >> 32)}))
          << "type " << dtype;
    }
  });
}

TEST_P(Communicator, Broadcast) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const int32_t root = self.size - 1;
      const Array data(self, valuesOf(self.rank, count));
      EXPECT_TRUE(succeeded(api().broadcast(self.communicator, data.get(),
                                            data.get(), count, DIPU_DTYPE_INT32,
                                            root, self.queue())));
      self.expectNoError();
      EXPECT_EQ(data.read(), valuesOf(root, count));
    }
  });
}

TEST_P(Communicator, Reduce) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Array send(self, valuesOf(self.rank, count));
      const Array recv(self, Values(count, -1));
      EXPECT_TRUE(succeeded(api().reduce(
          self.communicator, send.get(), recv.get(), count, DIPU_DTYPE_INT32,
          DIPU_REDUCE_SUM, /*root=*/1, self.queue())));
      self.expectNoError();
      EXPECT_EQ(send.read(), valuesOf(self.rank, count));
      if (self.rank == 1) {
        EXPECT_EQ(recv.read(), sumOf(self.size, count));
      }
    }
  });
}

TEST_P(Communicator, AllGather) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Array send(self, valuesOf(self.rank, count));
      const Array recv(self, Values(self.size * count));
      EXPECT_TRUE(
          succeeded(api().all_gather(self.communicator, send.get(), recv.get(),
                                     count, DIPU_DTYPE_INT32, self.queue())));
      self.expectNoError();
      const Values got = recv.read();
      for (int32_t peer = 0; peer < self.size; ++peer) {
        EXPECT_EQ(part(got, peer, count), valuesOf(peer, count));
      }
    }
  });
}

TEST_P(Communicator, ReduceScatter) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Array send(self, valuesOf(self.rank, self.size * count));
      const Array recv(self, Values(count));
      EXPECT_TRUE(succeeded(api().reduce_scatter(
          self.communicator, send.get(), recv.get(), count, DIPU_DTYPE_INT32,
          DIPU_REDUCE_SUM, self.queue())));
      self.expectNoError();
      EXPECT_EQ(recv.read(),
                part(sumOf(self.size, self.size * count), self.rank, count));
    }
  });
}

// Element i of the message from one rank to another.
int32_t message(int32_t from, int32_t to, size_t i) {
  return static_cast<int32_t>(i % 1000) * 100 + from * 10 + to;
}

struct Exchange {
  Values sent;
  Values received;
};

Exchange exchangeOf(const Rank& self, size_t count) {
  Exchange exchange;
  for (int32_t peer = 0; peer < self.size; ++peer) {
    for (size_t i = 0; i < count; ++i) {
      exchange.sent.push_back(message(self.rank, peer, i));
      exchange.received.push_back(message(peer, self.rank, i));
    }
  }
  return exchange;
}

// In a group the order does not matter: all sends come first.
TEST_P(Communicator, AllToAllOfMessages) {
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Exchange expected = exchangeOf(self, count);
      const Array send(self, expected.sent);
      const Array recv(self, Values(expected.received.size()));
      EXPECT_TRUE(succeeded(api().group_start()));
      for (int32_t peer = 0; peer < self.size; ++peer) {
        EXPECT_TRUE(
            succeeded(api().send(self.communicator, send.get() + peer * count,
                                 count, DIPU_DTYPE_INT32, peer, self.queue())));
      }
      for (int32_t peer = 0; peer < self.size; ++peer) {
        EXPECT_TRUE(
            succeeded(api().recv(self.communicator, recv.get() + peer * count,
                                 count, DIPU_DTYPE_INT32, peer, self.queue())));
      }
      EXPECT_TRUE(succeeded(api().group_end()));
      self.expectNoError();
      EXPECT_EQ(recv.read(), expected.received);
    }
  });
}

TEST_P(Communicator, AllToAll) {
  if (!DIPU_HAS(&api(), all_to_all)) {
    GTEST_SKIP() << "the vendor has no all_to_all";
  }
  runRanks(GetParam(), [](Rank& self) {
    for (const size_t count : kCounts) {
      const Exchange expected = exchangeOf(self, count);
      const Array send(self, expected.sent);
      const Array recv(self, Values(expected.received.size()));
      EXPECT_TRUE(
          succeeded(api().all_to_all(self.communicator, send.get(), recv.get(),
                                     count, DIPU_DTYPE_INT32, self.queue())));
      self.expectNoError();
      EXPECT_EQ(recv.read(), expected.received);
    }
  });
}

TEST_P(Communicator, AMessageOutsideOfGroups) {
  runRanks(GetParam(), [](Rank& self) {
    const size_t count = kCounts[2];
    const Array data(self, valuesOf(self.rank, count));
    if (self.rank == 0) {
      EXPECT_TRUE(succeeded(api().send(self.communicator, data.get(), count,
                                       DIPU_DTYPE_INT32, 1, self.queue())));
    } else if (self.rank == 1) {
      EXPECT_TRUE(succeeded(api().recv(self.communicator, data.get(), count,
                                       DIPU_DTYPE_INT32, 0, self.queue())));
    }
    self.expectNoError();
    EXPECT_EQ(data.read(), valuesOf(self.rank <= 1 ? 0 : self.rank, count));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Communicator, ::testing::Values(2, 4));

}  // namespace
}  // namespace dipu::cts
