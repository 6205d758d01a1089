// SPDX-License-Identifier: Apache-2.0
//
// Memory that several processes can map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "softdevice/ipc/process_identity.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// A file without a name (memfd). It lives as long as anyone has it open or
// mapped, so nothing remains after a crash. Its length never changes. Another
// process of the same user opens it through /proc; the random number in its
// label tells it from whatever has the same descriptor later.
class SharedFile {
 public:
  // SOFT_OUT_OF_MEMORY when the system refuses; the message says what ran out.
  static soft_status create(const char* function, std::size_t bytes,
                            std::shared_ptr<SharedFile>* out);
  // Opens the file that `owner` holds as descriptor `fd`. `what` names it in
  // messages.
  static soft_status open(const char* function, const char* what,
                          const ProcessIdentity& owner, int32_t fd, uint64_t id,
                          std::shared_ptr<SharedFile>* out);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int fd() const { return fd_; }
  uint64_t id() const { return id_; }
  std::size_t bytes() const { return bytes_; }

  // Writes what is not zero; a new file is zero. False when memory runs out.
  bool write(const void* data, std::size_t bytes, off_t at) const;
  // Makes whole pages zero again and gives their memory back.
  void clear(std::size_t bytes, off_t at) const;

 private:
  SharedFile(int fd, uint64_t id, std::size_t bytes)
      : fd_(fd), id_(id), bytes_(bytes) {}

  const int fd_;
  const uint64_t id_;  // random
  const std::size_t bytes_;
};

}  // namespace dipu::softdevice
