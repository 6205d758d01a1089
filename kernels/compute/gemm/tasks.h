// SPDX-License-Identifier: Apache-2.0
//
// A team that takes independent pieces of a product one by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/compute/parallel.h"

namespace dipu::kernels::gemm {

// Calls plan(threads), which returns the number of tasks, and then body(task)
// for each task. `threads` is 1 when `worthwhile` is false or a team is
// already at work. See Note [One team] in parallel.h.
template <typename Plan, typename Body>
void runTasks(bool worthwhile, const Plan& plan, const Body& body) {
#ifdef _OPENMP
  if (worthwhile && !insideTeam()) {
    const Team team;
    const int64_t tasks = plan(team.size());
    const int64_t threads = std::min(tasks, team.size());
    if (threads > 1) {
      TeamFailure failure;
      std::atomic<int64_t> next{0};
#pragma omp parallel num_threads(static_cast<int>(threads))
      {
        const TeamMember member(&failure);
        try {
          for (int64_t task = next++; task < tasks; task = next++) body(task);
        } catch (...) {
          failTaskByException();
        }
      }
      failure.report();
    } else {
      for (int64_t task = 0; task < tasks; ++task) body(task);
    }
    return;
  }
#else
  static_cast<void>(worthwhile);
#endif
  const int64_t tasks = plan(int64_t{1});
  for (int64_t task = 0; task < tasks; ++task) body(task);
}

}  // namespace dipu::kernels::gemm
