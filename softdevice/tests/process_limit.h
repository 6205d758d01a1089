// SPDX-License-Identifier: Apache-2.0
//
// A lower limit of the system, for the tests of what it then refuses.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace dipu::softdevice {

// Lowers a soft limit of this process, such as RLIMIT_NOFILE, while it is in
// scope.
class ProcessLimit {
 public:
  ProcessLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource_, &before_), 0);
    const rlimit lower{value, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &lower), 0);
  }
  ~ProcessLimit() { EXPECT_EQ(setrlimit(resource_, &before_), 0); }
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace dipu::softdevice
