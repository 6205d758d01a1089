// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/error.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>

#include <atomic>
#include <string>

#include "core/loader/text.h"
#include "core/runtime/explainer.h"
#include "core/runtime/vendor.h"

namespace dipu::runtime {
namespace {

std::string messageOf(const loader::VendorError& error, int32_t device) {
  std::string text = c10::str(deviceLabel(device), ": ", error.text);
  if (error.vendor_code != 0) {
    text += c10::str(" (vendor code ", error.vendor_code, ")");
  }
  return text;
}

std::atomic<Explainer> g_explainer{nullptr};

std::string explanation(int32_t device, const std::string& message) {
  constexpr char kLasting[] =
      "; if later calls fail too, only a new process can use the device";
  const Explainer explain = g_explainer.load(std::memory_order_acquire);
  if (explain != nullptr) return kLasting + explain(device, message);
  return c10::str(
      kLasting,
      ". An operator called earlier may be the cause: set "
      "DIPU_LAUNCH_BLOCKING=1 to wait for each one and learn which");
}

}  // namespace

void throwError(dipu_error* error, int32_t device) {
  const loader::VendorError taken = loader::takeError(error);
  std::string text = messageOf(taken, device);
  if (taken.code == DIPU_INTERNAL && device != DIPU_HOST) {
    text += explanation(device, text);
  }
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

void setExplainer(Explainer explainer) noexcept {
  g_explainer.store(explainer, std::memory_order_release);
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

}  // namespace dipu::runtime
