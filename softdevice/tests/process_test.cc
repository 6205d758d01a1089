// SPDX-License-Identifier: Apache-2.0
//
// Settings that a process begins with.
#include "softdevice/tests/device_test.h"
#include "softdevice/tests/forked_child.h"

namespace dipu::softdevice {
namespace {

TEST(ProcessTest, WrongSettingsAreExplained) {
  EXPECT_EQ(runInChild([] {
              setenv("SOFTDEVICE_COUNT", "three", 1);
              int32_t count = 0;
              CHILD_EXPECT(soft_device_count(&count) == SOFT_INVALID_VALUE);
              CHILD_EXPECT(std::strstr(soft_last_message(), "'three'"));
              void* ptr = nullptr;
              CHILD_EXPECT(soft_malloc(0, 1, &ptr) == SOFT_INVALID_VALUE);
            }),
            0);
}

TEST(ProcessTest, AProcessMayHaveNoDevice) {
  EXPECT_EQ(runInChild([] {
              setenv("SOFTDEVICE_COUNT", "0", 1);
              int32_t count = -1;
              CHILD_EXPECT(soft_device_count(&count) == SOFT_OK && count == 0);
              void* ptr = nullptr;
              CHILD_EXPECT(soft_malloc(0, 1, &ptr) == SOFT_INVALID_DEVICE);
            }),
            0);
}

}  // namespace
}  // namespace dipu::softdevice
