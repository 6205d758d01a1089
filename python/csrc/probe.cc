// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/probe.h"

#include "core/loader/loader.h"

namespace dipu::python {
namespace {

// A vendor that is only looked at has nothing to log.
void ignoreLog(dipu_log_level, const char*) {}

const dipu_host_services kHost = {sizeof(dipu_host_services), DIPU_ABI_VERSION,
                                  0, ignoreLog};

// Text of `error`, released; "" for success.
std::string take(dipu_error* error) {
  if (error == nullptr) return "";
  std::string text = error->message;
  error->release(error);
  return text;
}

}  // namespace

VendorFacts factsOf(const dipu_vendor& vendor, const std::string& file) {
  VendorFacts facts;
  facts.name = vendor.name;
  facts.display_name = vendor.display_name;
  facts.version = vendor.version;
  facts.sdk_version = vendor.sdk_version == nullptr ? "" : vendor.sdk_version;
  facts.abi = std::to_string(DIPU_VERSION_MAJOR(vendor.abi_version)) + "." +
              std::to_string(DIPU_VERSION_MINOR(vendor.abi_version));
  facts.file = file;
  facts.simulated = (vendor.flags & DIPU_VENDOR_SIMULATED) != 0;
  return facts;
}

ProbeResult probeVendor(const std::string& path) {
  const loader::Library library = loader::Library::open(path);
  const dipu_vendor& vendor = library.vendor();
  ProbeResult result;
  result.facts = factsOf(vendor, library.path());
  result.error = take(vendor.initialize(&kHost));
  if (!result.error.empty()) return result;
  result.error = take(vendor.device->get_count(&result.devices));
  if (!result.error.empty()) {
    result.devices = 0;
  } else if (result.devices == 0) {
    result.error = "the vendor reports no device";
  }
  return result;
}

}  // namespace dipu::python
