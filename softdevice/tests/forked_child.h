// SPDX-License-Identifier: Apache-2.0
//
// Running a piece of a test in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace dipu::softdevice {

// Added to the number of the signal that ended a child.
constexpr int kSignalled = 1000;
// A child that lives longer hangs, and its alarm ends it.
constexpr unsigned kChildSeconds = 40;

// Runs `body` in a child; its exit status, 0 when `body` returned.
template <typename Body>
int runInChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status)
                           : kSignalled + WTERMSIG(status);
}

inline void childExpect(bool condition, const char* text, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: %s\n", line, text);
  _exit(2);
}

}  // namespace dipu::softdevice

// A failed expectation ends the child with status 2.
#define CHILD_EXPECT(condition) \
  ::dipu::softdevice::childExpect(bool(condition), #condition, __LINE__)
