// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/device.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <thread>

#include "core/runtime/error.h"
#include "tests/unit/core/testing.h"

namespace dipu::runtime {
namespace {

using testing::contains;
using testing::messageOf;

using DeviceTest = testing::FakeVendorTest;

const c10::Device kFirst(kDeviceType, 0);
const c10::Device kSecond(kDeviceType, 1);

// Runs first: the later tests use both devices.
TEST(CountTest, CreatesNoContext) {
  adoptVendor(testing::fakeVendor(), "fake");
  EXPECT_EQ(deviceCount(), testing::kFakeDevices);
  EXPECT_TRUE(at::detail::getPrivateUse1Hooks().isAvailable());
  EXPECT_FALSE(hasContext(0));
  EXPECT_FALSE(at::detail::getPrivateUse1Hooks().hasPrimaryContext(1));
  setDevice(1);
  EXPECT_TRUE(hasContext(1));
  EXPECT_FALSE(hasContext(0));
}

TEST_F(DeviceTest, SetsTheSdksDeviceOnlyWhenItChanges) {
  const int before = testing::calls().set_current;
  setDevice(1);
  setDevice(1);
  EXPECT_EQ(currentDevice(), 1);
  EXPECT_EQ(testing::sdkDevice(), 1);
  EXPECT_EQ(testing::calls().set_current, before + 1);
  EXPECT_EQ(exchangeDevice(0), 1);
  EXPECT_EQ(testing::sdkDevice(), 0);
}

TEST_F(DeviceTest, RefusesAnInvalidIndex) {
  EXPECT_EQ(messageOf([] { setDevice(5); }),
            "invalid device index 5: dipu has 2 devices");
  EXPECT_EQ(messageOf([] { setDevice(-1); }),
            "invalid device index -1: dipu has 2 devices");
  EXPECT_EQ(messageOf([] { c10::DeviceGuard guard({kDeviceType, 7}); }),
            "invalid device index 7: dipu has 2 devices");
  EXPECT_EQ(currentDevice(), 0);
}

TEST_F(DeviceTest, EachThreadHasItsOwn) {
  setDevice(1);
  c10::DeviceIndex other = -1;
  std::thread([&] { other = currentDevice(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(currentDevice(), 1);
}

TEST_F(DeviceTest, ScopeRestores) {
  {
    const DeviceScope same(0);
    const DeviceScope scope(1);
    EXPECT_EQ(testing::sdkDevice(), 1);
  }
  EXPECT_EQ(currentDevice(), 0);
  EXPECT_EQ(testing::sdkDevice(), 0);
}

TEST_F(DeviceTest, GuardSwitchesAndRestores) {
  {
    const c10::DeviceGuard guard(kSecond);
    EXPECT_EQ(guard.original_device(), kFirst);
    EXPECT_EQ(testing::sdkDevice(), 1);
  }
  EXPECT_EQ(testing::sdkDevice(), 0);
}

TEST_F(DeviceTest, GuardTakesMinusOneAsCurrent) {
  setDevice(1);
  {
    const c10::DeviceGuard guard{c10::Device(kDeviceType)};
    EXPECT_EQ(currentDevice(), 1);
  }
  EXPECT_EQ(currentDevice(), 1);
}

TEST_F(DeviceTest, HooksExchangeDevices) {
  const auto& hooks = at::detail::getPrivateUse1Hooks();
  EXPECT_EQ(hooks.exchangeDevice(1), 0);
  EXPECT_EQ(hooks.maybeExchangeDevice(-1), -1);
  EXPECT_EQ(hooks.getCurrentDevice(), 1);
  EXPECT_EQ(hooks.maybeExchangeDevice(0), 1);
  EXPECT_EQ(hooks.getCurrentDevice(), 0);
}

TEST_F(DeviceTest, CapabilityListsTheSupportedTypes) {
  const c10::impl::VirtualGuardImpl guard(kDeviceType);
  int count = 0;
  const c10::DeviceCapability capability = guard.getDeviceCapability(kFirst);
  capability.forEachSupportedScalarType([&](c10::ScalarType type) {
    ++count;
    EXPECT_TRUE(type == c10::ScalarType::Float || type == c10::ScalarType::Long)
        << type;
  });
  EXPECT_EQ(count, 2);
}

TEST_F(DeviceTest, PropertiesComeFromTheVendor) {
  EXPECT_STREQ(deviceProperties(1).name, "Fake 1");
  EXPECT_EQ(deviceProperties(1).major, 1);
}

TEST_F(DeviceTest, SynchronizeReportsFailedWork) {
  testing::failEnqueuedWork("kernel add: illegal address");
  const std::string text =
      messageOf<c10::AcceleratorError>([] { synchronizeDevice(1); });
  EXPECT_TRUE(contains(text, "fake:1: kernel add: illegal address")) << text;
  EXPECT_TRUE(contains(text, "700")) << text;
  EXPECT_NO_THROW(synchronizeDevice(1));
}

// A failure as a vendor would return it.
dipu_error* failure(dipu_status_code code) {
  static dipu_error error{sizeof(dipu_error), DIPU_OK,           0, 0,
                          "it failed",        [](dipu_error*) {}};
  error.code = code;
  return &error;
}

TEST(ErrorTest, CodesBecomeExceptionTypes) {
  EXPECT_NO_THROW(check(nullptr));
  EXPECT_THROW(check(failure(DIPU_RESOURCE_EXHAUSTED)), c10::OutOfMemoryError);
  EXPECT_THROW(check(failure(DIPU_UNIMPLEMENTED)), c10::NotImplementedError);
  EXPECT_THROW(check(failure(DIPU_INVALID_ARGUMENT)), c10::ValueError);
  EXPECT_THROW(check(failure(DIPU_OUT_OF_RANGE)), c10::IndexError);
  EXPECT_THROW(check(failure(DIPU_UNAVAILABLE)), c10::AcceleratorError);
  EXPECT_THROW(check(failure(DIPU_NOT_FOUND)), c10::Error);
  EXPECT_TRUE(succeeded(nullptr, "nothing"));
  EXPECT_FALSE(succeeded(failure(DIPU_UNKNOWN), "something"));
}

TEST(ErrorTest, ABrokenDeviceSaysHowToGoOn) {
  const char* advice = "only a new process can use the device";
  EXPECT_TRUE(contains(messageOf<c10::AcceleratorError>(
                           [] { check(failure(DIPU_INTERNAL), 0); }),
                       advice));
  EXPECT_FALSE(contains(messageOf<c10::AcceleratorError>(
                            [] { check(failure(DIPU_UNAVAILABLE), 0); }),
                        advice));
}

}  // namespace
}  // namespace dipu::runtime
