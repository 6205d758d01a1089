// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include "vendors/droplet/tang/pccl/failure.h"

namespace dipu::pccl {
namespace {

constexpr uint64_t kMagic = 0x31646963636c7070;
// Long enough to cost nothing, short enough to notice a dead process soon.
constexpr timespec kNap = {0, 10'000'000};

struct IdContents {
  uint64_t magic;
  uint64_t device;  // of the file
  uint64_t inode;
  int32_t pid;
  int32_t fd;
  uint64_t random[2];
};
static_assert(sizeof(IdContents) <= PCCL_UNIQUE_ID_BYTES);

IdContents contentsOf(const pcclUniqueId& id) {
  IdContents contents;
  std::memcpy(&contents, id.internal, sizeof(contents));
  return contents;
}

// Descriptors of ids that this process made, by inode. Never destroyed.
struct OwnIds {
  std::mutex mutex;
  std::map<uint64_t, int> descriptors;
};

OwnIds& ownIds() {
  static auto* const instance = new OwnIds;
  return *instance;
}

std::size_t roundUp(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

bool isFileOf(int fd, const IdContents& contents) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_ino == contents.inode &&
         info.st_dev == contents.device;
}

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value,
           const timespec* timeout) {
  return syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void Counter::set(uint32_t next) {
  value.store(next);
  wake();
}

void Counter::increment() {
  value.fetch_add(1);
  wake();
}

// The store before and the load here are sequentially consistent, and so are
// their counterparts in sleep(), so a sleeper is not missed.
void Counter::wake() {
  if (sleepers.load() != 0) futex(&value, FUTEX_WAKE, INT_MAX, nullptr);
}

void Counter::sleep(uint32_t seen) {
  sleepers.fetch_add(1);
  if (value.load() == seen) futex(&value, FUTEX_WAIT, seen, &kNap);
  sleepers.fetch_sub(1);
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, totalBytes());
}

pcclResult_t Segment::makeId(pcclUniqueId* out_id) {
  IdContents contents{};
  contents.magic = kMagic;
  contents.pid = getpid();
  if (getrandom(contents.random, sizeof(contents.random), 0) < 0) {
    return fail(pcclSystemError, "getrandom: %s", std::strerror(errno));
  }
  contents.fd = memfd_create("pccl", MFD_CLOEXEC);
  struct stat info;
  if (contents.fd < 0 || fstat(contents.fd, &info) != 0) {
    return fail(pcclSystemError, "pcclGetUniqueId: memfd_create: %s",
                std::strerror(errno));
  }
  contents.device = info.st_dev;
  contents.inode = info.st_ino;
  OwnIds& own = ownIds();
  const std::lock_guard<std::mutex> lock(own.mutex);
  own.descriptors[contents.inode] = contents.fd;
  *out_id = pcclUniqueId{};
  std::memcpy(out_id->internal, &contents, sizeof(contents));
  return pcclSuccess;
}

void Segment::forgetId(const pcclUniqueId& id) {
  const IdContents contents = contentsOf(id);
  if (contents.pid != getpid()) return;
  OwnIds& own = ownIds();
  const std::lock_guard<std::mutex> lock(own.mutex);
  const auto found = own.descriptors.find(contents.inode);
  if (found == own.descriptors.end()) return;
  close(found->second);
  own.descriptors.erase(found);
}

pcclResult_t Segment::open(const pcclUniqueId& id, int world_size) {
  const IdContents contents = contentsOf(id);
  if (contents.magic != kMagic) {
    return fail(pcclInvalidArgument, "this is no id of pcclGetUniqueId");
  }
  world_size_ = world_size;
  const std::size_t pairs = std::size_t{1} * world_size * world_size;
  channel_bytes_ = std::clamp(roundUp((std::size_t{1} << 20) / pairs),
                              std::size_t{4096}, std::size_t{64} << 10);
  const std::string path = "/proc/" + std::to_string(contents.pid) + "/fd/" +
                           std::to_string(contents.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 || !isFileOf(fd, contents)) {
    const std::string why = fd < 0 ? std::strerror(errno) : "another file";
    if (fd >= 0) close(fd);
    return fail(pcclRemoteError,
                "%s is not the id's memory (%s): process %d has ended, all "
                "ranks of the id have joined already, or it belongs to another "
                "user or container",
                path.c_str(), why.c_str(), contents.pid);
  }
  // Every rank does it: the file grows once and never shrinks, and memory that
  // is missing is an error here and no signal later.
  const auto bytes = static_cast<off_t>(totalBytes());
  void* base = MAP_FAILED;
  if (fallocate(fd, 0, 0, bytes) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (base == MAP_FAILED) {
    return fail(pcclSystemError, "%lld bytes of shared memory: %s",
                static_cast<long long>(bytes), std::strerror(error));
  }
  base_ = static_cast<char*>(base);
  return pcclSuccess;
}

std::size_t Segment::totalBytes() const {
  const std::size_t ranks = world_size_;
  const std::size_t channel = kSlots * (sizeof(ChannelSlot) + channel_bytes_);
  return sizeof(Header) + ranks * (sizeof(RankBlock) + kSlots * sizeof(Slot)) +
         ranks * ranks * (sizeof(Channel) + channel);
}

RankBlock& Segment::rank(int rank) const {
  return reinterpret_cast<RankBlock*>(base_ + sizeof(Header))[rank];
}

Slot& Segment::slot(int rank, uint32_t round) const {
  auto* slots = reinterpret_cast<Slot*>(&this->rank(world_size_));
  return slots[std::size_t{kSlots} * rank + round % kSlots];
}

Channel& Segment::channel(int from, int to) const {
  auto* channels = reinterpret_cast<Channel*>(&slot(world_size_, 0));
  return channels[from * world_size_ + to];
}

ChannelSlot& Segment::channelSlot(int from, int to, uint32_t index) const {
  char* first = reinterpret_cast<char*>(&channel(world_size_, 0));
  const std::size_t place =
      std::size_t{kSlots} * (from * world_size_ + to) + index % kSlots;
  return *reinterpret_cast<ChannelSlot*>(
      first + place * (sizeof(ChannelSlot) + channel_bytes_));
}

}  // namespace dipu::pccl
