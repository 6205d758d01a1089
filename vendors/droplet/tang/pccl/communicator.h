// SPDX-License-Identifier: Apache-2.0
//
// One rank of a communicator: joining the others, waiting for them, and the
// failure that ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vendors/droplet/tang/pccl/call.h"
#include "vendors/droplet/tang/pccl/segment.h"

namespace dipu::pccl {

// How long something that waits has waited: polls first, then sleeps.
class Patience {
 public:
  explicit Patience(std::chrono::microseconds spin) : spin_(spin) {}
  // One turn of polling; false when it is time to sleep.
  bool poll();
  std::chrono::steady_clock::duration elapsed() const;

 private:
  std::chrono::microseconds spin_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  int turns_ = 0;
};

class Communicator {
 public:
  // Blocks until all ranks have come.
  static pcclResult_t create(const pcclUniqueId& id, int world_size, int rank,
                             int device, std::shared_ptr<Communicator>* out);
  // Others that wait for this rank are told.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int worldSize() const { return world_size_; }
  int device() const { return device_; }
  // False in a child that was forked meanwhile.
  bool isOwnProcess() const;
  const Segment& segment() const { return segment_; }
  RankBlock& self() const { return segment_.rank(rank_); }
  Patience patience() const { return Patience(spin_); }

  // Ends the communicator on all ranks; the first failure counts. The text is
  // put behind "rank R: ".
  void fail(pcclResult_t code, const std::string& text);
  bool hasFailed() const;
  // pcclSuccess and "" while it has not failed.
  pcclResult_t failure(std::string* out_text) const;

  // Fails when the device has: others wait for work that may not have run.
  // False as below.
  bool checkDevice();

  // Waits until `counter` of the rank `peer` reaches the target; false when the
  // communicator has failed. Reasons are a peer that is gone, time that has
  // passed, and any rank that is gone before it was done with the round before
  // `end`, the last one of the call.
  bool await(int peer, Counter RankBlock::* counter, uint32_t target,
             const Call& call, uint32_t end);
  // What this rank does, for messages to others.
  std::string ownState() const { return stateOf(rank_); }
  // What keeps `peer` from ever coming, as the end of a sentence; "" if nothing
  // does. What the peer did before it went can be seen afterwards.
  std::string troubleWith(int peer, const Patience& waited) const;

  // Order of work: enqueue() gives `launch` a number, and begin() waits for the
  // work with smaller ones. begin() is false when that will never end; end()
  // follows anyway.
  template <typename Launch>
  auto enqueue(Launch launch) {
    const std::lock_guard<std::mutex> lock(order_mutex_);
    const auto result = launch(enqueued_);
    if (result == decltype(result){}) ++enqueued_;
    return result;
  }
  bool begin(uint64_t number);
  void end();
  // What others are told that this rank does.
  void setCurrent(const Call& call);
  // Numbers of calls; the caller is in enqueue().
  uint64_t nextCollective() { return ++collectives_; }
  uint64_t nextMessage(Kind kind, int peer);

  // The next round, see Note [Rounds]. For the work whose turn it is.
  uint32_t round = 0;

 private:
  Communicator(int world_size, int rank, int device);
  pcclResult_t readSettings();
  pcclResult_t join(const pcclUniqueId& id);
  pcclResult_t takeRank();
  pcclResult_t awaitOthers();
  std::string missingRanks() const;
  // That the rank has died or left; "" if it has not.
  std::string lossOf(int peer) const;
  void failFor(const Call& call, int peer, const std::string& trouble);
  std::string stateOf(int peer) const;

  Segment segment_;
  const int world_size_;
  const int rank_;
  const int device_;
  const int32_t pid_;
  std::chrono::microseconds spin_{0};
  std::chrono::milliseconds timeout_{0};
  bool joined_ = false;

  std::mutex order_mutex_;  // guards the next four
  uint64_t enqueued_ = 0;
  uint64_t collectives_ = 0;
  std::vector<uint64_t> sent_;
  std::vector<uint64_t> received_;

  std::mutex turn_mutex_;  // guards turn_
  std::condition_variable turn_changed_;
  uint64_t turn_ = 0;
};

}  // namespace dipu::pccl
