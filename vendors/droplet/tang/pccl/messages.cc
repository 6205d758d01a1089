// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives that proceed together. Each moves what fits, and when none
// can move the rank waits for its bell.
#include <algorithm>
#include <cstring>
#include <string>

#include "vendors/droplet/tang/pccl/work.h"

namespace dipu::pccl {
namespace {

class Messages {
 public:
  Messages(Communicator& communicator,
           const std::vector<Operation>& operations);
  void run();

 private:
  struct Message {
    const Operation* operation;
    int peer;
    std::size_t bytes;
    std::size_t moved = 0;
    bool has_begun = false;
    bool is_done = false;
  };

  // Whether anything moved.
  bool moveAll();
  bool move(Message& message);
  bool write(Message& message);
  bool read(Message& message);
  bool agree(const Message& message, const Call& sent);
  bool isDone() const;
  bool awaitBell(uint32_t seen, Patience& waited);
  void checkPeers(uint32_t seen, const Patience& waited);

  Communicator& communicator_;
  const Segment& segment_;
  const int rank_;
  std::vector<Message> messages_;
};

Messages::Messages(Communicator& communicator,
                   const std::vector<Operation>& operations)
    : communicator_(communicator),
      segment_(communicator.segment()),
      rank_(communicator.rank()) {
  for (const Operation& operation : operations) {
    const Call& call = operation.call;
    messages_.push_back(
        {&operation, call.root, call.count * sizeOf(call.dtype)});
  }
}

void Messages::run() {
  Counter& bell = communicator_.self().bell;
  Patience waited = communicator_.patience();
  while (!communicator_.hasFailed()) {
    const uint32_t seen = bell.value.load();
    if (moveAll()) {
      waited = communicator_.patience();
    } else if (!isDone()) {
      awaitBell(seen, waited);
    }
    if (isDone()) return;
  }
}

bool Messages::isDone() const {
  return std::all_of(messages_.begin(), messages_.end(),
                     [](const Message& message) { return message.is_done; });
}

bool Messages::moveAll() {
  // Messages of the same direction and peer wait for one another.
  std::vector<bool> is_blocked(2 * communicator_.worldSize());
  bool has_moved = false;
  for (Message& message : messages_) {
    if (message.is_done) continue;
    const bool is_send = message.operation->call.kind == Kind::kSend;
    const std::size_t lane = 2 * message.peer + (is_send ? 1 : 0);
    if (is_blocked[lane]) continue;
    if (move(message)) {
      has_moved = true;
      segment_.rank(message.peer).bell.increment();
    }
    if (!message.is_done) is_blocked[lane] = true;
  }
  return has_moved;
}

bool Messages::move(Message& message) {
  const bool is_send = message.operation->call.kind == Kind::kSend;
  bool has_moved = false;
  while (!message.is_done && (is_send ? write(message) : read(message))) {
    has_moved = true;
  }
  return has_moved;
}

// A message of no bytes takes a slot, too.
bool Messages::write(Message& message) {
  Channel& channel = segment_.channel(rank_, message.peer);
  const uint32_t index = channel.written.load(std::memory_order_relaxed);
  if (index - channel.read.load(std::memory_order_acquire) == kSlots) {
    return false;
  }
  ChannelSlot& slot = segment_.channelSlot(rank_, message.peer, index);
  if (!message.has_begun) slot.call = message.operation->call;
  message.has_begun = true;
  slot.bytes = std::min(message.bytes - message.moved, segment_.channelBytes());
  if (slot.bytes != 0) {
    std::memcpy(&slot + 1, message.operation->send + message.moved, slot.bytes);
  }
  message.moved += slot.bytes;
  message.is_done = message.moved == message.bytes;
  channel.written.store(index + 1, std::memory_order_release);
  return true;
}

bool Messages::read(Message& message) {
  Channel& channel = segment_.channel(message.peer, rank_);
  const uint32_t index = channel.read.load(std::memory_order_relaxed);
  if (index == channel.written.load(std::memory_order_acquire)) return false;
  ChannelSlot& slot = segment_.channelSlot(message.peer, rank_, index);
  if (!message.has_begun && !agree(message, slot.call)) return false;
  message.has_begun = true;
  if (slot.bytes != 0) {
    std::memcpy(message.operation->recv + message.moved, &slot + 1, slot.bytes);
  }
  message.moved += slot.bytes;
  message.is_done = message.moved == message.bytes;
  channel.read.store(index + 1, std::memory_order_release);
  return true;
}

bool Messages::agree(const Message& message, const Call& sent) {
  const Call& call = message.operation->call;
  if (sent.count == call.count && sent.dtype == call.dtype) return true;
  communicator_.fail(pcclInvalidUsage,
                     "messages differ: rank " + std::to_string(rank_) + " " +
                         describe(call) + ", rank " +
                         std::to_string(message.peer) + " " + describe(sent));
  return false;
}

bool Messages::awaitBell(uint32_t seen, Patience& waited) {
  Counter& bell = communicator_.self().bell;
  if (waited.poll()) return true;
  bell.sleep(seen);
  checkPeers(seen, waited);
  return !communicator_.hasFailed();
}

void Messages::checkPeers(uint32_t seen, const Patience& waited) {
  for (const Message& message : messages_) {
    if (message.is_done) continue;
    const std::string trouble = communicator_.troubleWith(message.peer, waited);
    // What the peer did before it went may be enough.
    if (trouble.empty() || communicator_.self().bell.value != seen) continue;
    communicator_.fail(pcclRemoteError,
                       describe(message.operation->call) + " waits for rank " +
                           std::to_string(message.peer) + ", " + trouble);
  }
}

}  // namespace

void runMessages(Communicator& communicator,
                 const std::vector<Operation>& operations) {
  Messages(communicator, operations).run();
}

}  // namespace dipu::pccl
