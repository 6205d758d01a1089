// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "softdevice/base/machine.h"
#include "softdevice/base/parse.h"

namespace dipu::softdevice {
namespace {

void complain(Config* config, const char* name, const char* value,
              const char* expected) {
  if (!config->error.empty()) return;
  config->error = std::string(name) + "='" + value + "': expected " + expected;
}

// Sets *value from the variable if it is set; false values are complained of.
void readCount(const char* name, uint64_t least, uint64_t most,
               const char* expected, Config* config, uint64_t* value) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  uint64_t number = 0;
  const char* rest = nullptr;
  if (!parseNumber(text, &number, &rest) || *rest != '\0' || number < least ||
      number > most) {
    complain(config, name, text, expected);
    return;
  }
  *value = number;
}

// What debugging is wanted from the start, see soft_debug.h.
void readDebugging(Config* config) {
  const char* faults = std::getenv("SOFTDEVICE_FAULTS");
  if (faults != nullptr && *faults != '\0') {
    std::string problem = parseFaults(faults, &config->faults);
    if (namesMissingDevice(config->faults, config->device_count)) {
      problem = "it names a device that this process does not have; it has " +
                std::to_string(config->device_count) + " (SOFTDEVICE_COUNT)";
    }
    if (!problem.empty() && config->error.empty()) {
      config->error =
          std::string("SOFTDEVICE_FAULTS='") + faults + "': " + problem;
    }
  }
  constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
  uint64_t seed = kNone;
  readCount("SOFTDEVICE_SCHEDULE_SEED", 0, kNone - 1,
            "a whole number that seeds the order of tasks", config, &seed);
  config->has_schedule = seed != kNone;
  config->schedule_seed = seed;
  uint64_t entries = 0;
  readCount("SOFTDEVICE_TRACE", 0, kMaxTraceEntries,
            "the number of entries to keep, up to 1048576", config, &entries);
  config->trace_entries = entries;
  uint64_t counters = 0;
  readCount("SOFTDEVICE_COUNTERS", 0, 1, "0 or 1", config, &counters);
  config->counters = counters == 1;
}

// A misspelt name would be a setting, or a fault, that silently is not there.
void checkNames(Config* config) {
  constexpr std::string_view kPrefix = "SOFTDEVICE_";
  constexpr std::array<std::string_view, 7> kNames = {
      "COUNT",         "COUNTERS", "FAULTS", "MEMORY",
      "SCHEDULE_SEED", "SPIN_US",  "TRACE"};
  for (char* const* entry = environ; entry != nullptr && *entry; ++entry) {
    std::string_view name(*entry);
    name = name.substr(0, name.find('='));
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    name.remove_prefix(kPrefix.size());
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) continue;
    if (!config->error.empty()) return;
    config->error = std::string(kPrefix).append(name) +
                    " is set, but there is no such setting. Unset it, or use "
                    "one of";
    for (const std::string_view known : kNames) {
      config->error.append(" ").append(kPrefix).append(known);
    }
  }
}

// OMP_NUM_THREADS may be a list, one number per nesting level. What OpenMP
// cannot read it ignores, and so does this library.
int32_t teamThreads(int32_t cores) {
  const char* text = std::getenv("OMP_NUM_THREADS");
  uint64_t number = 0;
  const char* rest = nullptr;
  if (text == nullptr || !parseNumber(text, &number, &rest) || number == 0) {
    return cores;
  }
  return static_cast<int32_t>(std::min<uint64_t>(number, 1024));
}

std::size_t defaultMemory(int32_t devices, uint64_t ranks) {
  return machineMemory() / 2 / std::max<uint64_t>(1, devices) / ranks;
}

}  // namespace

Config readConfig() {
  Config config;
  config.cores = machineCores();
  config.team_threads = teamThreads(config.cores);
  uint64_t count = 2;
  readCount("SOFTDEVICE_COUNT", 0, kMaxDevices, "a whole number from 0 to 16",
            &config, &count);
  config.device_count = static_cast<int32_t>(count);
  // With one core a spinning worker only keeps others from working.
  uint64_t spin = config.cores > 1 ? 200 : 0;
  readCount("SOFTDEVICE_SPIN_US", 0, 1000000,
            "microseconds, a whole number up to 1000000", &config, &spin);
  config.spin_us = static_cast<int64_t>(spin);
  uint64_t ranks = 1;
  readCount("LOCAL_WORLD_SIZE", 1, 65536, "a whole number of at least 1",
            &config, &ranks);
  config.device_memory = defaultMemory(config.device_count, ranks);
  const char* memory = std::getenv("SOFTDEVICE_MEMORY");
  if (memory != nullptr && *memory != '\0' &&
      !parseBytes(memory, &config.device_memory)) {
    complain(&config, "SOFTDEVICE_MEMORY", memory,
             "bytes per device, such as 536870912, 512M or 4G");
  }
  // Beyond this the address ranges of 16 devices would not fit.
  constexpr std::size_t kMost = std::size_t{1} << 40;
  config.device_memory = std::min(config.device_memory, kMost);
  config.device_memory -= config.device_memory % kMemoryGranule;
  readDebugging(&config);
  checkNames(&config);
  return config;
}

const Config& config() {
  // Never destroyed: workers may still read it while the process exits.
  static const Config* const settings = new Config(readConfig());
  return *settings;
}

}  // namespace dipu::softdevice
