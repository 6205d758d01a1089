// SPDX-License-Identifier: Apache-2.0
//
// Note [Exchange]
// Between processes of one machine every rank reads the memory of every other
// equally well, so a reduction is not passed around a ring: each rank reduces
// its part of the elements, straight from all slots, and then all read the
// reduced parts. That moves as many bytes as a ring does, takes two steps for
// any number of ranks, adds in the order of ranks, and adds 16-bit numbers in
// float32 throughout. Rounds overlap: while a rank reduces one, others write
// the next. What is small is read whole by everybody, in one step.
#include <algorithm>
#include <cstring>

#include "vendors/droplet/tang/pccl/reduce.h"
#include "vendors/droplet/tang/pccl/work.h"

namespace dipu::pccl {
namespace {

// A reduction of so many bytes on all ranks together takes one step.
constexpr std::size_t kFlatBytes = std::size_t{32} << 10;

class Collective {
 public:
  Collective(Communicator& communicator, const Operation& operation);
  void run();

 private:
  struct Range {
    std::size_t begin;
    std::size_t count;
  };

  bool isReduction() const {
    return kind_ == Kind::kAllReduce || kind_ == Kind::kReduce;
  }
  bool wantsResult() const {
    return kind_ == Kind::kAllReduce || rank_ == call_.root;
  }
  // Elements of a round, and of those the ones that a rank reduces.
  Range rangeOf(uint32_t round) const;
  Range partOf(const Range& range, int rank) const;

  bool stage(uint32_t round);
  bool combine(uint32_t round);
  bool collect(uint32_t round);
  bool awaitAll(Counter RankBlock::* counter, uint32_t target);
  bool agree();

  void writeSlot(const Range& range, char* slot) const;
  void readSlots(const Range& range, uint32_t round) const;
  void reduceSlots(std::size_t send_at, std::size_t slot_at, std::size_t count,
                   uint32_t round, char* out, char* copy) const;

  char* slotOf(int rank, uint32_t round) const {
    return communicator_.segment().slot(rank, first_ + round).data;
  }
  void copy(char* to, const char* from, std::size_t count) const {
    if (to != from && count != 0) std::memmove(to, from, count * width_);
  }

  Communicator& communicator_;
  const Call& call_;
  const Kind kind_;
  const char* const send_;
  char* const recv_;
  const int rank_;
  const int ranks_;
  const std::size_t width_;  // bytes of an element
  const uint32_t first_;     // the communicator's round that is round 0 here
  std::size_t round_count_;  // elements of a round
  uint32_t rounds_;
  bool is_flat_;
};

Collective::Collective(Communicator& communicator, const Operation& operation)
    : communicator_(communicator),
      call_(operation.call),
      kind_(call_.kind),
      send_(operation.send),
      recv_(operation.recv),
      rank_(communicator.rank()),
      ranks_(communicator.worldSize()),
      width_(sizeOf(call_.dtype)),
      first_(communicator.round) {
  round_count_ = kSlotBytes / width_;
  if (kind_ == Kind::kReduceScatter) round_count_ /= ranks_;
  const std::size_t rounds = (call_.count + round_count_ - 1) / round_count_;
  rounds_ = static_cast<uint32_t>(std::max<std::size_t>(rounds, 1));
  is_flat_ = isReduction() && call_.count * width_ * ranks_ <= kFlatBytes;
}

Collective::Range Collective::rangeOf(uint32_t round) const {
  const std::size_t begin = round * round_count_;
  return {begin, std::min(round_count_, call_.count - begin)};
}

Collective::Range Collective::partOf(const Range& range, int rank) const {
  // Parts begin at cache lines.
  const std::size_t unit = kLine / width_ * ranks_;
  const std::size_t part = (range.count + unit - 1) / unit * kLine / width_;
  const std::size_t begin = std::min(range.count, part * rank);
  return {range.begin + begin, std::min(part, range.count - begin)};
}

// Three rounds are in flight: one is written, one combined, one collected.
void Collective::run() {
  const bool has_two_steps = isReduction() && !is_flat_;
  const uint32_t lag = has_two_steps ? 2 : 1;
  for (uint32_t i = 0; i < rounds_ + lag; ++i) {
    if (i < rounds_ && !stage(i)) return;
    if (i >= 1 && i <= rounds_ && !combine(i - 1)) return;
    if (has_two_steps && i >= 2 && !collect(i - 2)) return;
    if (i >= lag) communicator_.self().done.set(first_ + i - lag + 1);
  }
  communicator_.round = first_ + rounds_;
}

bool Collective::awaitAll(Counter RankBlock::* counter, uint32_t target) {
  for (int i = 1; i < ranks_; ++i) {
    const int peer = (rank_ + i) % ranks_;
    if (!communicator_.await(peer, counter, target, call_, first_ + rounds_))
      return false;
  }
  return true;
}

bool Collective::stage(uint32_t round) {
  // Everybody has read what the slot held before.
  if (!awaitAll(&RankBlock::done, first_ + round + 1 - kSlots)) return false;
  Slot& slot = communicator_.segment().slot(rank_, first_ + round);
  if (round == 0) slot.call = call_;
  writeSlot(rangeOf(round), slot.data);
  communicator_.self().posted.set(first_ + round + 1);
  return true;
}

void Collective::writeSlot(const Range& range, char* slot) const {
  if (kind_ == Kind::kBroadcast && rank_ != call_.root) return;
  const char* const from = send_ + range.begin * width_;
  if (kind_ == Kind::kReduceScatter) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      copy(slot + peer * round_count_ * width_,
           from + peer * call_.count * width_, range.count);
    }
  } else if (isReduction() && !is_flat_) {
    // The own part is for this rank only.
    const Range own = partOf(range, rank_);
    const std::size_t before = own.begin - range.begin;
    const std::size_t after = before + own.count;
    copy(slot, from, before);
    copy(slot + after * width_, from + after * width_, range.count - after);
  } else {
    copy(slot, from, range.count);
  }
}

bool Collective::agree() {
  for (int peer = 0; peer < ranks_; ++peer) {
    const Call& other = communicator_.segment().slot(peer, first_).call;
    if (other == call_) continue;
    communicator_.fail(pcclInvalidUsage,
                       "ranks called different operations: rank " +
                           std::to_string(rank_) + " " + describe(call_) +
                           ", rank " + std::to_string(peer) + " " +
                           describe(other));
    return false;
  }
  return true;
}

bool Collective::combine(uint32_t round) {
  if (!awaitAll(&RankBlock::posted, first_ + round + 1)) return false;
  if (round == 0 && !agree()) return false;
  const Range range = rangeOf(round);
  char* const recv = recv_ == nullptr ? nullptr : recv_ + range.begin * width_;
  if (kind_ == Kind::kReduceScatter) {
    const std::size_t own = rank_ * call_.count + range.begin;
    reduceSlots(own, rank_ * round_count_, range.count, round, recv, nullptr);
  } else if (is_flat_) {
    if (wantsResult()) {
      reduceSlots(range.begin, 0, range.count, round, recv, nullptr);
    }
  } else if (isReduction()) {
    const Range own = partOf(range, rank_);
    const std::size_t at = own.begin - range.begin;
    char* const result = slotOf(rank_, round) + at * width_;
    char* const wanted = wantsResult() ? recv + at * width_ : nullptr;
    reduceSlots(own.begin, at, own.count, round, result, wanted);
    communicator_.self().reduced.set(first_ + round + 1);
  } else {
    readSlots(range, round);
  }
  return true;
}

void Collective::reduceSlots(std::size_t send_at, std::size_t slot_at,
                             std::size_t count, uint32_t round, char* out,
                             char* copy) const {
  if (count == 0) return;
  std::vector<const char*> sources(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) {
    sources[rank] = rank == rank_ ? send_ + send_at * width_
                                  : slotOf(rank, round) + slot_at * width_;
  }
  reduce(call_.dtype, call_.op, sources, count, out, copy);
}

void Collective::readSlots(const Range& range, uint32_t round) const {
  const std::size_t offset = range.begin * width_;
  if (kind_ == Kind::kBroadcast) {
    const bool is_root = rank_ == call_.root;
    copy(recv_ + offset, is_root ? send_ + offset : slotOf(call_.root, round),
         range.count);
    return;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    copy(recv_ + rank * call_.count * width_ + offset,
         rank == rank_ ? send_ + offset : slotOf(rank, round), range.count);
  }
}

bool Collective::collect(uint32_t round) {
  if (!awaitAll(&RankBlock::reduced, first_ + round + 1)) return false;
  if (!wantsResult()) return true;
  const Range range = rangeOf(round);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const Range part = partOf(range, rank);
    copy(recv_ + part.begin * width_,
         slotOf(rank, round) + (part.begin - range.begin) * width_, part.count);
  }
  return true;
}

}  // namespace

void runCollective(Communicator& communicator, const Operation& operation) {
  Collective(communicator, operation).run();
}

}  // namespace dipu::pccl
