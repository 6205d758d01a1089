// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dipu::softdevice {
namespace {

// read() that a signal does not end.
ssize_t readSome(int file, char* buffer, std::size_t bytes) {
  ssize_t count;
  do {
    count = read(file, buffer, bytes);
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

std::string readFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  char buffer[4096];
  ssize_t count;
  while ((count = readSome(file, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  const int error = errno;
  close(file);
  errno = error;
  return count < 0 ? "" : text;
}

}  // namespace dipu::softdevice
