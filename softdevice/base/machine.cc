// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "softdevice/base/read_file.h"

namespace dipu::softdevice {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// First number of a control group file; nothing for "max" or no file.
std::optional<std::size_t> readNumber(const std::string& path) {
  const std::string text = readFile(path);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 10);
}

// Folder of the process's memory control group below `root`. Each line of
// /proc/self/cgroup is "id:controllers:path"; version 2 has no controllers.
std::string groupFolder(bool version2) {
  const std::string text = readFile("/proc/self/cgroup");
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto names = line.substr(first + 1, second - first - 1);
    const bool match =
        version2 ? names.empty()
                 : ("," + names + ",").find(",memory,") != std::string::npos;
    if (match) return line.substr(second + 1);
  }
  return "";
}

struct GroupFiles {
  bool version2;
  const char* root;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // field of memory.stat
};

constexpr GroupFiles kGroupFiles[] = {
    {true, "/sys/fs/cgroup", "/memory.max", "/memory.current",
     "inactive_file "},
    {false, "/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
     "/memory.usage_in_bytes", "total_inactive_file "},
};

std::size_t reclaimable(const std::string& folder, const char* field) {
  const std::string text = "\n" + readFile(folder + "/memory.stat");
  const auto at = text.find("\n" + std::string(field));
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + 1 + std::string(field).size(),
                       nullptr, 10);
}

// The tightest limit (or what is left of it) from the process's group up to
// the root. Inside a container the group's own path may not be visible; the
// root then is the container's.
std::size_t groupMemory(bool left) {
  std::size_t result = kUnlimited;
  for (const GroupFiles& files : kGroupFiles) {
    std::string path = groupFolder(files.version2);
    for (;;) {
      const std::string folder = files.root + path;
      if (auto limit = readNumber(folder + files.limit)) {
        std::size_t used = 0;
        if (left) {
          used = readNumber(folder + files.usage).value_or(0);
          used -= std::min(used, reclaimable(folder, files.reclaimable));
        }
        result = std::min(result, *limit - std::min(*limit, used));
      }
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return result;
}

}  // namespace

std::size_t meminfoField(const std::string& text, const std::string& name) {
  const std::string key = name + ":";
  auto at = text.find(key);
  while (at != std::string::npos && at != 0 && text[at - 1] != '\n') {
    at = text.find(key, at + 1);
  }
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + key.size(), nullptr, 10) * 1024;
}

std::size_t machineMemory() {
  return std::min(meminfoField(readFile("/proc/meminfo"), "MemTotal"),
                  groupMemory(/*left=*/false));
}

std::size_t availableMemory() {
  // No limit is known when the file cannot be read, as without descriptors.
  const std::string text = readFile("/proc/meminfo");
  return std::min(
      text.empty() ? kUnlimited : meminfoField(text, "MemAvailable"),
      groupMemory(/*left=*/true));
}

std::size_t pageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

int32_t machineCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace dipu::softdevice
