// SPDX-License-Identifier: Apache-2.0
//
// What the 64 bytes of a handle say.
#pragma once

#include <cstdint>
#include <memory>

#include "softdevice/ipc/process_identity.h"
#include "softdevice/ipc/shared_file.h"
#include "softdevice/soft_ipc.h"

namespace dipu::softdevice {

enum class IpcKind : uint32_t { kMemory = 1, kEvent = 2 };

// Where another process finds a shared file, and the part of it that is meant.
struct IpcTarget {
  ProcessIdentity owner;
  int32_t fd = -1;
  uint64_t file_id = 0;
  uint32_t offset = 0;
  uint64_t bytes = 0;
};

void encodeHandle(IpcKind kind, const IpcTarget& target,
                  soft_ipc_handle* out_handle);

// Checks the bytes and opens the file. Handles of this process are refused.
soft_status openHandle(const char* function, IpcKind kind,
                       const soft_ipc_handle& handle, IpcTarget* out_target,
                       std::shared_ptr<SharedFile>* out_file);

}  // namespace dipu::softdevice
