// SPDX-License-Identifier: Apache-2.0
//
// A vendor that starts and then breaks the contract: it throws, says nothing,
// or says what is no text. The process goes on and the user is told.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/explainer.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

bool g_throws = false;
std::string g_start_text;
// What both allocate give, if anything.
std::optional<void*> g_pointer;
void* g_freed = nullptr;

dipu_error g_error = {sizeof(g_error), DIPU_INTERNAL,     0, 0,
                      nullptr,         [](dipu_error*) {}};

// Calls back into the host, as a vendor must not.
dipu_error* initialize(const dipu_host_services* host) {
  host->log(DIPU_LOG_WARNING, nullptr);
  host->log(std::numeric_limits<int32_t>::max(), "\xff");
  EXPECT_FALSE(runtime::tryInitialize());
  EXPECT_EQ(runtime::deviceCount(), 0);
  g_start_text = messageOf([] { runtime::setDevice(0); });
  return nullptr;
}

dipu_error* setCurrent(int32_t device) {
  if (g_throws) throw std::runtime_error("no such mood");
  return testing::fakeVendor()->device->set_current(device);
}

dipu_error* synchronize(int32_t) {
  if (g_throws) throw std::runtime_error("out of patience");
  return &g_error;
}

dipu_error* getPointerInfo(const void*, dipu_pointer_info*) { throw 7; }

dipu_error* allocate(int32_t device, size_t bytes, void** out_ptr) {
  if (!g_pointer) {
    return testing::fakeVendor()->memory->allocate(device, bytes, out_ptr);
  }
  *out_ptr = *g_pointer;
  return nullptr;
}

void deallocate(int32_t device, void* ptr) {
  g_freed = ptr;
  if (!g_pointer) testing::fakeVendor()->memory->deallocate(device, ptr);
}

dipu_error* hostAllocate(size_t bytes, void** out_ptr) {
  if (!g_pointer) {
    return testing::fakeVendor()->memory->host_allocate(bytes, out_ptr);
  }
  *out_ptr = *g_pointer;
  return nullptr;
}

void shutDown() {
  if (g_throws) throw 7;
}

dipu_error* getProperties(int32_t, dipu_device_properties* properties) {
  std::fill(std::begin(properties->name), std::end(properties->name), '\xff');
  return nullptr;
}

const dipu_vendor* badVendor() {
  static dipu_device_api device = *testing::fakeVendor()->device;
  static dipu_memory_api memory = *testing::fakeVendor()->memory;
  static dipu_vendor vendor = *testing::fakeVendor();
  device.set_current = setCurrent;
  device.synchronize = synchronize;
  device.get_properties = getProperties;
  memory.allocate = allocate;
  memory.deallocate = deallocate;
  memory.host_allocate = hostAllocate;
  memory.get_pointer_info = getPointerInfo;
  vendor.initialize = initialize;
  vendor.device = &device;
  vendor.memory = &memory;
  vendor.shutdown = shutDown;
  return &vendor;
}

class BadVendorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { runtime::adoptVendor(badVendor(), "bad"); }
  void SetUp() override {
    g_throws = false;
    g_pointer.reset();
    runtime::setDevice(0);
    g_error.message = nullptr;
    g_error.code = DIPU_INTERNAL;
  }
};

TEST_F(BadVendorTest, MayNotAskForDevicesWhileItStarts) {
  EXPECT_TRUE(contains(g_start_text, "while it was being started"))
      << g_start_text;
  EXPECT_EQ(runtime::deviceCount(), testing::kFakeDevices);
}

// Of DIPU_INTERNAL, which every error of these tests has.
constexpr char kAdvice[] =
    "; if later calls fail too, only a new process can use the device. An "
    "operator called earlier may be the cause: set DIPU_LAUNCH_BLOCKING=1 to "
    "wait for each one and learn which";

TEST_F(BadVendorTest, AnErrorMayHaveNoText) {
  EXPECT_EQ(messageOf([] { runtime::synchronizeDevice(0); }),
            std::string("fake:0: the vendor gave no text (code 13, vendor code "
                        "0). Report it to the vendor") +
                kAdvice);
}

TEST_F(BadVendorTest, AnErrorMayBeNoText) {
  g_error.message = "bad \xc3( bytes";
  EXPECT_EQ(messageOf([] { runtime::synchronizeDevice(0); }),
            std::string("fake:0: bad \\xc3( bytes") + kAdvice);
}

TEST_F(BadVendorTest, AnExplainerIsAskedForTheCause) {
  g_error.message = "broken";
  runtime::setExplainer([](int32_t device, const std::string& message) {
    return " (" + std::to_string(device) + ", " + message + ")";
  });
  const std::string text = messageOf([] { runtime::synchronizeDevice(0); });
  runtime::setExplainer(nullptr);
  EXPECT_EQ(text,
            "fake:0: broken; if later calls fail too, only a new process can "
            "use the device (0, fake:0: broken)");
}

TEST_F(BadVendorTest, AnUnknownCodeIsAFailure) {
  g_error.code = 99;
  EXPECT_EQ(
      messageOf<c10::AcceleratorError>([] { runtime::synchronizeDevice(0); }),
      "fake:0: the vendor gave no text (code 2, vendor code 0). Report it to "
      "the vendor");
}

constexpr std::size_t kLarge = std::size_t{64} << 20;

TEST_F(BadVendorTest, SuccessWithoutMemoryIsOutOfMemory) {
  g_pointer = nullptr;
  std::string text =
      messageOf<c10::OutOfMemoryError>([] { allocator::allocate(kLarge, 0); });
  EXPECT_TRUE(contains(text, "(memory.allocate gave NULL and no error, "))
      << text;
  text = messageOf<c10::OutOfMemoryError>(
      [] { allocator::hostAllocator().allocate(kLarge); });
  EXPECT_EQ(text,
            "fake: no pinned memory: memory.host_allocate gave NULL for "
            "67108864 bytes and no error. The library breaks the vendor "
            "contract; report it to the vendor");
}

TEST_F(BadVendorTest, MisalignedMemoryIsRefused) {
  alignas(256) static char memory[512];
  g_pointer = memory + 128;
  const std::string text = messageOf([] { allocator::allocate(kLarge, 0); });
  EXPECT_EQ(text,
            c10::str("fake:0: memory.allocate gave ", *g_pointer,
                     " for 67108864 bytes, which is not aligned to 256 bytes. "
                     "The library breaks the vendor contract; report it to the "
                     "vendor"));
  EXPECT_EQ(g_freed, memory + 128) << "given back";
}

TEST_F(BadVendorTest, ExceptionsEndNoPlaceThatMustNotThrow) {
  {
    const runtime::DeviceScope scope(1);
    g_throws = true;
  }
  EXPECT_EQ(runtime::currentDevice(), 1) << "the vendor did not go back";
  int local = 0;
  EXPECT_FALSE(allocator::isPinned(&local));
}

TEST_F(BadVendorTest, NamesAreMadeText) {
  const std::string name = runtime::deviceProperties(0).name;
  EXPECT_EQ(name, std::string(sizeof(dipu_device_properties::name) - 1, '?'));
}

// Runs last: it ends the use of devices.
TEST_F(BadVendorTest, ShutdownSurvivesExceptions) {
  g_throws = true;
  ::testing::internal::CaptureStderr();
  runtime::shutdown(std::chrono::minutes(1));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(runtime::isInitialized());
  EXPECT_TRUE(
      contains(log, "the vendor's shutdown failed: fake: shutdown threw"))
      << log;
}

}  // namespace
}  // namespace dipu
