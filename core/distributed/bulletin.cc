// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/bulletin.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>

#include <functional>
#include <thread>
#include <vector>

namespace dipu::distributed {
namespace {

// Longer than any answer of a store that lives takes.
constexpr std::chrono::seconds kStoreTimeout{5};
constexpr std::chrono::milliseconds kPollInterval{50};

std::string arrivedKey(const std::string& name, int rank) {
  return c10::str(name, "/", rank);
}

std::vector<int> missingRanks(c10d::Store& store, const std::string& name,
                              int size) {
  std::vector<int> missing;
  for (int rank = 0; rank < size; ++rank) {
    if (!store.check({arrivedKey(name, rank)})) missing.push_back(rank);
  }
  return missing;
}

void awaitArrivals(c10d::Store& store, const std::string& name, int rank,
                   int size, std::chrono::milliseconds timeout) {
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) {
    keys.push_back(arrivedKey(name, other));
  }
  try {
    store.wait(keys, timeout);
    return;
  } catch (const std::exception& error) {
    const std::vector<int> missing = missingRanks(store, name, size);
    if (missing.empty()) return;  // the last one came just now
    C10_THROW_ERROR(
        DistBackendError,
        c10::str("rank ", rank, " waited ", timeout.count(), " ms at \"", name,
                 "\" for ranks ", missing, " of ", size,
                 ", which did not come; see whether their processes live and "
                 "call the same operations. The store says: ",
                 error.what()));
  }
}

}  // namespace

std::string meet(c10d::Store& store, int rank, int size,
                 std::chrono::milliseconds timeout,
                 const std::function<std::string()>& make_id) {
  if (rank == 0) store.set("id", make_id());
  store.set(arrivedKey("arrived", rank), std::string("1"));
  awaitArrivals(store, "arrived", rank, size, timeout);
  return store.get_to_str("id");
}

void leaveMeeting(c10d::Store& store, int rank) {
  store.deleteKey(arrivedKey("arrived", rank));
  if (rank == 0) store.deleteKey("id");
}

void meetAt(c10d::Store& store, const std::string& name, int rank, int size,
            std::chrono::milliseconds timeout) {
  store.set(arrivedKey(name, rank), std::string("1"));
  awaitArrivals(store, name, rank, size, timeout);
}

Bulletin::Bulletin(c10d::Store& store, const std::string& unique_id, int rank,
                   int size)
    : store_(store.clone()),
      prefix_(c10::str(std::hash<std::string>{}(unique_id))),
      rank_(rank),
      size_(size) {
  store_->setTimeout(kStoreTimeout);
}

template <typename Use>
void Bulletin::withStore(Use use) noexcept {
  if (!store_) return;
  try {
    use(*store_);
  } catch (const std::exception& error) {
    store_.reset();
    LOG(WARNING) << "rank " << rank_
                 << " of a process group has lost the store, so it can neither "
                    "tell other ranks of a failure nor hear of theirs: "
                 << error.what();
  }
}

std::string Bulletin::key(const std::string& name) const {
  return c10::str(prefix_, "/", name);
}

std::string Bulletin::positionKey(int rank) const {
  return key(c10::str("position/", rank));
}

void Bulletin::postFailure(const std::string& text) noexcept {
  withStore([&](c10d::Store& store) {
    // The first rank wins.
    store.compareSet(key("failure"), std::string(), text);
  });
}

std::optional<std::string> Bulletin::failure() noexcept {
  std::optional<std::string> text;
  withStore([&](c10d::Store& store) {
    if (store.check({key("failure")})) text = store.get_to_str(key("failure"));
  });
  return text;
}

void Bulletin::postPosition(const std::string& text) noexcept {
  withStore([&](c10d::Store& store) { store.set(positionKey(rank_), text); });
}

std::map<int, std::string> Bulletin::positions(
    std::chrono::milliseconds limit) noexcept {
  std::map<int, std::string> found;
  const auto end = std::chrono::steady_clock::now() + limit;
  withStore([&](c10d::Store& store) {
    while (static_cast<int>(found.size()) < size_) {
      for (int rank = 0; rank < size_; ++rank) {
        if (found.count(rank) != 0 || !store.check({positionKey(rank)})) {
          continue;
        }
        found[rank] = store.get_to_str(positionKey(rank));
      }
      if (std::chrono::steady_clock::now() > end) return;
      std::this_thread::sleep_for(kPollInterval);
    }
  });
  return found;
}

}  // namespace dipu::distributed
