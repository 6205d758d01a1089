// SPDX-License-Identifier: Apache-2.0
//
// A refusal of the system names the limit that was reached.
#include "softdevice/tests/process_limit.h"

#include <unistd.h>

#include <cstdlib>

#include "softdevice/soft_ipc.h"
#include "softdevice/soft_virtual_memory.h"
#include "softdevice/tests/child_process.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

using ProcessLimitTest = DeviceTest;

// Exports memory with the last file descriptor that it may have.
void exporterRole(const Channel& parent) {
  void* data = nullptr;
  if (soft_malloc(0, 4096, &data) != SOFT_OK) std::abort();
  const int next = dup(STDIN_FILENO);
  close(next);
  const ProcessLimit limit(RLIMIT_NOFILE, next + 1);
  soft_ipc_handle handle{};
  EXPECT_OK(soft_ipc_export_memory(data, &handle));
  parent.send(handle);
  parent.receive<int>();
}

TEST_F(ProcessLimitTest, AnExportBeyondTheLengthOfFiles) {
  char* memory = makeArray<char>(0, std::size_t{8} << 20);
  soft_ipc_handle handle{};
  {
    const ProcessLimit limit(RLIMIT_FSIZE, 4096);
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_ipc_export_memory(memory, &handle));
  }
  EXPECT_TRUE(lastMessageHas("RLIMIT_FSIZE")) << soft_last_message();
  EXPECT_OK(soft_ipc_export_memory(memory, &handle));
}

TEST_F(ProcessLimitTest, AnExportWithoutFileDescriptors) {
  char* memory = makeArray<char>(0, 4096);
  soft_ipc_handle handle{};
  {
    const ProcessLimit limit(RLIMIT_NOFILE, 0);
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_ipc_export_memory(memory, &handle));
  }
  EXPECT_TRUE(lastMessageHas("RLIMIT_NOFILE")) << soft_last_message();
  EXPECT_OK(soft_ipc_export_memory(memory, &handle));
}

TEST_F(ProcessLimitTest, OpeningWithoutFileDescriptors) {
  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  void* data = nullptr;
  {
    const ProcessLimit limit(RLIMIT_NOFILE, 0);
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_ipc_open_memory(0, &handle, &data));
    EXPECT_TRUE(lastMessageHas("RLIMIT_NOFILE")) << soft_last_message();
  }
  EXPECT_OK(soft_ipc_open_memory(0, &handle, &data))
      << "made with the last descriptor, the handle is as good as any";
  EXPECT_OK(soft_ipc_close_memory(data));
  child.kill();
  const ProcessLimit limit(RLIMIT_NOFILE, 0);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &data));
  EXPECT_TRUE(lastMessageHas("has ended")) << soft_last_message();
}

TEST_F(ProcessLimitTest, SharedEventsWithoutFileDescriptors) {
  constexpr uint32_t kFlags =
      SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING;
  soft_event* event = nullptr;
  {
    const ProcessLimit limit(RLIMIT_NOFILE, 0);
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_event_create(0, kFlags, &event));
  }
  EXPECT_TRUE(lastMessageHas("RLIMIT_NOFILE")) << soft_last_message();
  EXPECT_EQ(event, nullptr);
  EXPECT_OK(soft_event_create(0, kFlags, &event));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(ProcessLimitTest, VirtualMemoryWithoutFileDescriptors) {
  std::size_t bytes = 0;
  ASSERT_OK(soft_vm_granularity(&bytes));
  soft_vm_memory memory = 0;
  {
    const ProcessLimit limit(RLIMIT_NOFILE, 0);
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_vm_create(0, bytes, &memory));
  }
  EXPECT_TRUE(lastMessageHas("RLIMIT_NOFILE")) << soft_last_message();
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(free_bytes, total) << "a refusal takes nothing";
}

}  // namespace
}  // namespace dipu::softdevice

int main(int argc, char** argv) {
  dipu::softdevice::runChildRole(
      argc, argv, {{"exporter", dipu::softdevice::exporterRole}});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
