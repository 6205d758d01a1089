// SPDX-License-Identifier: Apache-2.0
#include "softdevice/ipc/ipc_handle.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "softdevice/base/status.h"

namespace dipu::softdevice {
namespace {

constexpr uint32_t kMagic = 0x31504953;  // "SIP1"

// The bytes of a handle. All processes are of one machine, so byte order and
// layout are theirs.
struct Layout {
  uint32_t magic;
  IpcKind kind;
  int32_t pid;
  uint32_t pid_namespace;
  uint64_t start_time;
  uint64_t file_id;
  uint64_t bytes;
  uint32_t offset;
  int32_t fd;
  uint64_t reserved;
  uint64_t checksum;  // of all before
};
static_assert(sizeof(Layout) == sizeof(soft_ipc_handle));

// FNV-1a.
uint64_t checksumOf(const Layout& layout) {
  unsigned char bytes[offsetof(Layout, checksum)];
  std::memcpy(bytes, &layout, sizeof(bytes));
  uint64_t sum = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

const char* nameOf(IpcKind kind) {
  return kind == IpcKind::kMemory ? "memory" : "event";
}

soft_status checkLayout(const char* function, IpcKind kind,
                        const Layout& layout) {
  if (layout.magic != kMagic || layout.checksum != checksumOf(layout)) {
    return fail(SOFT_INVALID_HANDLE,
                "%s: these 64 bytes are no handle that soft_ipc_export_%s made",
                function, nameOf(kind));
  }
  if (layout.kind != kind) {
    return fail(SOFT_INVALID_HANDLE,
                "%s: this is the handle of an exported %s, not of %s", function,
                nameOf(layout.kind), nameOf(kind));
  }
  return SOFT_OK;
}

}  // namespace

void encodeHandle(IpcKind kind, const IpcTarget& target,
                  soft_ipc_handle* out_handle) {
  Layout layout{kMagic,
                kind,
                target.owner.pid,
                target.owner.pid_namespace,
                target.owner.start_time,
                target.file_id,
                target.bytes,
                target.offset,
                target.fd,
                0,
                0};
  layout.checksum = checksumOf(layout);
  std::memcpy(out_handle->bytes, &layout, sizeof(layout));
}

soft_status openHandle(const char* function, IpcKind kind,
                       const soft_ipc_handle& handle, IpcTarget* out_target,
                       std::shared_ptr<SharedFile>* out_file) {
  Layout layout;
  std::memcpy(&layout, handle.bytes, sizeof(layout));
  if (soft_status status = checkLayout(function, kind, layout)) return status;
  const ProcessIdentity owner{layout.pid, layout.pid_namespace,
                              layout.start_time};
  const ProcessIdentity self = thisProcess();
  if (owner.pid == self.pid && owner.start_time == self.start_time &&
      owner.pid_namespace == self.pid_namespace) {
    return fail(SOFT_NOT_PERMITTED,
                "%s: this process made the handle itself; use the %s that it "
                "exported",
                function, nameOf(kind));
  }
  std::shared_ptr<SharedFile> file;
  if (soft_status status = SharedFile::open(function, nameOf(kind), owner,
                                            layout.fd, layout.file_id, &file)) {
    return status;
  }
  if (layout.bytes > file->bytes() ||
      layout.offset > file->bytes() - layout.bytes) {
    return fail(SOFT_INVALID_HANDLE,
                "%s: the handle names %lu bytes of a file of %zu", function,
                layout.bytes, file->bytes());
  }
  *out_target =
      IpcTarget{owner, layout.fd, layout.file_id, layout.offset, layout.bytes};
  *out_file = std::move(file);
  return SOFT_OK;
}

}  // namespace dipu::softdevice
