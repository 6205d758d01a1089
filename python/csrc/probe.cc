// SPDX-License-Identifier: Apache-2.0
#include "python/csrc/probe.h"

#include "core/loader/loader.h"
#include "core/loader/start.h"
#include "core/loader/text.h"

namespace dipu::python {
namespace {

// A vendor that is only looked at has nothing to log.
void ignoreLog(dipu_log_level, const char*) {}

const dipu_host_services kHost = {sizeof(dipu_host_services), DIPU_ABI_VERSION,
                                  0, ignoreLog};

std::string versionText(uint32_t version) {
  return std::to_string(DIPU_VERSION_MAJOR(version)) + "." +
         std::to_string(DIPU_VERSION_MINOR(version));
}

}  // namespace

std::string hostAbi() { return versionText(DIPU_ABI_VERSION); }

VendorFacts factsOf(const dipu_vendor& vendor, const std::string& file) {
  VendorFacts facts;
  facts.name = vendor.name;
  facts.display_name = loader::safeText(vendor.display_name);
  facts.version = loader::safeText(vendor.version);
  facts.sdk_version = loader::safeText(vendor.sdk_version);
  facts.abi = versionText(vendor.abi_version);
  facts.file = file;
  facts.simulated = (vendor.flags & DIPU_VENDOR_SIMULATED) != 0;
  return facts;
}

OpenedVendor openVendor(const std::string& path) {
  const loader::Library library = loader::Library::open(path);
  return {factsOf(library.vendor(), library.path()), library.notes(),
          library.operatorLibraryPath()};
}

ProbeResult probeVendor(const std::string& path) {
  const loader::Library library = loader::Library::open(path);
  const dipu_vendor& vendor = library.vendor();
  ProbeResult result;
  result.facts = factsOf(vendor, library.path());
  const loader::Started started = loader::startVendor(vendor, kHost);
  result.devices = started.devices;
  if (!started.problem.empty()) {
    result.error = "vendor " + result.facts.name + " (" +
                   loader::safeText(library.path()) + ") " + started.problem;
  }
  return result;
}

}  // namespace dipu::python
