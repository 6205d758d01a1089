// SPDX-License-Identifier: Apache-2.0
//
// The end of a process that still holds memory, events and streams.
#include <chrono>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/event.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

TEST(ShutdownTest, WaitsOnceAndLeavesTheRest) {
  runtime::adoptVendor(testing::fakeVendor(), "fake");
  runtime::shutdown(std::chrono::minutes(1));
  EXPECT_EQ(runtime::deviceCount(), 2) << "nothing to shut down yet";

  c10::DataPtr data = allocator::allocate(1000, 0);
  c10::DataPtr pinned = allocator::hostAllocator().allocate(1000);
  runtime::PooledEvent event = runtime::acquireEvent(0);
  char last = 0;
  const testing::StreamHold hold(runtime::currentStream(0));
  runtime::memsetAsync(&last, 0, 1, 1, runtime::currentStreamHandle(0));

  const testing::Calls before = testing::calls();
  runtime::shutdown(std::chrono::minutes(1));
  EXPECT_EQ(last, 1) << "enqueued work is finished";
  EXPECT_EQ(testing::calls().synchronize_device, before.synchronize_device + 1)
      << "device 1 has not been used";
  EXPECT_EQ(testing::calls().shutdown, 1);
  runtime::shutdown(std::chrono::minutes(1));
  EXPECT_EQ(testing::calls().shutdown, 1);

  data.clear();
  pinned.clear();
  event.reset();
  EXPECT_EQ(testing::calls().record_event, before.record_event);
  EXPECT_TRUE(contains(messageOf([] { allocator::allocate(8, 0); }),
                       "the process is ending"));
}

}  // namespace
}  // namespace dipu
