// SPDX-License-Identifier: Apache-2.0
//
// How the contract's devices and handles map to tang. There, a thread has a
// current device, what is created belongs to it, and a handle remembers its
// device.
#pragma once

#include <cstdint>

#include "core/abi/base.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {

inline tangStream_t sdkHandle(dipu_stream* stream) {
  return reinterpret_cast<tangStream_t>(stream);
}

inline tangEvent_t sdkHandle(dipu_event* event) {
  return reinterpret_cast<tangEvent_t>(event);
}

// Runs `call`, a tang call that acts on the current device, with `device`
// current. The thread's current device is the same afterwards.
template <typename Call>
tangError_t onDevice(int32_t device, Call call) {
  int previous = 0;
  tangError_t status = tangGetDevice(&previous);
  if (status != tangSuccess) return status;
  if (previous == device) return call();
  status = tangSetDevice(device);
  if (status != tangSuccess) return status;
  status = call();
  tangSetDevice(previous);
  return status;
}

// The stream that the host uses where none is named. tang's own default stream
// is the handle NULL, which means another stream on each device, so every
// device gets a stream of its own for this. It lives until the device is reset.
tangError_t getDefaultStream(int32_t device, tangStream_t* out_stream);
// To be called when the device has been reset, which ends all of its streams.
void forgetDefaultStream(int32_t device);

}  // namespace dipu::vendors::droplet
