// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace dipu::pccl {

uint64_t startTimeOf(int32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The name in parentheses may hold anything, even a parenthesis. After it:
  // " S 4 5 ... 22", where S is the state and a number the field's own.
  constexpr int kStartTime = 22;
  const char* field = std::strrchr(text, ')');
  if (field == nullptr || field[1] != ' ') return 0;
  field += 2;
  if (*field == 'Z' || *field == 'X') return 0;
  for (int number = 3; number < kStartTime; ++number) {
    field = std::strchr(field, ' ');
    if (field == nullptr) return 0;
    ++field;
  }
  return std::strtoull(field, nullptr, 10);
}

}  // namespace dipu::pccl
