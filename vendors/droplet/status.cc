// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/status.h"

#include <cstdarg>
#include <cstdio>

#include "core/plugin_kit/error.h"

namespace dipu::vendors::droplet {

dipu_status_code canonicalCode(tangError_t code) noexcept {
  switch (static_cast<int>(code)) {
    case tangSuccess:
      return DIPU_OK;
    case tangErrorInvalidValue:
    case tangErrorInvalidConfiguration:
    case tangErrorInvalidDevicePointer:
    case tangErrorInvalidMemcpyDirection:
    case tangErrorInvalidDevice:
    case tangErrorInvalidResourceHandle:
      return DIPU_INVALID_ARGUMENT;
    // The runtime and the driver report exhaustion with codes of their own.
    case tangErrorMemoryAllocation:
    case tangErrorDeviceOutOfMemory:
      return DIPU_RESOURCE_EXHAUSTED;
    case tangErrorInitializationError:
    case tangErrorInsufficientDriver:
    case tangErrorNoDevice:
    case tangErrorDriverIoctlFailed:
      return DIPU_UNAVAILABLE;
    case tangErrorNotImplemented:
    case tangErrorNotSupported:
      return DIPU_UNIMPLEMENTED;
    case tangErrorSymbolNotFound:
      return DIPU_NOT_FOUND;
    case tangErrorStreamCaptureUnsupported:
    case tangErrorStreamCaptureInvalidated:
    case tangErrorStreamCaptureMerge:
    case tangErrorStreamCaptureUnmatched:
    case tangErrorStreamCaptureUnjoined:
    case tangErrorStreamCaptureIsolation:
    case tangErrorStreamCaptureImplicit:
    case tangErrorStreamCaptureWrongThread:
    case tangErrorCapturedEvent:
    case tangErrorDeinitialized:
    case tangErrorIllegalState:
    case tangErrorNotReady:
    case tangErrorPeerAccessNotEnabled:
      return DIPU_FAILED_PRECONDITION;
    case tangErrorPeerAccessAlreadyEnabled:
    case tangErrorHostMemoryAlreadyRegistered:
      return DIPU_ALREADY_EXISTS;
    case tangErrorIllegalAddress:
    case tangErrorLaunchFailure:
      return DIPU_INTERNAL;
    default:
      return DIPU_UNKNOWN;
  }
}

dipu_error* check(tangError_t code, const char* format, ...) noexcept {
  if (__builtin_expect(code == tangSuccess, 1)) return nullptr;
  char call[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(call, sizeof(call), format, arguments);
  va_end(arguments);
  return plugin_kit::makeError(canonicalCode(code), code, "%s failed: %s (%s)",
                               call, tangGetErrorString(code),
                               tangGetErrorName(code));
}

}  // namespace dipu::vendors::droplet
