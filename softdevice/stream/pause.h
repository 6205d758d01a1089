// SPDX-License-Identifier: Apache-2.0
//
// Stopping all work for a moment, to move memory that is in use.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Note [Pausing]
// Moving allocated memory to other pages loses what is written meanwhile, and
// pages hold more than the program asked about. So all streams of all devices
// stop between two tasks, and copies that the host makes itself wait. Each
// worker looks at one flag before each task, and when it has waited for others
// within a task. It counts as stopped when it has no task or waits.
//
// Running tasks may depend on others that have not begun, as the ranks of a
// collective do, so a pause that is not complete after a moment is given up and
// tried again later.
class WorkPause {
 public:
  WorkPause() = default;
  WorkPause(const WorkPause&) = delete;
  WorkPause& operator=(const WorkPause&) = delete;
  ~WorkPause();  // work goes on

  // Blocks until all work has stopped; waits for what is enqueued now.
  // SOFT_NOT_READY when it does not stop.
  soft_status begin(const char* function);

 private:
  bool tryStop(int milliseconds);
  static void resume();

  std::unique_lock<std::mutex> turn_;  // one pause at a time
  std::unique_lock<std::shared_mutex> host_;
};

// Held by a host thread while it reads or writes device memory itself.
class HostAccess {
 public:
  HostAccess();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

// Blocks a worker until no pause is wanted.
void waitForResume();

}  // namespace dipu::softdevice
