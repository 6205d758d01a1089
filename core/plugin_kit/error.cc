// SPDX-License-Identifier: Apache-2.0
#include "core/plugin_kit/error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace dipu::plugin_kit {
namespace {

void freeError(dipu_error* self) { std::free(self); }

void keepError(dipu_error* self) { static_cast<void>(self); }

// What is returned when an error cannot be allocated. Constant in all but type.
dipu_error no_memory_error = {
    sizeof(dipu_error),
    DIPU_RESOURCE_EXHAUSTED,
    0,
    0,
    "out of host memory while reporting an error; its text is lost",
    keepError,
};

// Length of the formatted text, or of the format when it cannot be formatted.
size_t formattedLength(const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, copy);
  va_end(copy);
  return length >= 0 ? static_cast<size_t>(length) : std::strlen(format);
}

}  // namespace

dipu_error* makeErrorFrom(dipu_status_code code, int64_t vendor_code,
                          const char* format, va_list arguments,
                          void* (*allocate)(size_t bytes)) noexcept {
  const size_t length = formattedLength(format, arguments);
  // The text lies behind the struct, so one block holds all of it.
  void* block = allocate(sizeof(dipu_error) + length + 1);
  if (block == nullptr) return &no_memory_error;
  char* text = static_cast<char*>(block) + sizeof(dipu_error);
  if (std::vsnprintf(text, length + 1, format, arguments) < 0) {
    std::snprintf(text, length + 1, "%s", format);
  }
  return new (block)
      dipu_error{sizeof(dipu_error), code, 0, vendor_code, text, freeError};
}

dipu_error* makeError(dipu_status_code code, int64_t vendor_code,
                      const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  dipu_error* error =
      makeErrorFrom(code, vendor_code, format, arguments, std::malloc);
  va_end(arguments);
  return error;
}

void releaseError(dipu_error* error) noexcept {
  if (error != nullptr && DIPU_HAS(error, release)) error->release(error);
}

}  // namespace dipu::plugin_kit
