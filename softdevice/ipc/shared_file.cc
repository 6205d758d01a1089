// SPDX-License-Identifier: Apache-2.0
#include "softdevice/ipc/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "softdevice/base/status.h"

namespace dipu::softdevice {
namespace {

std::string labelOf(uint64_t id) {
  char label[48];
  std::snprintf(label, sizeof(label), "dipu-softdevice-%016" PRIx64, id);
  return label;
}

bool isZero(const char* data, std::size_t bytes) {
  return data[0] == 0 && std::memcmp(data, data + 1, bytes - 1) == 0;
}

bool writeAll(int fd, const char* data, std::size_t bytes, off_t at) {
  while (bytes > 0) {
    const ssize_t written = pwrite(fd, data, bytes, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    bytes -= written;
    at += written;
  }
  return true;
}

// What the link /proc/<pid>/fd/<n> says.
bool hasLabel(const std::string& path, uint64_t id) {
  errno = 0;
  char target[128];
  const ssize_t length = readlink(path.c_str(), target, sizeof(target));
  if (length < 0) return false;
  return std::string(target, length).find("/memfd:" + labelOf(id)) == 0;
}

// The system has refused a descriptor or `bytes` of shared memory, as errno
// tells.
soft_status failRefused(const char* function, std::size_t bytes) {
  const int error = errno;
  if (error == EMFILE) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: this process has no file descriptor left, which shared "
                "memory needs; close files or raise RLIMIT_NOFILE (ulimit -n)",
                function);
  }
  if (error == ENFILE) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: the machine has no file descriptor left, which shared "
                "memory needs; raise fs.file-max",
                function);
  }
  return fail(SOFT_OUT_OF_MEMORY,
              "%s: the system refused %zu bytes of shared memory: %s", function,
              bytes, std::strerror(error));
}

// Growing a file beyond the limit ends the process by a signal.
soft_status checkFileLimit(const char* function, std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) {
    return SOFT_OK;
  }
  return fail(SOFT_OUT_OF_MEMORY,
              "%s: %zu bytes of shared memory are beyond RLIMIT_FSIZE, %zu "
              "bytes; raise it (ulimit -f)",
              function, bytes, static_cast<std::size_t>(limit.rlim_cur));
}

}  // namespace

soft_status SharedFile::create(const char* function, std::size_t bytes,
                               std::shared_ptr<SharedFile>* out) {
  if (soft_status status = checkFileLimit(function, bytes)) return status;
  uint64_t id = 0;
  // Others find a file by the process that holds it.
  if (thisProcess().start_time == 0 ||
      getrandom(&id, sizeof(id), 0) != sizeof(id)) {
    return failRefused(function, bytes);
  }
  const int fd =
      memfd_create(labelOf(id).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return failRefused(function, bytes);
  std::shared_ptr<SharedFile> file(new SharedFile(fd, id, bytes));
  // A file that shrinks would kill those who have mapped it.
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failRefused(function, bytes);
  }
  *out = std::move(file);
  return SOFT_OK;
}

soft_status SharedFile::open(const char* function, const char* what,
                             const ProcessIdentity& owner, int32_t fd,
                             uint64_t id, std::shared_ptr<SharedFile>* out) {
  if (owner.pid_namespace != thisProcess().pid_namespace) {
    return fail(SOFT_NOT_SUPPORTED,
                "%s: the %s was exported by a process of another container; "
                "run both in one PID namespace",
                function, what);
  }
  if (!isAlive(owner)) {
    return fail(SOFT_INVALID_HANDLE,
                "%s: process %d, which exported the %s, has ended; open a "
                "handle while its process lives",
                function, owner.pid, what);
  }
  const std::string path =
      "/proc/" + std::to_string(owner.pid) + "/fd/" + std::to_string(fd);
  // Looking comes before opening, which would block for some kinds of files,
  // and after it again: the descriptor may have been given to another file.
  const bool labelled = hasLabel(path, id);
  if (!labelled && (errno == EACCES || errno == EPERM)) {
    return fail(SOFT_NOT_PERMITTED,
                "%s: process %d, which exported the %s, is of another user or "
                "has protected itself (PR_SET_DUMPABLE)",
                function, owner.pid, what);
  }
  const int opened = labelled ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (opened < 0 && (errno == EMFILE || errno == ENFILE)) {
    return failRefused(function, 0);
  }
  struct stat info{};
  if (opened < 0 || !hasLabel("/proc/self/fd/" + std::to_string(opened), id) ||
      fstat(opened, &info) != 0) {
    if (opened >= 0) close(opened);
    return fail(SOFT_INVALID_HANDLE,
                "%s: process %d no longer has the %s of this handle; it must "
                "not be freed before it is opened",
                function, owner.pid, what);
  }
  out->reset(new SharedFile(opened, id, info.st_size));
  return SOFT_OK;
}

SharedFile::~SharedFile() { close(fd_); }

bool SharedFile::write(const void* data, std::size_t bytes, off_t at) const {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  const auto* from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    if (isZero(from + done, piece)) continue;
    if (!writeAll(fd_, from + done, piece, at + static_cast<off_t>(done))) {
      return false;
    }
  }
  return true;
}

void SharedFile::clear(std::size_t bytes, off_t at) const {
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
            static_cast<off_t>(bytes));
}

}  // namespace dipu::softdevice
