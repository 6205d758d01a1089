// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/failure.h"

#include <cstdarg>
#include <cstdio>

namespace dipu::pccl {

std::string& lastFailure() {
  thread_local std::string text;
  return text;
}

pcclResult_t fail(pcclResult_t code, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  lastFailure() = text;
  return code;
}

pcclResult_t failOfTang(const char* call, tangError_t error) {
  // That of a child that was forked when it was too late.
  const bool is_misuse = error == tangErrorIllegalState;
  return fail(is_misuse ? pcclInvalidUsage : pcclUnhandledTangError, "%s: %s",
              call, tangGetErrorString(error));
}

}  // namespace dipu::pccl
