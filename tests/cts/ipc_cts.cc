// SPDX-License-Identifier: Apache-2.0
//
// dipu_ipc_api. The second process is this program again, with one test chosen
// and a handle in its environment.
#include <spawn.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cts/fixture.h"

extern char** environ;

namespace dipu::cts {
namespace {

constexpr const char* kHandleVariable = "DIPU_CTS_IPC_HANDLE";
constexpr size_t kBytes = 100000;

const dipu_ipc_api& ipcApi() { return *vendor().ipc; }

class Ipc : public VendorTest {
 protected:
  void SetUp() override {
    VendorTest::SetUp();
    if (IsSkipped()) return;
    if (vendor().ipc == nullptr) GTEST_SKIP() << "the vendor has no IPC table";
  }
};

std::string toHex(const std::vector<uint8_t>& bytes) {
  std::string text;
  char digits[3];
  for (const uint8_t byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

std::vector<uint8_t> fromHex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(
        std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

std::vector<uint8_t> exportBuffer(const DeviceBuffer& buffer) {
  std::vector<uint8_t> handle(ipcApi().memory_handle_size);
  EXPECT_TRUE(succeeded(
      ipcApi().export_memory(buffer.device(), buffer.get(), handle.data())));
  return handle;
}

void write(void* ptr, int32_t device, const std::vector<uint8_t>& values) {
  ASSERT_TRUE(succeeded(
      memoryApi().copy(ptr, device, values.data(), DIPU_HOST, values.size())));
}

// Runs the test `name` of this program in a new process and gives its exit
// status.
int runInChild(const std::string& name, const std::vector<uint8_t>& handle) {
  const std::string filter = "--gtest_filter=" + name;
  const std::string variable =
      std::string(kHandleVariable) + "=" + toHex(handle);
  const std::vector<const char*> arguments = {
      "cts", filter.c_str(), "--gtest_also_run_disabled_tests", nullptr};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    // The child must not write where this process reports to.
    if (std::strncmp(*entry, "XML_OUTPUT_FILE=", 16) == 0) continue;
    if (std::strncmp(*entry, "GTEST_", 6) == 0) continue;
    environment.push_back(*entry);
  }
  environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                  const_cast<char* const*>(arguments.data()),
                  environment.data()) != 0) {
    return -1;
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// The part of the second process.
TEST_F(Ipc, DISABLED_Child) {
  const char* text = std::getenv(kHandleVariable);
  ASSERT_NE(text, nullptr);
  const std::vector<uint8_t> handle = fromHex(text);
  void* ptr = nullptr;
  ASSERT_TRUE(succeeded(ipcApi().open_memory(0, handle.data(), &ptr)));
  EXPECT_EQ(readBack(ptr, 0, kBytes), pattern(kBytes, 3));
  write(ptr, 0, pattern(kBytes, 4));
  ipcApi().close_memory(0, ptr);
}

// No process can open it: its exporter has freed it.
TEST_F(Ipc, DISABLED_ChildWithAStaleHandle) {
  const std::vector<uint8_t> handle = fromHex(std::getenv(kHandleVariable));
  void* ptr = nullptr;
  const ErrorPtr error(ipcApi().open_memory(0, handle.data(), &ptr));
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(ptr, nullptr) << "outputs are untouched on error";
}

TEST_F(Ipc, MemoryIsTheSameInBothProcesses) {
  const DeviceBuffer buffer(0, kBytes);
  write(buffer.get(), 0, pattern(kBytes, 3));
  EXPECT_EQ(runInChild("Ipc.DISABLED_Child", exportBuffer(buffer)), 0);
  EXPECT_EQ(readBack(buffer.get(), 0, kBytes), pattern(kBytes, 4));
}

TEST_F(Ipc, AnExportKeepsContentsAndPendingWork) {
  const DeviceBuffer buffer(0, kBytes);
  const Stream stream(0);
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 0x5a, kBytes, stream.get())));
  exportBuffer(buffer);
  stream.synchronize();
  EXPECT_EQ(readBack(buffer.get(), 0, kBytes),
            std::vector<uint8_t>(kBytes, 0x5a));
}

TEST_F(Ipc, AHandleEndsWithItsMemory) {
  std::vector<uint8_t> handle;
  {
    const DeviceBuffer buffer(0, kBytes);
    handle = exportBuffer(buffer);
  }
  EXPECT_EQ(runInChild("Ipc.DISABLED_ChildWithAStaleHandle", handle), 0);
}

TEST_F(Ipc, OnlyDeviceMemoryIsExported) {
  std::vector<uint8_t> handle(ipcApi().memory_handle_size, 0x11);
  const std::vector<uint8_t> before = handle;
  std::vector<uint8_t> host(kBytes);
  EXPECT_TRUE(failedWith(ipcApi().export_memory(0, host.data(), handle.data()),
                         DIPU_INVALID_ARGUMENT));
  EXPECT_EQ(handle, before) << "outputs are untouched on error";
}

TEST_F(Ipc, GarbageIsNoHandle) {
  const std::vector<uint8_t> garbage(ipcApi().memory_handle_size, 0xa5);
  void* ptr = nullptr;
  const ErrorPtr error(ipcApi().open_memory(0, garbage.data(), &ptr));
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(ptr, nullptr);
  ipcApi().close_memory(0, nullptr);
}

}  // namespace
}  // namespace dipu::cts
