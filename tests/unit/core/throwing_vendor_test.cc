// SPDX-License-Identifier: Apache-2.0
//
// A vendor whose slots throw, each in turn: whoever called learns which slot of
// which device threw what, and the process goes on.
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/event.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

// What a slot throws that is told to.
std::function<void()> g_throw;

// A slot of the fake vendor that can be told to throw.
template <auto kTable, auto kSlot>
struct Slot;

template <typename Api, const Api* dipu_vendor::* kTable, typename Result,
          typename... Args, Result (*Api::*kSlot)(Args...)>
struct Slot<kTable, kSlot> {
  static inline bool throws = false;
  static Result call(Args... args) {
    if (throws) g_throw();
    return (testing::fakeVendor()->*kTable->*kSlot)(args...);
  }
};

// Tells a slot to throw for a scope.
class Throwing {
 public:
  explicit Throwing(bool& throws) : throws_(throws) { throws_ = true; }
  ~Throwing() { throws_ = false; }
  Throwing(const Throwing&) = delete;
  Throwing& operator=(const Throwing&) = delete;

 private:
  bool& throws_;
};

// The switch of a slot, which this puts into `api` as well.
template <auto kTable, auto kSlot, typename Api>
bool& prepare(Api& api) {
  api.*kSlot = &Slot<kTable, kSlot>::call;
  return Slot<kTable, kSlot>::throws;
}

struct Tables {
  dipu_device_api device = *testing::fakeVendor()->device;
  dipu_memory_api memory = *testing::fakeVendor()->memory;
  dipu_stream_api stream = *testing::fakeVendor()->stream;
  dipu_event_api event = *testing::fakeVendor()->event;
  dipu_vendor vendor = *testing::fakeVendor();

  Tables() {
    vendor.device = &device;
    vendor.memory = &memory;
    vendor.stream = &stream;
    vendor.event = &event;
  }
};

Tables& tables() {
  static auto* const instance = new Tables;
  return *instance;
}

template <auto kSlot>
bool& ofDevice() {
  return prepare<&dipu_vendor::device, kSlot>(tables().device);
}
template <auto kSlot>
bool& ofMemory() {
  return prepare<&dipu_vendor::memory, kSlot>(tables().memory);
}
template <auto kSlot>
bool& ofStream() {
  return prepare<&dipu_vendor::stream, kSlot>(tables().stream);
}
template <auto kSlot>
bool& ofEvent() {
  return prepare<&dipu_vendor::event, kSlot>(tables().event);
}

constexpr std::size_t kLarge = std::size_t{64} << 20;

class ThrowingVendorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runtime::adoptVendor(&tables().vendor, "throwing");
  }
  void SetUp() override {
    g_throw = [] { throw 5; };
    runtime::setDevice(0);
  }
};

void askOnANewThread(std::string& out_text) {
  std::thread([&] {
    out_text = messageOf([] { runtime::currentDevice(); });
  }).join();
}

// Expects that `call` tells of `slot`, which `throws` makes throw, as long as
// it does.
void expectTold(const std::string& slot, bool& throws,
                const std::function<void()>& call,
                const std::string& device = "fake:0") {
  {
    const Throwing throwing(throws);
    EXPECT_EQ(messageOf(call),
              device + ": " + slot +
                  " threw a C++ exception. The library breaks the vendor "
                  "contract: the function has to return a dipu_error, as the "
                  "guard of plugin_kit does; report it to the vendor. What was "
                  "thrown: something that is not a std::exception");
  }
  EXPECT_EQ(messageOf(call), "") << slot << ": nothing is left behind";
}

// First: what the runtime asks for once only.
TEST_F(ThrowingVendorTest, SlotsThatAreCalledOnce) {
  expectTold("device.get_properties",
             ofDevice<&dipu_device_api::get_properties>(),
             [] { runtime::deviceProperties(0); });
  expectTold(
      "stream.get_default", ofStream<&dipu_stream_api::get_default>(),
      [] {
        runtime::defaultStream(1);
        runtime::currentStream(1);
      },
      "fake:1");
  expectTold("device.enable_peer_access",
             ofDevice<&dipu_device_api::enable_peer_access>(),
             [] { runtime::enablePeerAccess(0, 1); });
}

TEST_F(ThrowingVendorTest, SlotsOfDevices) {
  expectTold(
      "device.set_current", ofDevice<&dipu_device_api::set_current>(),
      [] { runtime::setDevice(1); }, "fake:1");
  expectTold("device.synchronize", ofDevice<&dipu_device_api::synchronize>(),
             [] { runtime::synchronizeDevice(0); });
  expectTold("device.can_access_peer",
             ofDevice<&dipu_device_api::can_access_peer>(),
             [] { runtime::canAccessPeer(0, 1); });
  const Throwing throwing(ofDevice<&dipu_device_api::get_current>());
  std::string text;
  askOnANewThread(text);
  EXPECT_TRUE(contains(text, "fake: device.get_current threw")) << text;
}

TEST_F(ThrowingVendorTest, SlotsOfMemory) {
  expectTold("memory.allocate", ofMemory<&dipu_memory_api::allocate>(),
             [] { allocator::allocate(kLarge, 0); });
  expectTold("memory.get_info", ofMemory<&dipu_memory_api::get_info>(),
             [] { allocator::deviceAllocator().getMemoryInfo(0); });
  expectTold(
      "memory.host_allocate", ofMemory<&dipu_memory_api::host_allocate>(),
      [] { allocator::hostAllocator().allocate(kLarge); }, "fake");
  char to = 0;
  const char from = 1;
  dipu_stream* const stream = runtime::currentStreamHandle(0);
  expectTold("memory.copy_async", ofMemory<&dipu_memory_api::copy_async>(),
             [&] { runtime::copyAsync(&to, 0, &from, DIPU_HOST, 1, stream); });
  expectTold("memory.set_async", ofMemory<&dipu_memory_api::set_async>(),
             [&] { runtime::memsetAsync(&to, 0, 1, 1, stream); });
}

TEST_F(ThrowingVendorTest, SlotsOfStreams) {
  expectTold("stream.create", ofStream<&dipu_stream_api::create>(),
             [] { runtime::newStream(0, 0); });
  const c10::Stream stream = runtime::currentStream(0);
  expectTold("stream.query", ofStream<&dipu_stream_api::query>(),
             [&] { runtime::queryStream(stream); });
  expectTold("stream.synchronize", ofStream<&dipu_stream_api::synchronize>(),
             [&] { runtime::synchronizeStream(stream); });
}

TEST_F(ThrowingVendorTest, SlotsOfEvents) {
  std::vector<runtime::PooledEvent> held;
  expectTold("event.create", ofEvent<&dipu_event_api::create>(),
             [&] { held.push_back(runtime::acquireEvent(0, true)); });
  runtime::EventRecord& event = *held.front();
  const runtime::StreamRecord& stream = runtime::currentStreamRecord(0);
  expectTold("event.record", ofEvent<&dipu_event_api::record>(),
             [&] { runtime::recordEvent(event, stream); });
  expectTold("stream.wait_event", ofStream<&dipu_stream_api::wait_event>(),
             [&] { runtime::waitEvent(stream, event); });
  expectTold("event.query", ofEvent<&dipu_event_api::query>(),
             [&] { runtime::queryEvent(event); });
  expectTold("event.synchronize", ofEvent<&dipu_event_api::synchronize>(),
             [&] { runtime::synchronizeEvent(event); });
  expectTold("event.elapsed", ofEvent<&dipu_event_api::elapsed>(),
             [&] { runtime::elapsedMs(event, event); });
}

TEST_F(ThrowingVendorTest, TheTextOfAnExceptionIsTold) {
  g_throw = [] { throw std::runtime_error("the card is on fire"); };
  const Throwing throwing(ofDevice<&dipu_device_api::synchronize>());
  const std::string text = messageOf([] { runtime::synchronizeDevice(0); });
  EXPECT_TRUE(contains(text, "What was thrown: the card is on fire")) << text;
}

TEST_F(ThrowingVendorTest, BadAllocIsOutOfMemoryAndTriedAgain) {
  static bool& throws = ofMemory<&dipu_memory_api::allocate>();
  allocator::deviceAllocator().emptyCache({});
  g_throw = [] { throw std::bad_alloc(); };
  {
    const Throwing throwing(throws);
    const std::string text = messageOf<c10::OutOfMemoryError>(
        [] { allocator::allocate(2 * kLarge, 0); });
    EXPECT_TRUE(contains(text, "(fake:0) out of memory")) << text;
    EXPECT_TRUE(contains(text, "What was thrown: std::bad_alloc")) << text;
  }
  allocator::allocate(kLarge, 0).clear();  // stays in the cache
  ASSERT_GE(testing::liveBytes(0), kLarge);
  g_throw = [] {
    throws = testing::liveBytes(0) >= kLarge;
    if (throws) throw std::bad_alloc();
  };
  throws = true;
  EXPECT_NE(allocator::allocate(2 * kLarge, 0).get(), nullptr)
      << "the cache was given back";
}

TEST_F(ThrowingVendorTest, FreeingEndsNoProcess) {
  const Throwing device(ofMemory<&dipu_memory_api::deallocate>());
  const Throwing host(ofMemory<&dipu_memory_api::host_deallocate>());
  allocator::allocate(kLarge, 0).clear();
  allocator::hostAllocator().allocate(kLarge).clear();
  ::testing::internal::CaptureStderr();
  allocator::deviceAllocator().emptyCache({});
  allocator::hostAllocator().empty_cache();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(log, "fake: memory.deallocate threw")) << log;
  EXPECT_TRUE(contains(log, "fake: memory.host_deallocate threw")) << log;
}

TEST_F(ThrowingVendorTest, MemoryThatCannotBeTrackedIsLost) {
  const c10::Stream other = runtime::newStream(0, 0);
  c10::DataPtr data = allocator::allocate(kLarge, 0);
  allocator::recordStream(data.get(), other);
  c10::DataPtr pinned = allocator::hostAllocator().allocate(kLarge);
  ASSERT_TRUE(allocator::hostAllocator().record_event(
      pinned.get(), pinned.get_context(), other));
  const Throwing throwing(ofEvent<&dipu_event_api::record>());
  ::testing::internal::CaptureStderr();
  data.clear();
  pinned.clear();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(log, "bytes of device memory are lost")) << log;
  EXPECT_TRUE(contains(log, "pinned memory is lost")) << log;
}

}  // namespace
}  // namespace dipu
