// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/status.h"

#include <cstdarg>
#include <cstdio>

namespace dipu::tang {
namespace {

struct ErrorText {
  tangError_t code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {tangSuccess, "tangSuccess", "no error"},
    {tangErrorInvalidValue, "tangErrorInvalidValue", "invalid argument"},
    {tangErrorMemoryAllocation, "tangErrorMemoryAllocation",
     "out of host memory"},
    {tangErrorInitializationError, "tangErrorInitializationError",
     "initialization failed"},
    {tangErrorDeinitialized, "tangErrorDeinitialized",
     "the runtime is shutting down"},
    {tangErrorInvalidConfiguration, "tangErrorInvalidConfiguration",
     "invalid launch configuration"},
    {tangErrorInvalidDevicePointer, "tangErrorInvalidDevicePointer",
     "invalid device pointer"},
    {tangErrorInvalidMemcpyDirection, "tangErrorInvalidMemcpyDirection",
     "invalid copy direction"},
    {tangErrorInsufficientDriver, "tangErrorInsufficientDriver",
     "the driver is older than the runtime"},
    {tangErrorNotImplemented, "tangErrorNotImplemented", "not implemented"},
    {tangErrorNoDevice, "tangErrorNoDevice", "no device is available"},
    {tangErrorInvalidDevice, "tangErrorInvalidDevice", "invalid device index"},
    {tangErrorIllegalState, "tangErrorIllegalState",
     "not possible in this state"},
    {tangErrorStreamCaptureUnsupported, "tangErrorStreamCaptureUnsupported",
     "not permitted while a stream is being captured"},
    {tangErrorStreamCaptureInvalidated, "tangErrorStreamCaptureInvalidated",
     "an earlier call has spoilt the capture"},
    {tangErrorStreamCaptureMerge, "tangErrorStreamCaptureMerge",
     "two captures would become one"},
    {tangErrorStreamCaptureUnmatched, "tangErrorStreamCaptureUnmatched",
     "no capture began on this stream"},
    {tangErrorStreamCaptureUnjoined, "tangErrorStreamCaptureUnjoined",
     "the capture's stream has not waited for a forked stream"},
    {tangErrorStreamCaptureIsolation, "tangErrorStreamCaptureIsolation",
     "captured work would depend on work outside of the capture"},
    {tangErrorStreamCaptureImplicit, "tangErrorStreamCaptureImplicit",
     "captured work would depend on the default stream"},
    {tangErrorStreamCaptureWrongThread, "tangErrorStreamCaptureWrongThread",
     "another thread has begun the capture"},
    {tangErrorCapturedEvent, "tangErrorCapturedEvent",
     "the event was recorded in a capture"},
    {tangErrorInvalidResourceHandle, "tangErrorInvalidResourceHandle",
     "invalid resource handle"},
    {tangErrorSymbolNotFound, "tangErrorSymbolNotFound", "symbol not found"},
    {tangErrorNotReady, "tangErrorNotReady", "work is pending"},
    {tangErrorIllegalAddress, "tangErrorIllegalAddress",
     "device code used an illegal address"},
    {tangErrorPeerAccessAlreadyEnabled, "tangErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {tangErrorPeerAccessNotEnabled, "tangErrorPeerAccessNotEnabled",
     "peer access is not enabled"},
    {tangErrorHostMemoryAlreadyRegistered,
     "tangErrorHostMemoryAlreadyRegistered",
     "this host memory is already registered"},
    {tangErrorLaunchFailure, "tangErrorLaunchFailure", "device code failed"},
    {tangErrorNotSupported, "tangErrorNotSupported", "not supported"},
    {tangErrorUnknown, "tangErrorUnknown", "unknown error"},
    {tangErrorDeviceOutOfMemory, "tangErrorDeviceOutOfMemory",
     "out of device memory"},
    {tangErrorDriverIoctlFailed, "tangErrorDriverIoctlFailed",
     "a call to the driver failed"},
};

const ErrorText* findError(tangError_t code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

// Without destructors, so that they can be read while a thread ends.
thread_local tangError_t last_error = tangSuccess;
thread_local tangError_t detailed_error = tangSuccess;
thread_local char details[640] = "";

}  // namespace

tangError_t codeOf(soft_status status) {
  switch (status) {
    case SOFT_OK:
      return tangSuccess;
    case SOFT_INVALID_VALUE:
      return tangErrorInvalidValue;
    case SOFT_OUT_OF_MEMORY:
      return tangErrorMemoryAllocation;
    case SOFT_NO_DEVICE:
      return tangErrorNoDevice;
    case SOFT_INVALID_DEVICE:
      return tangErrorInvalidDevice;
    case SOFT_INVALID_HANDLE:
      return tangErrorInvalidResourceHandle;
    case SOFT_NOT_READY:
      return tangErrorNotReady;
    case SOFT_ILLEGAL_ADDRESS:
      return tangErrorIllegalAddress;
    case SOFT_LAUNCH_FAILURE:
      return tangErrorLaunchFailure;
    case SOFT_NOT_SUPPORTED:
      return tangErrorNotSupported;
    case SOFT_NOT_PERMITTED:
      return tangErrorIllegalState;
    case SOFT_CAPTURE_UNSUPPORTED:
      return tangErrorStreamCaptureUnsupported;
    case SOFT_CAPTURE_INVALIDATED:
      return tangErrorStreamCaptureInvalidated;
    case SOFT_CAPTURE_UNMATCHED:
      return tangErrorStreamCaptureUnmatched;
    case SOFT_CAPTURE_UNJOINED:
      return tangErrorStreamCaptureUnjoined;
    case SOFT_CAPTURE_IMPLICIT:
      return tangErrorStreamCaptureImplicit;
    case SOFT_DEVICE_LOST:
      return tangErrorDriverIoctlFailed;
    default:
      return tangErrorUnknown;
  }
}

tangError_t fail(tangError_t code, const char* format, ...) {
  const ErrorText* error = findError(code);
  int length = std::snprintf(details, sizeof(details), "%s: ", error->text);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(details + length, sizeof(details) - length, format, arguments);
  va_end(arguments);
  detailed_error = code;
  last_error = code;
  return code;
}

tangError_t check(soft_status status) {
  if (status == SOFT_OK) return tangSuccess;
  if (status == SOFT_NOT_READY) return tangErrorNotReady;
  return fail(codeOf(status), "%s", soft_last_message());
}

tangError_t requireOutput(const char* function, const void* output) {
  if (output != nullptr) return tangSuccess;
  return fail(tangErrorInvalidValue, "%s: the output is NULL", function);
}

}  // namespace dipu::tang

tangError_t tangGetLastError(void) {
  const tangError_t error = dipu::tang::last_error;
  dipu::tang::last_error = tangSuccess;
  return error;
}

tangError_t tangPeekAtLastError(void) { return dipu::tang::last_error; }

const char* tangGetErrorName(tangError_t error) {
  const auto* known = dipu::tang::findError(error);
  return known == nullptr ? "unrecognized error code" : known->name;
}

const char* tangGetErrorString(tangError_t error) {
  if (error != tangSuccess && error == dipu::tang::detailed_error) {
    return dipu::tang::details;
  }
  const auto* known = dipu::tang::findError(error);
  return known == nullptr ? "unrecognized error code" : known->text;
}
