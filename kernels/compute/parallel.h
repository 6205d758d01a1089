// SPDX-License-Identifier: Apache-2.0
//
// The one way in which kernels use several threads.
//
// Note [One team]
// Kernels run on a stream's worker and borrow the device's thread team with
// soft_team_begin; one OpenMP team is then entered, never a second thread
// runtime and never a team inside a team. A build without OpenMP (tsan, whose
// run time cannot follow libgomp) runs everything on the worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "softdevice/softdevice.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace dipu::kernels {

// Elements of a cheap operation (an addition) below which a second thread
// costs more than it gains. Divide by the relative cost of the operation.
inline constexpr int64_t kGrain = 32768;

// Grain for units of work that each touch `elements` elements.
inline int64_t grainFor(int64_t elements, int64_t cost = 1) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements * cost));
}

// Holds the device's thread team while in scope; may block until the team of
// another stream is done.
class Team {
 public:
  Team() : size_(soft_team_begin()) {}
  ~Team() { soft_team_end(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int64_t size() const { return size_; }

 private:
  int32_t size_;
};

inline bool insideTeam() {
#ifdef _OPENMP
  return omp_in_parallel() != 0;
#else
  return false;
#endif
}

// Makes the device's error sticky. To be called by work that runs, from any
// thread of its team: soft_task_fail itself knows only the stream's worker.
void failTask(soft_status status, const char* message);

// The same with the text of the exception that is being handled. To be called
// in a catch clause.
void failTaskByException();

// The first failure among the threads of a team. The worker passes it on when
// all of them are done.
class TeamFailure {
 public:
  void set(soft_status status, const char* message);
  void report() const;

 private:
  std::atomic<bool> taken_{false};
  soft_status status_ = SOFT_OK;
  char message_[256] = "";
};

// While in scope, the calling thread's failures go to `failure`.
class TeamMember {
 public:
  explicit TeamMember(TeamFailure* failure);
  ~TeamMember();
  TeamMember(const TeamMember&) = delete;
  TeamMember& operator=(const TeamMember&) = delete;
};

// Splits [0, total) into at most one piece per thread, none smaller than
// `grain`, and calls body(begin, end, thread) for each; returns when all are
// done. `thread` is less than kMaxTeam. The pieces depend on the team's size
// only, so that results repeat. What body throws becomes a failure of the task.
inline constexpr int64_t kMaxTeam = 64;

template <typename Body>
void parallelPieces(int64_t total, int64_t grain, const Body& body) {
#ifdef _OPENMP
  if (total >= 2 * grain && !insideTeam()) {
    const Team team;
    const int64_t pieces =
        std::min({team.size(), total / std::max<int64_t>(1, grain), kMaxTeam});
    if (pieces > 1) {
      // Long pieces start at a multiple of 64, so that no two threads write
      // one cache line.
      int64_t length = (total + pieces - 1) / pieces;
      if (length >= 4096) length = (length + 63) / 64 * 64;
      TeamFailure failure;
#pragma omp parallel num_threads(static_cast<int>(pieces))
      {
        const TeamMember member(&failure);
        const int64_t step = omp_get_num_threads();
        try {
          for (int64_t i = omp_get_thread_num(); i < pieces; i += step) {
            const int64_t begin = std::min(total, i * length);
            const int64_t end = std::min(total, begin + length);
            if (begin < end) body(begin, end, i);
          }
        } catch (...) {
          failTaskByException();
        }
      }
      failure.report();
      return;
    }
  }
#else
  static_cast<void>(grain);
#endif
  if (total > 0) body(int64_t{0}, total, int64_t{0});
}

// As parallelPieces, for bodies that do not need the thread's number.
template <typename Body>
void parallelFor(int64_t total, int64_t grain, const Body& body) {
  parallelPieces(total, grain, [&body](int64_t begin, int64_t end, int64_t) {
    body(begin, end);
  });
}

}  // namespace dipu::kernels
