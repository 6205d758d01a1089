// SPDX-License-Identifier: Apache-2.0
#include "softdevice/ipc/process_identity.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "softdevice/base/read_file.h"

namespace dipu::softdevice {
namespace {

std::string readStat(int32_t pid) {
  return readFile("/proc/" + std::to_string(pid) + "/stat");
}

uint32_t ownNamespace() {
  struct stat info;
  if (stat("/proc/self/ns/pid", &info) != 0) return 0;
  return static_cast<uint32_t>(info.st_ino);
}

}  // namespace

uint64_t startTimeOf(const std::string& stat) {
  // The name in parentheses may hold anything, even a parenthesis.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  // " S 4 5 ... 22", where S is the state and a number the field's own.
  constexpr int kStartTime = 22;
  const char* field = stat.c_str() + name_end + 1;
  if (*field == ' ') ++field;
  if (*field == 'Z' || *field == 'X') return 0;
  for (int number = 3; number < kStartTime; ++number) {
    field = std::strchr(field, ' ');
    if (field == nullptr) return 0;
    ++field;
  }
  return std::strtoull(field, nullptr, 10);
}

ProcessIdentity thisProcess() {
  static const ProcessIdentity self{getpid(), ownNamespace(), 0};
  // Read once, and again while there is no file descriptor to read it with.
  static std::atomic<uint64_t> start_time{0};
  if (start_time == 0) start_time = startTimeOf(readStat(self.pid));
  return {self.pid, self.pid_namespace, start_time};
}

bool isAlive(const ProcessIdentity& process) {
  if (process.pid_namespace != ownNamespace()) return false;
  errno = 0;
  const std::string stat = readStat(process.pid);
  if (stat.empty() && (errno == EMFILE || errno == ENFILE)) {
    return kill(process.pid, 0) == 0 || errno != ESRCH;
  }
  return process.start_time != 0 && process.start_time == startTimeOf(stat);
}

}  // namespace dipu::softdevice
