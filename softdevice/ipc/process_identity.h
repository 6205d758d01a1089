// SPDX-License-Identifier: Apache-2.0
//
// Which process, for ever: a number alone is given to another one later.
#pragma once

#include <cstdint>
#include <string>

namespace dipu::softdevice {

struct ProcessIdentity {
  int32_t pid = 0;
  uint32_t pid_namespace = 0;  // in which `pid` counts
  uint64_t start_time = 0;     // clock ticks after boot
};

// Its start time is 0 while it has never had a file descriptor left to find it.
ProcessIdentity thisProcess();

// False once the process has ended, even while its parent has not waited for
// it. Processes of another namespace cannot be seen and count as ended. While
// this process has no file descriptor left to look with, it counts as alive
// whenever any process has its number.
bool isAlive(const ProcessIdentity& process);

// Field 22 of the text of /proc/<pid>/stat; 0 for a process that has ended or
// a text that is none.
uint64_t startTimeOf(const std::string& stat);

}  // namespace dipu::softdevice
