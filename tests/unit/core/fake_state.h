// SPDX-License-Identifier: Apache-2.0
//
// What the tables of the fake vendor work on.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/abi/runtime.h"
#include "tests/unit/core/fake_streams.h"
#include "tests/unit/core/fake_vendor.h"

namespace dipu::testing {

// Guarded by its mutex.
struct FakeState {
  std::mutex mutex;
  FakeStreams streams;
  std::array<std::size_t, kFakeDevices> capacity{std::size_t{1} << 40,
                                                 std::size_t{1} << 40};
  // Address to device and size.
  std::map<const char*, std::pair<int, std::size_t>> memory;
  std::map<const char*, std::size_t> pinned;
  std::string initialize_failure;
  std::string work_failure;
  dipu_status_code allocate_failure = DIPU_OK;
  std::function<void()> on_deallocate;
  // What the next allocate of that many bytes hands out.
  std::pair<void*, std::size_t> recycled{nullptr, 0};
  Calls calls;
};

// The only one; never destroyed.
FakeState& state();

// Holds the state's lock.
std::unique_lock<std::mutex> locked();

// The functions below require the lock.

// Bytes that are allocated on `device`.
std::size_t usedBytes(int device);

// Runs all work; returns the failure that a test asked for.
dipu_error* finish();

// The memory table, in fake_memory.cc.
extern const dipu_memory_api kFakeMemoryApi;

}  // namespace dipu::testing
