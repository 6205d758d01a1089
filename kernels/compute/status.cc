// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/status.h"

#include <cstdarg>
#include <cstdio>

namespace dipu::kernels {
namespace {

thread_local char message[256] = "";

}  // namespace

Status fail(Status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  return status;
}

const char* lastMessage() { return message; }

Status unsupportedDType(const char* operation, DType dtype) {
  return fail(Status::kUnsupported, "%s has no kernel for dtype %s", operation,
              dtypeName(dtype));
}

const char* dtypeName(DType dtype) {
  static constexpr const char* kNames[kDTypeCount] = {
      "int8",   "uint8",   "int16",   "uint16",  "int32", "uint32",  "int64",
      "uint64", "float16", "float32", "float64", "bool",  "bfloat16"};
  const auto index = static_cast<unsigned>(dtype);
  return index < static_cast<unsigned>(kDTypeCount) ? kNames[index] : "unknown";
}

}  // namespace dipu::kernels
