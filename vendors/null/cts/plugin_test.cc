// SPDX-License-Identifier: Apache-2.0
//
// The skeleton loads, has no devices, and says so.
#include <gtest/gtest.h>

#include <string>

#include "core/loader/loader.h"
#include "core/plugin_kit/error.h"

namespace dipu::vendors::null {
namespace {

using plugin_kit::ErrorPtr;

const dipu_vendor& vendor() {
  static const loader::Library library =
      loader::Library::open("vendors/null/dist/libdipu_null.so");
  return library.vendor();
}

TEST(Plugin, HasNoDevices) {
  EXPECT_STREQ(vendor().name, "null");
  const dipu_host_services host{};
  EXPECT_EQ(vendor().initialize(&host), nullptr);
  int32_t count = -1;
  EXPECT_EQ(vendor().device->get_count(&count), nullptr);
  EXPECT_EQ(count, 0);
}

TEST(Plugin, SaysWhyItCannotServe) {
  int32_t device = 7;
  const ErrorPtr error(vendor().device->get_current(&device));
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, DIPU_UNAVAILABLE);
  EXPECT_NE(std::string(error->message).find("no devices"), std::string::npos);
  EXPECT_EQ(device, 7) << "outputs are untouched on error";
  void* pointer = nullptr;
  EXPECT_NE(ErrorPtr(vendor().memory->allocate(0, 16, &pointer)), nullptr);
  dipu_stream* stream = nullptr;
  EXPECT_NE(ErrorPtr(vendor().stream->get_default(0, &stream)), nullptr);
  dipu_event* event = nullptr;
  EXPECT_NE(ErrorPtr(vendor().event->create(0, 0, &event)), nullptr);
}

TEST(Plugin, ReleasesNothing) {
  vendor().memory->deallocate(0, nullptr);
  vendor().memory->host_deallocate(nullptr);
  vendor().stream->destroy(0, nullptr);
  vendor().event->destroy(nullptr);
}

}  // namespace
}  // namespace dipu::vendors::null
