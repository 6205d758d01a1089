// SPDX-License-Identifier: Apache-2.0
//
// What the runtime remembers per thread. Internal to core/runtime; included by
// its headers so that the hot paths are inline.
#pragma once

#include <c10/core/Device.h>

namespace dipu::runtime {

struct StreamRecord;

namespace detail {

// Kept small because it lives in the static TLS block: the initial-exec model
// turns an access into one instruction instead of a call.
struct ThreadState {
  // Current device, -1 before the first use.
  c10::DeviceIndex device;
  // Current stream by device index; null before the first use. An entry is
  // null until the thread uses that device.
  StreamRecord** streams;
};

extern constinit thread_local ThreadState t_state
    __attribute__((tls_model("initial-exec")));

}  // namespace detail
}  // namespace dipu::runtime
