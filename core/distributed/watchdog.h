// SPDX-License-Identifier: Apache-2.0
//
// Watches what a group has enqueued, on a thread of its own.
//
// Note [Failure of a group]
// A group fails when an operation takes longer than its timeout, when the
// vendor reports an error, when this rank could not enqueue an operation, when
// it aborts, or when another rank has posted one of these (Note [Store of a
// group] in bulletin.h). Then, in this order:
//   - the failure is posted, and what this rank has enqueued and finished
//   - the rank that saw it first waits up to two seconds for the positions of
//     the others, and appends them: who is behind, who does not answer
//   - the flight recorder is dumped, if the user wants that
//   - pending operations fail, and later ones are refused, with that text
//   - the communicator is aborted, so that streams, and with them who waits for
//     the device, go on
// A group stays failed; a new one can be made in the same process.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/distributed/bulletin.h"
#include "core/distributed/communicator.h"
#include "core/distributed/health.h"
#include "core/distributed/operation.h"

namespace dipu::distributed {

class Watchdog {
 public:
  struct Settings {
    // "rank 1 of 4 of the process group default_pg".
    std::string who;
    int rank = 0;
    int size = 1;
    // File for the flight recorder's records; empty for none.
    std::string dump_path;
    // How long the thread may be busy with one thing before callers are told.
    std::chrono::milliseconds heartbeat_limit{};
  };
  // Called by the watchdog's thread for each operation that is done.
  using Done = std::function<void(const std::shared_ptr<Operation>&)>;

  Watchdog(Settings settings, std::shared_ptr<Health> health,
           std::shared_ptr<Communicator> communicator,
           std::unique_ptr<Bulletin> bulletin, Done done);
  // As stop().
  ~Watchdog();

  // Watches an operation that has been enqueued.
  void watch(std::shared_ptr<Operation> operation);
  // Makes the group fail because of this rank. Does not wait; `cause` says what
  // happened, without the rank.
  void fail(FailureKind kind, const std::string& cause);
  // Blocks until nothing is pending: all is done, or the group has failed.
  // Returns at once in a forked child, where the thread is not, as the two
  // functions below do.
  void awaitIdle();
  // Blocks until the thread has ended, as it does after a failure.
  void awaitEnd();
  // Ends the thread; pending operations are no longer watched. Blocks until it
  // has ended, at most some seconds when the store does not answer.
  void stop();

  // Warns, once, when the thread has not moved for the limit.
  void checkHeartbeat();

 private:
  struct Failure {
    FailureKind kind;
    std::string cause;
  };

  bool isForkedChild() const;
  void run() noexcept;
  // One look at everything. Returns false once there is nothing more to do.
  bool look();
  void collect();
  std::optional<Failure> findFailure();
  std::optional<Failure> findRemote(Clock::time_point now);
  std::shared_ptr<Operation> findLate(Clock::time_point now);
  void handle(const Failure& failure);
  std::string ownPosition();
  std::string allPositions();
  void dumpRecords();
  void failPending();
  void beat(const char* activity);

  const Settings settings_;
  const std::shared_ptr<Health> health_;
  const std::shared_ptr<Communicator> communicator_;
  const std::unique_ptr<Bulletin> bulletin_;  // used by the thread only
  const Done done_;

  std::mutex mutex_;  // guards what follows; never held during a call of others
  std::condition_variable changed_;
  std::list<std::shared_ptr<Operation>> pending_;
  std::optional<Failure> reported_;
  Description last_enqueued_;
  Description last_done_;
  bool is_stopping_ = false;
  bool has_ended_ = false;

  // When the thread last began something, and what; for checkHeartbeat.
  std::atomic<Clock::rep> last_beat_;
  std::atomic<const char*> activity_{"starting"};
  std::atomic<bool> has_warned_{false};
  Clock::time_point next_remote_look_{};
  const int process_;
  std::thread thread_;
};

}  // namespace dipu::distributed
