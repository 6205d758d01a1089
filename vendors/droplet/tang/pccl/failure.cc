// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/failure.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace dipu::pccl {

namespace {

// No string: a destructor per thread would have to run while threads end.
constexpr std::size_t kTextBytes = 1024;
thread_local char last_text[kTextBytes];

}  // namespace

const char* lastFailure() { return last_text; }

void setLastFailure(const std::string& text) {
  std::snprintf(last_text, sizeof(last_text), "%s", text.c_str());
}

pcclResult_t fail(pcclResult_t code, const char* format, ...) {
  // What is formatted may hold the text of before.
  char text[kTextBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::memcpy(last_text, text, sizeof(text));
  return code;
}

pcclResult_t failOfTang(const char* call, tangError_t error) {
  // That of a child that was forked when it was too late.
  const bool is_misuse = error == tangErrorIllegalState;
  return fail(is_misuse ? pcclInvalidUsage : pcclUnhandledTangError, "%s: %s",
              call, tangGetErrorString(error));
}

}  // namespace dipu::pccl
