// SPDX-License-Identifier: Apache-2.0
//
// The memory that the ranks of a communicator share.
//
// It is a memfd of the process that made the unique id, opened by the others
// through /proc. It never has a name, so nothing is left however processes end,
// and the size of /dev/shm is no limit. It begins as zeros, which is a valid
// state, so no rank has to come first.
//
// Note [Rounds]
// Every collective is a number of rounds, counted from the communicator's first
// on. In a round a rank writes its contribution to a slot of its own (slot
// round % kSlots), posts it, reads the slots of others, and says that it is
// done. All ranks go through the same rounds, since the first round of every
// collective says which one it is and nobody reads on before all say the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vendors/droplet/tang/pccl/call.h"

namespace dipu::pccl {

constexpr std::size_t kLine = 64;
constexpr uint32_t kSlots = 4;
constexpr std::size_t kSlotBytes = std::size_t{256} << 10;
constexpr int kMaxRanks = 128;

// A number that grows, wraps around, and can be slept on by other processes.
struct alignas(kLine) Counter {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};

  bool reaches(uint32_t target) const {
    return static_cast<int32_t>(value.load(std::memory_order_acquire) -
                                target) >= 0;
  }
  // Also wakes those who sleep.
  void set(uint32_t next);
  void increment();
  // Returns when the value is not `seen`, or after a moment.
  void sleep(uint32_t seen);

 private:
  void wake();
};

enum class Presence : uint32_t { kAbsent, kTaken, kJoined, kLeft };

struct alignas(kLine) RankBlock {
  // What follows is written before kJoined.
  std::atomic<Presence> presence{Presence::kAbsent};
  int32_t pid = 0;
  uint64_t start_time = 0;
  // Kind and number of the call that runs, for messages: kind << 56 | number.
  std::atomic<uint64_t> current{0};
  Counter posted;   // rounds whose slot is written
  Counter reduced;  // rounds whose part is reduced, in that slot
  Counter done;     // rounds of which this rank reads no more
  Counter bell;     // rung when a channel of this rank has moved
};

struct alignas(kLine) Slot {
  Call call;  // of the first round of a collective
  char data[kSlotBytes];
};

// Messages from one rank to another.
struct alignas(kLine) Channel {
  alignas(kLine) std::atomic<uint32_t> written{0};
  alignas(kLine) std::atomic<uint32_t> read{0};
};

struct alignas(kLine) ChannelSlot {
  Call call;
  std::size_t bytes = 0;
};

struct alignas(kLine) Header {
  std::atomic<int32_t> world_size{0};
  Counter joined;
  // 0, then 1 while one rank writes what follows, then 2.
  std::atomic<uint32_t> failure{0};
  int32_t failure_code = 0;
  char failure_text[480] = {};
};

// A rank's view of the memory.
class Segment {
 public:
  Segment() = default;
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Makes the memory of a new communicator known to this process.
  static pcclResult_t makeId(pcclUniqueId* out_id);
  // Opens it; a failure is noted as the thread's last.
  pcclResult_t open(const pcclUniqueId& id, int world_size);
  // All ranks have opened it: the process that made the id lets go of it.
  static void forgetId(const pcclUniqueId& id);

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankBlock& rank(int rank) const;
  Slot& slot(int rank, uint32_t round) const;
  Channel& channel(int from, int to) const;
  // Slot `index` % kSlots of a channel; its data lies behind it.
  ChannelSlot& channelSlot(int from, int to, uint32_t index) const;
  std::size_t channelBytes() const { return channel_bytes_; }

 private:
  std::size_t totalBytes() const;

  char* base_ = nullptr;
  int world_size_ = 0;
  std::size_t channel_bytes_ = 0;
};

}  // namespace dipu::pccl
