// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/status.h"

#include <cstdarg>
#include <cstdio>

namespace dipu::softdevice {
namespace {

// A plain array: it needs no destructor, so the last message stays readable
// while other thread-local objects are torn down.
thread_local char last_message[512] = "";

}  // namespace

soft_status fail(soft_status status, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(last_message, sizeof(last_message), format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace dipu::softdevice

const char* soft_status_name(soft_status status) {
  switch (status) {
    case SOFT_OK:
      return "SOFT_OK";
    case SOFT_INVALID_VALUE:
      return "SOFT_INVALID_VALUE";
    case SOFT_OUT_OF_MEMORY:
      return "SOFT_OUT_OF_MEMORY";
    case SOFT_NO_DEVICE:
      return "SOFT_NO_DEVICE";
    case SOFT_INVALID_DEVICE:
      return "SOFT_INVALID_DEVICE";
    case SOFT_INVALID_HANDLE:
      return "SOFT_INVALID_HANDLE";
    case SOFT_NOT_READY:
      return "SOFT_NOT_READY";
    case SOFT_ILLEGAL_ADDRESS:
      return "SOFT_ILLEGAL_ADDRESS";
    case SOFT_LAUNCH_FAILURE:
      return "SOFT_LAUNCH_FAILURE";
    case SOFT_NOT_SUPPORTED:
      return "SOFT_NOT_SUPPORTED";
    case SOFT_NOT_PERMITTED:
      return "SOFT_NOT_PERMITTED";
    case SOFT_CAPTURE_UNSUPPORTED:
      return "SOFT_CAPTURE_UNSUPPORTED";
    case SOFT_CAPTURE_INVALIDATED:
      return "SOFT_CAPTURE_INVALIDATED";
    case SOFT_CAPTURE_UNMATCHED:
      return "SOFT_CAPTURE_UNMATCHED";
    case SOFT_CAPTURE_UNJOINED:
      return "SOFT_CAPTURE_UNJOINED";
    case SOFT_CAPTURE_IMPLICIT:
      return "SOFT_CAPTURE_IMPLICIT";
    case SOFT_DEVICE_LOST:
      return "SOFT_DEVICE_LOST";
    default:
      return "SOFT_UNKNOWN_STATUS";
  }
}

const char* soft_last_message(void) { return dipu::softdevice::last_message; }
