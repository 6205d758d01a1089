// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/parallel.h"

#include <cstdio>
#include <exception>

namespace dipu::kernels {
namespace {

thread_local TeamFailure* team_failure = nullptr;

}  // namespace

void failTask(soft_status status, const char* message) {
  if (team_failure != nullptr) {
    team_failure->set(status, message);
  } else {
    soft_task_fail(status, message);
  }
}

void failTaskByException() {
  try {
    throw;
  } catch (const std::exception& error) {
    failTask(SOFT_LAUNCH_FAILURE, error.what());
  } catch (...) {
    failTask(SOFT_LAUNCH_FAILURE,
             "a kernel threw something that is not a std::exception");
  }
}

void TeamFailure::set(soft_status status, const char* message) {
  if (taken_.exchange(true, std::memory_order_relaxed)) return;
  status_ = status;
  std::snprintf(message_, sizeof(message_), "%s", message);
}

// The end of the parallel region orders this after every set.
void TeamFailure::report() const {
  if (status_ != SOFT_OK) soft_task_fail(status_, message_);
}

TeamMember::TeamMember(TeamFailure* failure) { team_failure = failure; }

TeamMember::~TeamMember() { team_failure = nullptr; }

}  // namespace dipu::kernels
