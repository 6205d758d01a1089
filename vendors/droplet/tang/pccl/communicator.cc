// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/communicator.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/pccl/failure.h"
#include "vendors/droplet/tang/pccl/process.h"

namespace dipu::pccl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kNumberBits = 56;

// Leaves the value as it is when the environment says nothing.
pcclResult_t readSetting(const char* name, int64_t* inout_value) {
  constexpr int64_t kMax = 1'000'000'000;
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return pcclSuccess;
  char* end = nullptr;
  const int64_t value = std::strtoll(text, &end, 10);
  if (*end != '\0' || value < 0 || value > kMax) {
    return fail(pcclInvalidArgument, "%s=%s is no number from 0 to %lld", name,
                text, static_cast<long long>(kMax));
  }
  *inout_value = value;
  return pcclSuccess;
}

std::string seconds(steady_clock::duration duration) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s",
                std::chrono::duration<double>(duration).count());
  return text;
}

}  // namespace

bool Patience::poll() {
  // Others may need this processor to make what is waited for.
  constexpr int kTurnsPerYield = 16;
  constexpr int kTurnsPerLook = 64;
  ++turns_;
  if (turns_ % kTurnsPerYield == 0) sched_yield();
  __builtin_ia32_pause();
  return turns_ % kTurnsPerLook != 0 || elapsed() < spin_;
}

steady_clock::duration Patience::elapsed() const {
  return steady_clock::now() - start_;
}

Communicator::Communicator(int world_size, int rank, int device)
    : world_size_(world_size),
      rank_(rank),
      device_(device),
      pid_(getpid()),
      sent_(world_size),
      received_(world_size) {}

Communicator::~Communicator() {
  if (joined_ && isOwnProcess()) self().presence = Presence::kLeft;
}

bool Communicator::isOwnProcess() const { return getpid() == pid_; }

pcclResult_t Communicator::create(const pcclUniqueId& id, int world_size,
                                  int rank, int device,
                                  std::shared_ptr<Communicator>* out) {
  if (world_size < 1 || world_size > kMaxRanks || rank < 0 ||
      rank >= world_size) {
    return pccl::fail(pcclInvalidArgument,
                      "pcclCommInitRank: rank %d of %d; a communicator has 1 "
                      "to %d ranks",
                      rank, world_size, kMaxRanks);
  }
  std::shared_ptr<Communicator> made(
      new Communicator(world_size, rank, device));
  const pcclResult_t result = made->join(id);
  Segment::forgetId(id);
  if (result == pcclSuccess) *out = std::move(made);
  return result;
}

pcclResult_t Communicator::readSettings() {
  int64_t spin = 100;
  int64_t timeout = 1'800'000;
  if (pcclResult_t error = readSetting("PCCL_SPIN_US", &spin)) return error;
  if (pcclResult_t error = readSetting("PCCL_TIMEOUT_MS", &timeout)) {
    return error;
  }
  spin_ = microseconds(spin);
  timeout_ = milliseconds(timeout);
  return pcclSuccess;
}

pcclResult_t Communicator::join(const pcclUniqueId& id) {
  if (pcclResult_t error = readSettings()) return error;
  if (pcclResult_t error = segment_.open(id, world_size_)) return error;
  int32_t expected = 0;
  std::atomic<int32_t>& agreed = segment_.header().world_size;
  if (!agreed.compare_exchange_strong(expected, world_size_) &&
      expected != world_size_) {
    return pccl::fail(pcclInvalidArgument,
                      "pcclCommInitRank: rank %d was told of %d ranks, another "
                      "rank of %d",
                      rank_, world_size_, expected);
  }
  if (pcclResult_t error = takeRank()) return error;
  const pcclResult_t result = awaitOthers();
  if (result == pcclSuccess) return result;
  std::string text;
  failure(&text);
  setLastFailure(text);
  return result;
}

pcclResult_t Communicator::takeRank() {
  RankBlock& block = self();
  Presence expected = Presence::kAbsent;
  if (!block.presence.compare_exchange_strong(expected, Presence::kTaken)) {
    return pccl::fail(pcclInvalidArgument,
                      "pcclCommInitRank: rank %d has been taken by process %d",
                      rank_, block.pid);
  }
  block.pid = pid_;
  block.start_time = startTimeOf(pid_);
  block.presence = Presence::kJoined;
  joined_ = true;
  segment_.header().joined.increment();
  return pcclSuccess;
}

pcclResult_t Communicator::awaitOthers() {
  const Patience waited = patience();
  Counter& joined = segment_.header().joined;
  while (!joined.reaches(world_size_) && !hasFailed()) {
    joined.sleep(joined.value.load());
    std::string trouble;
    for (int peer = 0; peer < world_size_ && trouble.empty(); ++peer) {
      if (segment_.rank(peer).presence != Presence::kJoined) continue;
      trouble = troubleWith(peer, patience());
      if (!trouble.empty()) {
        trouble = "rank " + std::to_string(peer) + ", " + trouble;
      }
    }
    if (waited.elapsed() > timeout_) {
      trouble = missingRanks() + " for " + seconds(timeout_);
    }
    if (!trouble.empty() && !joined.reaches(world_size_)) {
      fail(pcclRemoteError, "pcclCommInitRank waits for " + trouble);
    }
  }
  // What happens once all have joined is told by their first operation.
  return joined.reaches(world_size_) ? pcclSuccess : failure(nullptr);
}

std::string Communicator::missingRanks() const {
  std::string text;
  for (int peer = 0; peer < world_size_; ++peer) {
    if (segment_.rank(peer).presence == Presence::kJoined) continue;
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(peer);
  }
  return text;
}

void Communicator::fail(pcclResult_t code, const std::string& text) {
  Header& header = segment_.header();
  uint32_t expected = 0;
  if (!header.failure.compare_exchange_strong(expected, 1)) return;
  header.failure_code = code;
  std::snprintf(header.failure_text, sizeof(header.failure_text), "rank %d: %s",
                rank_, text.c_str());
  header.failure = 2;
}

bool Communicator::hasFailed() const { return segment_.header().failure != 0; }

pcclResult_t Communicator::failure(std::string* out_text) const {
  const Header& header = segment_.header();
  if (out_text != nullptr) out_text->clear();
  if (header.failure == 0) return pcclSuccess;
  // Written in a moment, unless the process that writes it has died.
  const Patience waited = patience();
  while (header.failure == 1 && waited.elapsed() < milliseconds(100)) {
    sched_yield();
  }
  if (header.failure == 1) {
    if (out_text != nullptr) *out_text = "a rank died while it failed";
    return pcclRemoteError;
  }
  if (out_text != nullptr) *out_text = header.failure_text;
  return static_cast<pcclResult_t>(header.failure_code);
}

std::string Communicator::stateOf(int peer) const {
  const uint64_t current = segment_.rank(peer).current;
  if (current == 0) return "which has called nothing yet";
  constexpr uint64_t kNumbers = (uint64_t{1} << kNumberBits) - 1;
  return "whose last operation is " +
         std::string(nameOf(static_cast<Kind>(current >> kNumberBits))) + " #" +
         std::to_string(current & kNumbers);
}

std::string Communicator::lossOf(int peer) const {
  const RankBlock& block = segment_.rank(peer);
  const Presence presence = block.presence;
  if (presence == Presence::kLeft) {
    return "which has destroyed its communicator, " + stateOf(peer);
  }
  if (presence == Presence::kJoined && block.start_time != 0 &&
      block.start_time != startTimeOf(block.pid)) {
    return "which has died (process " + std::to_string(block.pid) + "), " +
           stateOf(peer);
  }
  return "";
}

std::string Communicator::troubleWith(int peer, const Patience& waited) const {
  const std::string loss = lossOf(peer);
  if (!loss.empty() || waited.elapsed() < timeout_) return loss;
  return stateOf(peer) + ", for " + seconds(timeout_);
}

void Communicator::failFor(const Call& call, int peer,
                           const std::string& trouble) {
  fail(pcclRemoteError, describe(call) + " waits for rank " +
                            std::to_string(peer) + ", " + trouble);
}

bool Communicator::await(int peer, Counter RankBlock::* counter,
                         uint32_t target, const Call& call, uint32_t end) {
  Counter& awaited = segment_.rank(peer).*counter;
  if (awaited.reaches(target)) return true;
  Patience waited = patience();
  for (int naps = 0; !awaited.reaches(target);) {
    if (waited.poll()) continue;
    awaited.sleep(awaited.value.load());
    const std::string trouble = troubleWith(peer, waited);
    if (awaited.reaches(target)) break;
    if (!trouble.empty()) failFor(call, peer, trouble);
    // The awaited rank may wait itself, for one that is gone.
    const int other = naps++ % world_size_;
    const std::string loss = lossOf(other);
    if (!loss.empty() && !segment_.rank(other).done.reaches(end)) {
      failFor(call, other, loss);
    }
    if (hasFailed()) return false;
  }
  return true;
}

bool Communicator::checkDevice() {
  if (soft_device_get_error(device_) != SOFT_OK) {
    fail(pcclUnhandledTangError,
         std::string("its device has failed: ") + soft_last_message());
  }
  return !hasFailed();
}

bool Communicator::begin(uint64_t number) {
  std::unique_lock<std::mutex> lock(turn_mutex_);
  const auto is_next = [&] { return turn_ >= number; };
  while (!turn_changed_.wait_for(lock, milliseconds(10), is_next)) {
    // Work before this one may have been dropped.
    if (!checkDevice()) turn_ = number;
  }
  return !hasFailed();
}

void Communicator::end() {
  {
    const std::lock_guard<std::mutex> lock(turn_mutex_);
    ++turn_;
  }
  turn_changed_.notify_all();
}

void Communicator::setCurrent(const Call& call) {
  self().current =
      (static_cast<uint64_t>(call.kind) << kNumberBits) | call.sequence;
}

uint64_t Communicator::nextMessage(Kind kind, int peer) {
  return ++(kind == Kind::kSend ? sent_ : received_)[peer];
}

}  // namespace dipu::pccl
