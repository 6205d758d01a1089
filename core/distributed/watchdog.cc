// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/watchdog.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>
#include <c10/util/thread_name.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "core/distributed/flight_recorder.h"
#include "core/runtime/vendor.h"

namespace dipu::distributed {
namespace {

// Between two looks while something is pending.
constexpr std::chrono::milliseconds kLookInterval{20};
// Between two questions to the store, which all ranks ask.
constexpr std::chrono::milliseconds kRemoteInterval{500};
constexpr std::chrono::seconds kPositionLimit{2};

long long millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                               begin)
      .count();
}

}  // namespace

Watchdog::Watchdog(Settings settings, std::shared_ptr<Health> health,
                   std::shared_ptr<Communicator> communicator,
                   std::unique_ptr<Bulletin> bulletin, Done done)
    : settings_(std::move(settings)),
      health_(std::move(health)),
      communicator_(std::move(communicator)),
      bulletin_(std::move(bulletin)),
      done_(std::move(done)),
      last_beat_(Clock::now().time_since_epoch().count()),
      process_(getpid()),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() { stop(); }

void Watchdog::watch(std::shared_ptr<Operation> operation) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_enqueued_ = operation->description();
    if (has_ended_) {
      operation->fail(health_->exception());
      return;
    }
    pending_.push_back(std::move(operation));
  }
  changed_.notify_all();
}

void Watchdog::fail(FailureKind kind, const std::string& cause) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!reported_) reported_ = Failure{kind, cause};
  }
  changed_.notify_all();
}

bool Watchdog::isForkedChild() const { return getpid() != process_; }

void Watchdog::awaitIdle() {
  if (isForkedChild()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return pending_.empty() || has_ended_; });
}

void Watchdog::awaitEnd() {
  if (isForkedChild()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return has_ended_; });
}

void Watchdog::stop() {
  if (isForkedChild() || !thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::checkHeartbeat() {
  const Clock::duration since(Clock::now().time_since_epoch().count() -
                              last_beat_.load(std::memory_order_relaxed));
  if (since <= settings_.heartbeat_limit || has_warned_.exchange(true)) return;
  TORCH_WARN(
      "the watchdog of ", settings_.who, " has not moved for ",
      std::chrono::duration_cast<std::chrono::seconds>(since).count(),
      " s, while ", activity_.load(),
      "; failures of the group are not seen until it goes on. DICL_HEARTBEAT_S "
      "sets when this is said");
}

void Watchdog::beat(const char* activity) {
  activity_.store(activity, std::memory_order_relaxed);
  last_beat_.store(Clock::now().time_since_epoch().count(),
                   std::memory_order_relaxed);
}

void Watchdog::run() noexcept {
  c10::setThreadName("dicl_watchdog");
  try {
    while (look()) {
    }
  } catch (const std::exception& error) {
    health_->fail(
        FailureKind::kCommunicator,
        c10::str("the watchdog of ", settings_.who,
                 " ended, so failures would not be seen: ", error.what()));
    failPending();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_all();
  // Of a group that failed also what came in the meantime.
  if (!health_->isGood()) failPending();
}

bool Watchdog::look() {
  beat("waiting for operations");
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_urgent = [this] { return is_stopping_ || reported_; };
    if (pending_.empty()) {
      // The beat goes on while nothing happens.
      changed_.wait_for(lock, settings_.heartbeat_limit / 4,
                        [&] { return is_urgent() || !pending_.empty(); });
    } else {
      changed_.wait_for(lock, kLookInterval, is_urgent);
    }
    if (is_stopping_) return false;
  }
  // At the end of the process nothing may be called any more.
  if (!runtime::isInitialized()) return false;
  collect();
  const std::optional<Failure> failure = findFailure();
  if (failure) handle(*failure);
  return !failure;
}

void Watchdog::collect() {
  beat("asking the device for events");
  std::list<std::shared_ptr<Operation>> pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending = pending_;
  }
  for (const auto& operation : pending) {
    if (!operation->isOver()) break;  // they end in their order
    if (operation->exception() == nullptr) done_(operation);
    const std::lock_guard<std::mutex> lock(mutex_);
    last_done_ = operation->description();
    pending_.remove(operation);
    if (pending_.empty()) changed_.notify_all();
  }
}

std::optional<Watchdog::Failure> Watchdog::findFailure() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reported_) return reported_;
    if (pending_.empty()) return std::nullopt;
  }
  beat("asking the vendor for errors");
  const std::string error = communicator_->asyncError();
  if (!error.empty()) return Failure{FailureKind::kCommunicator, error};
  const Clock::time_point now = Clock::now();
  if (const auto late = findLate(now)) {
    return Failure{
        FailureKind::kTimeout,
        c10::str(late->description().text(), " is not done after ",
                 millisecondsSince(late->begin()), " ms; its timeout is ",
                 late->timeout().count(), " ms")};
  }
  return findRemote(now);
}

std::shared_ptr<Operation> Watchdog::findLate(Clock::time_point now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& operation : pending_) {
    if (operation->isLate(now)) return operation;
  }
  return nullptr;
}

std::optional<Watchdog::Failure> Watchdog::findRemote(Clock::time_point now) {
  if (now < next_remote_look_) return std::nullopt;
  next_remote_look_ = now + kRemoteInterval;
  beat("asking the store for failures of other ranks");
  const std::optional<std::string> text = bulletin_->failure();
  if (!text) return std::nullopt;
  return Failure{FailureKind::kRemote, *text};
}

void Watchdog::handle(const Failure& failure) {
  beat("telling other ranks of a failure");
  const std::string own = ownPosition();
  std::string text =
      c10::str(settings_.who, " failed: ", failure.cause, " (", own, ")");
  bulletin_->postPosition(own);
  if (failure.kind == FailureKind::kRemote) {
    text =
        c10::str(settings_.who, " ended (", own, ") because ", failure.cause);
  } else {
    bulletin_->postFailure(text);
    text += allPositions();
  }
  health_->fail(failure.kind, text);
  LOG(WARNING) << text;
  dumpRecords();
  // Before the streams go on, which would look like success.
  failPending();
  beat("aborting the communicator");
  communicator_->abort();
}

std::string Watchdog::ownPosition() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto textOf = [](const Description& description) {
    return description.name.empty() ? "nothing" : description.text();
  };
  return c10::str("enqueued up to ", textOf(last_enqueued_),
                  ", finished up to ", textOf(last_done_));
}

std::string Watchdog::allPositions() {
  const auto positions = bulletin_->positions(kPositionLimit);
  std::string text = "\nPositions of the ranks:";
  for (int rank = 0; rank < settings_.size; ++rank) {
    const auto found = positions.find(rank);
    text += c10::str("\n  rank ", rank, ": ",
                     found != positions.end()
                         ? found->second
                         : "does not answer; it is gone, stopped, or waits for "
                           "no operation of this group");
  }
  return text;
}

void Watchdog::dumpRecords() {
  if (settings_.dump_path.empty()) return;
  beat("writing the records of the flight recorder");
  try {
    FlightRecorder::instance().dumpTo(settings_.dump_path);
  } catch (const std::exception& error) {
    LOG(WARNING) << error.what();
  }
}

void Watchdog::failPending() {
  std::list<std::shared_ptr<Operation>> pending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending.swap(pending_);
  }
  const std::exception_ptr exception = health_->exception();
  for (const auto& operation : pending) operation->fail(exception);
  changed_.notify_all();
}

}  // namespace dipu::distributed
