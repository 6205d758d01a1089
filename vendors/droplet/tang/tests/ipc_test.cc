// SPDX-License-Identifier: Apache-2.0
//
// Memory of another process.
#include <gtest/gtest.h>

#include <cstdlib>

#include "softdevice/tests/child_process.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace {

using dipu::softdevice::Channel;
using dipu::softdevice::ChildProcess;

constexpr size_t kBytes = size_t{1} << 20;

void exporterRole(const Channel& parent) {
  void* data = nullptr;
  tangIpcMemHandle_t handle{};
  if (tangMalloc(&data, kBytes) != tangSuccess ||
      tangIpcGetMemHandle(&handle, data) != tangSuccess) {
    std::abort();
  }
  parent.send(handle);
  parent.receive<int>();
}

// The address belongs to this process again.
TEST(IpcTest, AResetClosesWhatWasOpened) {
  const ChildProcess child("exporter");
  const auto handle = child.receive<tangIpcMemHandle_t>();
  void* opened = nullptr;
  ASSERT_EQ(tangIpcOpenMemHandle(&opened, handle, 0), tangSuccess);
  EXPECT_EQ(tangFreeAsync(opened, nullptr), tangErrorInvalidDevicePointer);
  ASSERT_EQ(tangDeviceReset(), tangSuccess);
  EXPECT_EQ(tangIpcCloseMemHandle(opened), tangErrorInvalidDevicePointer);
  void* own = nullptr;
  ASSERT_EQ(tangMalloc(&own, kBytes), tangSuccess);
  ASSERT_EQ(own, opened);
  EXPECT_EQ(tangFreeAsync(own, nullptr), tangSuccess)
      << tangGetErrorString(tangPeekAtLastError());
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
  dipu::softdevice::runChildRole(argc, argv, {{"exporter", exporterRole}});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
