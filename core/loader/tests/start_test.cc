// SPDX-License-Identifier: Apache-2.0
//
// Vendors that do not start, or say impossible things.
#include "core/loader/start.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/loader/loader.h"
#include "core/loader/tests/test_vendor.h"

namespace dipu::loader {
namespace {

using testing::TestVendor;

constexpr dipu_host_services kHost = {sizeof(dipu_host_services),
                                      DIPU_ABI_VERSION, 0,
                                      [](dipu_log_level, const char*) {}};

int32_t g_count = 0;
int g_failures = 0;
int g_released = 0;

dipu_error* countDevices(int32_t* out_count) {
  *out_count = g_count;
  return nullptr;
}

// Fails as often as g_failures says.
dipu_error* initialize(const dipu_host_services*) {
  static dipu_error error = {
      sizeof(error), DIPU_UNAVAILABLE, 0, 0, "no driver", [](dipu_error*) {
        ++g_released;
      }};
  return g_failures-- > 0 ? &error : nullptr;
}

std::string problemWithCount(int32_t count) {
  TestVendor vendor;
  vendor.device.get_count = countDevices;
  g_count = count;
  const Started started = startVendor(vendor.vendor, kHost);
  EXPECT_EQ(started.devices, started.problem.empty() ? count : 0);
  return started.problem;
}

TEST(StartVendor, CountsDevices) {
  EXPECT_EQ(problemWithCount(1), "");
  EXPECT_EQ(problemWithCount(DIPU_MAX_DEVICE_COUNT), "");
  EXPECT_EQ(problemWithCount(0), "found no device");
}

TEST(StartVendor, RefusesAnImpossibleCount) {
  EXPECT_EQ(problemWithCount(-1),
            "reports -1 devices, 0 to 1024 are possible. Check the driver, and "
            "report it to the vendor");
  for (const int32_t count :
       {DIPU_MAX_DEVICE_COUNT + 1, std::numeric_limits<int32_t>::max(),
        std::numeric_limits<int32_t>::min()}) {
    EXPECT_NE(problemWithCount(count).find("are possible"), std::string::npos);
  }
}

TEST(StartVendor, MaySucceedAfterAFailure) {
  TestVendor vendor;
  vendor.vendor.initialize = initialize;
  vendor.device.get_count = countDevices;
  g_count = 2;
  g_failures = 1;
  EXPECT_EQ(startVendor(vendor.vendor, kHost).problem,
            "could not start: no driver");
  EXPECT_EQ(g_released, 1);
  EXPECT_EQ(startVendor(vendor.vendor, kHost).devices, 2);
}

TEST(StartVendor, ReportsExceptionsOfALibrary) {
  const Library library =
      Library::open("core/loader/tests/libthrowing_slots.so");
  const auto problem = [&] {
    return startVendor(library.vendor(), kHost).problem;
  };
  EXPECT_EQ(problem(),
            "could not start: it threw a C++ exception: the card\\xff is on "
            "fire. The library breaks the vendor contract; report it to the "
            "vendor");
  EXPECT_EQ(problem(),
            "could not start: it threw a C++ exception that is no "
            "std::exception. The library breaks the vendor contract; report it "
            "to the vendor");
  EXPECT_EQ(problem(),
            "could not count its devices: it threw a C++ exception: lost "
            "count. The library breaks the vendor contract; report it to the "
            "vendor");
}

}  // namespace
}  // namespace dipu::loader
