// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/error.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>

#include <string>

#include "core/loader/text.h"
#include "core/runtime/vendor.h"

namespace dipu::runtime {
namespace {

std::string messageOf(const loader::VendorError& error, int32_t device) {
  std::string text = c10::str(deviceLabel(device), ": ", error.text);
  if (error.vendor_code != 0) {
    text += c10::str(" (vendor code ", error.vendor_code, ")");
  }
  if (error.code == DIPU_INTERNAL && device != DIPU_HOST) {
    text += "; if later calls fail too, only a new process can use the device";
  }
  return text;
}

}  // namespace

void throwError(dipu_error* error, int32_t device) {
  const loader::VendorError taken = loader::takeError(error);
  std::string text = messageOf(taken, device);
  switch (taken.code) {
    case DIPU_RESOURCE_EXHAUSTED:
      TORCH_CHECK_WITH(OutOfMemoryError, false, text);
    case DIPU_UNIMPLEMENTED:
      TORCH_CHECK_NOT_IMPLEMENTED(false, text);
    case DIPU_INVALID_ARGUMENT:
      TORCH_CHECK_VALUE(false, text);
    case DIPU_OUT_OF_RANGE:
      TORCH_CHECK_INDEX(false, text);
    case DIPU_ABORTED:
    case DIPU_DATA_LOSS:
    case DIPU_INTERNAL:
    case DIPU_UNAVAILABLE:
    case DIPU_UNKNOWN:
      throw c10::AcceleratorError({__func__, __FILE__, __LINE__},
                                  static_cast<int32_t>(taken.vendor_code),
                                  std::move(text));
    default:
      TORCH_CHECK(false, text);
  }
}

bool succeeded(dipu_error* error, const char* what) noexcept {
  if (error == nullptr) return true;
  try {
    LOG(WARNING) << what << " failed: "
                 << messageOf(loader::takeError(error), DIPU_HOST);
  } catch (...) {
  }
  return false;
}

void logException(const char* what) noexcept {
  try {
    LOG(WARNING) << what << " failed: " << deviceLabel(DIPU_HOST)
                 << " threw a C++ exception";
  } catch (...) {
  }
}

}  // namespace dipu::runtime
