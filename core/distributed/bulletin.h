// SPDX-License-Identifier: Apache-2.0
//
// What ranks of a group tell one another through the store, beside the device.
//
// Note [Store of a group]
// Keys lie below the group's prefix:
//   arrived/<rank>       the rank is about to make a communicator
//   id                   the vendor's unique id, from rank 0
// Both are deleted once the communicator exists, so that a group of the same
// name, made later on the same store, does not read them. The keys below
// contain a number made of the unique id and so are never those of another
// group:
//   <number>/failure         why the group failed; the first rank wins
//   <number>/position/<rank> what the rank has enqueued and finished by then
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace dipu::distributed {

// Waits until all ranks of the group have come and returns the unique id, which
// `make_id` gives on rank 0. After `timeout` throws who did not come.
std::string meet(c10d::Store& store, int rank, int size,
                 std::chrono::milliseconds timeout,
                 const std::function<std::string()>& make_id);

// Tidies up behind meet(), once the communicator has been made.
void leaveMeeting(c10d::Store& store, int rank);

// Waits until all ranks have called it with the same `name`, through the store
// alone. After `timeout` throws who did not come.
void meetAt(c10d::Store& store, const std::string& name, int rank, int size,
            std::chrono::milliseconds timeout);

// For one thread. Functions do not throw: a store that is gone, as when the
// process that serves it died, is reported once and then left alone.
class Bulletin {
 public:
  // Uses a connection of its own, because that of the group may be waiting.
  Bulletin(c10d::Store& store, const std::string& unique_id, int rank,
           int size);

  void postFailure(const std::string& text) noexcept;
  // What a rank, maybe this one, has posted.
  std::optional<std::string> failure() noexcept;
  void postPosition(const std::string& text) noexcept;
  // Of the ranks that post within `limit`.
  std::map<int, std::string> positions(
      std::chrono::milliseconds limit) noexcept;

 private:
  // Calls `use` unless the store is gone.
  template <typename Use>
  void withStore(Use use) noexcept;
  std::string key(const std::string& name) const;
  std::string positionKey(int rank) const;

  c10::intrusive_ptr<c10d::Store> store_;  // null when it is gone
  const std::string prefix_;
  const int rank_;
  const int size_;
};

}  // namespace dipu::distributed
