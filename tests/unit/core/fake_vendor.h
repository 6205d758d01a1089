// SPDX-License-Identifier: Apache-2.0
//
// A vendor in ordinary memory for the tests of core: two devices whose streams
// run their work at once, on the calling thread, unless a test holds them.
// Time passes only as a test says, so every interleaving is reproducible.
// Device 0 can reach device 1, but not the other way round.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/abi/vendor_api.h"

namespace dipu::testing {

inline constexpr int kFakeDevices = 2;

// The table; the same one on every call.
const dipu_vendor* fakeVendor();

// Work enqueued on `stream` from here on waits until it is let go. Whatever
// blocks (synchronise) lets all streams go first.
void holdStream(dipu_stream* stream);
void letStreamGo(dipu_stream* stream);

// Bytes that allocate may hand out on `device`.
void setCapacity(int device, std::size_t bytes);

// The next `initialize` fails with `text`; only before the first use.
void failInitialize(const std::string& text);

// The next call of memory.allocate fails with `code`.
void failNextAllocate(dipu_status_code code);

// The next call of memory.deallocate runs `action` just before it returns.
// Until then an allocate of as many bytes gets the same address.
void onNextDeallocate(std::function<void()> action);

// The next call that synchronises reports `text`, DIPU_INTERNAL, as it would
// after an enqueued kernel failed.
void failEnqueuedWork(const std::string& text);

// What the vendor was asked for since the process began.
struct Calls {
  int initialize = 0;
  int set_current = 0;
  int allocate = 0;
  int deallocate = 0;
  int synchronize_device = 0;
  int create_stream = 0;
  int create_event = 0;
  int record_event = 0;
  int host_allocate = 0;
  int enable_peer_access = 0;
  int shutdown = 0;
};
Calls calls();

// Bytes that are allocated on `device` now.
std::size_t liveBytes(int device);

// The SDK's current device of this thread.
int sdkDevice();

}  // namespace dipu::testing
