// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/error.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>

#include <string>

#include "core/runtime/vendor.h"

namespace dipu::runtime {
namespace {

// Reads and releases `error`.
std::string takeMessage(dipu_error* error, int32_t device) {
  std::string text = c10::str(deviceLabel(device), ": ", error->message);
  if (error->vendor_code != 0) {
    text += c10::str(" (vendor code ", error->vendor_code, ")");
  }
  error->release(error);
  return text;
}

}  // namespace

void throwError(dipu_error* error, int32_t device) {
  const dipu_status_code code = error->code;
  const auto vendor_code = static_cast<int32_t>(error->vendor_code);
  std::string text = takeMessage(error, device);
  switch (code) {
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
      throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, vendor_code,
                                  std::move(text));
    default:
      TORCH_CHECK(false, text);
  }
}

bool succeeded(dipu_error* error, const char* what) noexcept {
  if (error == nullptr) return true;
  try {
    LOG(WARNING) << what << " failed: " << takeMessage(error, DIPU_HOST);
  } catch (...) {
  }
  return false;
}

}  // namespace dipu::runtime
