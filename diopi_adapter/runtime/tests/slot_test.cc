// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/slot.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace dipu::adapter {
namespace {

int64_t wrapper(int64_t value) { return value + 1; }
int64_t onCpu(int64_t value) { return -value; }
int64_t replacement(int64_t value) { return value * 100; }

constinit Slot<int64_t(int64_t)> slot("slot_test.overload", wrapper);

constinit Slot<int64_t(int64_t)> slot_with_cpu("slot_test.cpu", wrapper, onCpu);

using Any = SlotBase::AnyFunction;
const auto kReplacement = reinterpret_cast<Any>(replacement);

TEST(SlotTest, TrampolineCallsTheWrapper) {
  EXPECT_EQ(Trampoline<slot>::call(2), 3);
}

TEST(SlotTest, ExchangeRedirectsCallsUntilItIsUndone) {
  const Any before = slot.exchange(kReplacement);
  EXPECT_EQ(before, slot.wrapper());
  EXPECT_EQ(slot.current(), kReplacement);
  EXPECT_EQ(Trampoline<slot>::call(2), 200);
  EXPECT_EQ(slot.exchange(before), kReplacement);
  EXPECT_EQ(Trampoline<slot>::call(2), 3);
}

TEST(SlotTest, CountsOnlyWhileCountingIsOn) {
  const fallback::Counter& counter =
      fallback::counter("native.slot_test.overload");
  slot.countNative();
  EXPECT_EQ(counter.value(), 0u);
  fallback::setCountingNative(true);
  slot.countNative();
  slot.countNative();
  fallback::setCountingNative(false);
  slot.countNative();
  EXPECT_EQ(counter.value(), 2u);
}

TEST(SlotTest, RefusedCallsGoToTheFunctionOfTheCpu) {
  EXPECT_FALSE(slot.hasCpuFunction());
  EXPECT_TRUE(slot_with_cpu.hasCpuFunction());
  EXPECT_EQ(Trampoline<slot_with_cpu>::call(2), 3);
  EXPECT_EQ(slot_with_cpu.fallBack(2), -2);
}

TEST(SlotTest, FindsRegisteredSlotsByName) {
  EXPECT_EQ(findSlot("slot_test.overload"), nullptr);
  detail::addSlot(slot);
  EXPECT_EQ(findSlot("slot_test.overload"), &slot);
  EXPECT_EQ(findSlot("slot_test"), nullptr);
}

}  // namespace
}  // namespace dipu::adapter
