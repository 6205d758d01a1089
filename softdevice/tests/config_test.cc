// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/config.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "softdevice/base/machine.h"

namespace dipu::softdevice {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  static constexpr const char* kNames[] = {
      "SOFTDEVICE_COUNT",         "SOFTDEVICE_MEMORY", "SOFTDEVICE_SPIN_US",
      "LOCAL_WORLD_SIZE",         "OMP_NUM_THREADS",   "SOFTDEVICE_FAULTS",
      "SOFTDEVICE_SCHEDULE_SEED", "SOFTDEVICE_TRACE",  "SOFTDEVICE_COUNTERS"};
  void SetUp() override {
    for (const char* name : kNames) unsetenv(name);
  }
  static Config read(const char* name, const char* value) {
    setenv(name, value, 1);
    return readConfig();
  }
};

TEST_F(ConfigTest, Defaults) {
  const Config config = readConfig();
  EXPECT_EQ(config.error, "");
  EXPECT_EQ(config.device_count, 2);
  EXPECT_EQ(config.team_threads, machineCores());
  EXPECT_NEAR(static_cast<double>(config.device_memory),
              static_cast<double>(machineMemory() / 4), 1024.0);
}

TEST_F(ConfigTest, MemoryIsSharedByDevicesAndRanks) {
  const std::size_t two = readConfig().device_memory;
  const std::size_t one = read("SOFTDEVICE_COUNT", "1").device_memory;
  EXPECT_NEAR(static_cast<double>(one), 2.0 * static_cast<double>(two), 4096);
  const std::size_t ranks = read("LOCAL_WORLD_SIZE", "4").device_memory;
  EXPECT_NEAR(static_cast<double>(ranks), static_cast<double>(one) / 4, 4096);
}

TEST_F(ConfigTest, MemoryTakesSuffixes) {
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "1048576").device_memory, 1u << 20);
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "64K").device_memory, 64u << 10);
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "3m").device_memory, 3u << 20);
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "2G").device_memory, 2ull << 30);
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "1000").device_memory, 512u);
}

TEST_F(ConfigTest, UnknownNamesAreErrors) {
  const std::string error = read("SOFTDEVICE_FAULT", "launch=1").error;
  unsetenv("SOFTDEVICE_FAULT");
  EXPECT_EQ(error,
            "SOFTDEVICE_FAULT is set, but there is no such setting. Unset it, "
            "or use one of SOFTDEVICE_COUNT SOFTDEVICE_COUNTERS "
            "SOFTDEVICE_FAULTS SOFTDEVICE_MEMORY SOFTDEVICE_SCHEDULE_SEED "
            "SOFTDEVICE_SPIN_US SOFTDEVICE_TRACE");
  EXPECT_EQ(read("SOFTDEVICES", "1").error, "");
  for (const char* name : kNames) setenv(name, "", 1);
  EXPECT_EQ(readConfig().error, "") << "known, and empty";
}

TEST_F(ConfigTest, WrongValuesAreNamed) {
  for (const char* value : {"x", "-1", "17", "2x", "1.5"}) {
    const Config config = read("SOFTDEVICE_COUNT", value);
    EXPECT_NE(config.error.find("SOFTDEVICE_COUNT='" + std::string(value)),
              std::string::npos)
        << config.error;
  }
  unsetenv("SOFTDEVICE_COUNT");
  for (const char* value : {"many", "4T", "4GB", "99999999999999999999"}) {
    EXPECT_NE(read("SOFTDEVICE_MEMORY", value).error, "") << value;
  }
  EXPECT_EQ(read("SOFTDEVICE_MEMORY", "").error, "");
  EXPECT_NE(read("LOCAL_WORLD_SIZE", "0").error, "");
}

TEST_F(ConfigTest, DebuggingIsOffUnlessAskedFor) {
  Config config = readConfig();
  EXPECT_TRUE(config.faults.empty());
  EXPECT_FALSE(config.has_schedule);
  EXPECT_EQ(config.trace_entries, 0u);
  EXPECT_FALSE(config.counters);
  config = read("SOFTDEVICE_SCHEDULE_SEED", "0");
  EXPECT_TRUE(config.has_schedule);
  EXPECT_EQ(config.schedule_seed, 0u);
  EXPECT_EQ(read("SOFTDEVICE_TRACE", "1000").trace_entries, 1000u);
  EXPECT_TRUE(read("SOFTDEVICE_COUNTERS", "1").counters);
  EXPECT_EQ(readConfig().error, "");
  EXPECT_NE(read("SOFTDEVICE_COUNTERS", "2").error, "");
}

TEST_F(ConfigTest, FaultsAreRules) {
  const Config config =
      read("SOFTDEVICE_FAULTS",
           "oom_bytes=64M,launch=100,device=1;slow_us=50,stream=17,kernel=add");
  EXPECT_EQ(config.error, "");
  ASSERT_EQ(config.faults.size(), 3u);
  EXPECT_EQ(config.faults[0].text(), "oom_bytes=67108864");
  EXPECT_EQ(config.faults[0].device, 1);
  EXPECT_EQ(config.faults[1].text(), "launch=100");
  EXPECT_EQ(config.faults[1].device, 1);
  EXPECT_EQ(config.faults[2].device, FaultRule::kAnyDevice);
  EXPECT_EQ(config.faults[2].stream, 17);
  EXPECT_EQ(config.faults[2].kernel, "add");
  EXPECT_EQ(read("SOFTDEVICE_FAULTS", "launch=never").error,
            "SOFTDEVICE_FAULTS='launch=never': launch takes a whole number "
            "from 1 on");
  EXPECT_EQ(read("SOFTDEVICE_FAULTS", "launch=1,device=2").error,
            "SOFTDEVICE_FAULTS='launch=1,device=2': it names a device that "
            "this process does not have; it has 2 (SOFTDEVICE_COUNT)");
}

TEST_F(ConfigTest, TeamHonoursOpenMp) {
  EXPECT_EQ(read("OMP_NUM_THREADS", "3").team_threads, 3);
  EXPECT_EQ(read("OMP_NUM_THREADS", "5,2").team_threads, 5);
  EXPECT_EQ(read("OMP_NUM_THREADS", "lots").team_threads, machineCores());
}

TEST_F(ConfigTest, ReadsMeminfo) {
  const std::string text = "MemTotal:  100 kB\nXMemFree: 3 kB\nMemFree: 7 kB\n";
  EXPECT_EQ(meminfoField(text, "MemTotal"), 102400u);
  EXPECT_EQ(meminfoField(text, "MemFree"), 7168u);
  EXPECT_EQ(meminfoField(text, "Swap"), 0u);
  EXPECT_GT(availableMemory(), 0u);
  EXPECT_GE(machineMemory(), availableMemory());
}

}  // namespace
}  // namespace dipu::softdevice
