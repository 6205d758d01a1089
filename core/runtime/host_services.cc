// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/host_services.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <mutex>
#include <string>
#include <unordered_set>

#include "core/loader/text.h"

namespace dipu::runtime {
namespace {

// Whether `message` is new.
bool firstTime(const std::string& message) {
  static auto* const mutex = new std::mutex;
  static auto* const seen = new std::unordered_set<std::string>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return seen->insert(message).second;
}

// Nothing may leave: the caller is C code, and a warning that the user turned
// into an error throws.
void log(dipu_log_level level, const char* message) {
  try {
    const std::string text = loader::safeText(message);
    if (level == DIPU_LOG_INFO || level == DIPU_LOG_DEBUG) {
      VLOG(level == DIPU_LOG_INFO ? 1 : 2) << text;
    } else if (firstTime(text)) {
      TORCH_WARN(text);
    }
  } catch (...) {
  }
}

}  // namespace

const dipu_host_services& hostServices() noexcept {
  static constexpr dipu_host_services kServices = {sizeof(dipu_host_services),
                                                   DIPU_ABI_VERSION, 0, &log};
  return kServices;
}

}  // namespace dipu::runtime
