// SPDX-License-Identifier: Apache-2.0
//
// plugin.c as a later minor version of the contract would build it: every table
// and every struct goes on behind the fields that are known today, and the
// functions look for the new fields of what they are given.
#include <cstddef>
#include <cstdint>

#include "core/abi/vendor_api.h"

// Defined by plugin.c, built under this name.
extern "C" const dipu_vendor* dipu_known_vendor(uint32_t max_abi_version);

namespace {

// What a later header would append below `/* since 1.N */`. Not NULL, so that
// a reader which took it for something else would be found out.
template <typename Known>
struct Newer {
  static_assert(sizeof(Known) % alignof(void*) == 0, "no padding at the end");
  Known known;
  dipu_error* (*newer_slot)(const char* text);
  uint64_t newer_value;
};

dipu_error* newerFunction(const char*) { return nullptr; }

constexpr uint32_t newerMinor(uint32_t version) { return version + 7; }

template <typename Known>
Newer<Known> extend(const Known& known) {
  Newer<Known> newer{known, newerFunction, 0xfeedfacefeedface};
  newer.known.struct_size = sizeof(newer);
  return newer;
}

template <typename Table>
Newer<Table> extendTable(const Table& known) {
  Newer<Table> newer = extend(known);
  newer.known.version = newerMinor(known.version);
  return newer;
}

using NewerProperties = Newer<dipu_device_properties>;

// Writes the new field only where the caller has room for it.
dipu_error* getProperties(int32_t device, dipu_device_properties* inout) {
  auto* const newer = reinterpret_cast<NewerProperties*>(inout);
  if (inout->struct_size >= sizeof(NewerProperties)) newer->newer_value = 1;
  return dipu_known_vendor(DIPU_ABI_VERSION)
      ->device->get_properties(device, inout);
}

struct Vendor {
  const dipu_vendor& known = *dipu_known_vendor(DIPU_ABI_VERSION);
  Newer<dipu_device_api> device = extendTable(*known.device);
  Newer<dipu_memory_api> memory = extendTable(*known.memory);
  Newer<dipu_stream_api> stream = extendTable(*known.stream);
  Newer<dipu_event_api> event = extendTable(*known.event);
  Newer<dipu_vendor> vendor = extend(known);

  Vendor() {
    device.known.get_properties = getProperties;
    vendor.known.abi_version = newerMinor(known.abi_version);
    vendor.known.flags |= 1u << 31;  // a flag that nobody knows yet
    vendor.known.device = &device.known;
    vendor.known.memory = &memory.known;
    vendor.known.stream = &stream.known;
    vendor.known.event = &event.known;
  }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor.known;
}
