// SPDX-License-Identifier: Apache-2.0
#include "core/loader/start.h"

#include <string>

#include "core/loader/exception.h"
#include "core/loader/text.h"

namespace dipu::loader {
namespace {

// Runs one call of the vendor. Returns why it failed, or "".
template <typename Call>
std::string problemOf(const char* failure, Call call) {
  try {
    dipu_error* const error = call();
    if (error == nullptr) return "";
    return std::string(failure) + ": " + takeError(error).text;
  } catch (...) {
    return std::string(failure) + ": it " + currentException();
  }
}

std::string checkCount(int32_t count) {
  if (count == 0) return "found no device";
  if (count > 0 && count <= DIPU_MAX_DEVICE_COUNT) return "";
  return "reports " + std::to_string(count) + " devices, 0 to " +
         std::to_string(DIPU_MAX_DEVICE_COUNT) +
         " are possible. Check the driver, and report it to the vendor";
}

}  // namespace

Started startVendor(const dipu_vendor& vendor, const dipu_host_services& host) {
  Started started;
  started.problem =
      problemOf("could not start", [&] { return vendor.initialize(&host); });
  if (!started.problem.empty()) return started;
  int32_t count = 0;
  started.problem = problemOf("could not count its devices",
                              [&] { return vendor.device->get_count(&count); });
  if (started.problem.empty()) started.problem = checkCount(count);
  if (started.problem.empty()) started.devices = count;
  return started;
}

}  // namespace dipu::loader
