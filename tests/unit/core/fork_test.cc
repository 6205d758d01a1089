// SPDX-License-Identifier: Apache-2.0
//
// A forked child: whatever it inherited must fail clearly and never hang.
#include <c10/core/impl/VirtualGuardImpl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/event.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

// Exit status of a child that runs `body`: 0 when it returns true. A child
// that hangs is ended by its alarm.
template <typename Body>
int inChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs first, before the vendor has been initialised.
TEST(ForkTest, ChildMayUseTheDeviceWhenTheParentHasNot) {
  runtime::adoptVendor(testing::fakeVendor(), "fake");
  EXPECT_EQ(inChild([] {
              runtime::setDevice(1);
              return !runtime::inBadFork() && runtime::currentDevice() == 1;
            }),
            0);
  EXPECT_FALSE(runtime::isInitialized());
}

TEST(ForkTest, ChildOfAUsedDeviceIsTold) {
  runtime::setDevice(0);
  ASSERT_NE(runtime::currentStreamHandle(0), nullptr);
  const auto refused = [](auto call) {
    return contains(messageOf(call), "forked child");
  };
  EXPECT_EQ(inChild([&] {
              return runtime::inBadFork() && runtime::deviceCount() == 2 &&
                     !runtime::hasContext(0) &&
                     refused([] { runtime::currentDevice(); }) &&
                     refused([] { runtime::setDevice(0); }) &&
                     refused([] { runtime::currentStreamHandle(0); }) &&
                     refused([] {
                       runtime::synchronizeStream(runtime::defaultStream(0));
                     }) &&
                     refused([] { allocator::allocate(8, 0); }) &&
                     refused([] { allocator::hostAllocator().allocate(8); });
            }),
            0);
  EXPECT_FALSE(runtime::inBadFork()) << "the parent goes on";
  EXPECT_NO_THROW(runtime::synchronizeDevice(0));
}

// A constructor of autograd's that must not throw asks for the stream.
TEST(ForkTest, ChildMayAskForTheStreamOfAnInheritedTensor) {
  runtime::setDevice(0);
  const c10::impl::VirtualGuardImpl guard(runtime::kDeviceType);
  EXPECT_EQ(inChild([&] {
              const c10::Device device(runtime::kDeviceType, 1);
              return guard.getStream(device) ==
                     c10::Stream(c10::Stream::DEFAULT, device);
            }),
            0);
}

// The child inherits the allocator's lock in whatever state it was.
TEST(ForkTest, ChildMayDropTensorsWhileParentThreadsAllocate) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) allocator::allocate(1000, 0);
  });
  for (int i = 0; i < 20; ++i) {
    c10::DataPtr data = allocator::allocate(1000, 0);
    c10::DataPtr pinned = allocator::hostAllocator().allocate(1000);
    EXPECT_EQ(inChild([&] {
                data.clear();
                pinned.clear();
                runtime::releaseEvent(nullptr);
                return !allocator::isPinned(&data);
              }),
              0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace dipu
