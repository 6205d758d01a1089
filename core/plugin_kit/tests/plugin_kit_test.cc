// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdarg>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "core/abi/runtime.h"
#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"

namespace dipu::plugin_kit {
namespace {

dipu_error* makeWithoutMemory(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  dipu_error* error = makeErrorFrom(DIPU_INTERNAL, 5, format, arguments,
                                    [](size_t) -> void* { return nullptr; });
  va_end(arguments);
  return error;
}

TEST(MakeError, CarriesCodesAndFormattedText) {
  const ErrorPtr error(
      makeError(DIPU_NOT_FOUND, -12, "device %d of %s", 3, "droplet"));
  EXPECT_EQ(error->struct_size, sizeof(dipu_error));
  EXPECT_EQ(error->code, DIPU_NOT_FOUND);
  EXPECT_EQ(error->vendor_code, -12);
  EXPECT_STREQ(error->message, "device 3 of droplet");
}

TEST(MakeError, TextMayBeLong) {
  const std::string text(100000, 'x');
  const ErrorPtr error(makeError(DIPU_INTERNAL, 0, "%s", text.c_str()));
  EXPECT_EQ(error->message, text);
}

// The locale of the test is "C", which has no such character.
TEST(MakeError, KeepsAFormatThatCannotBeFormatted) {
  const ErrorPtr error(
      makeError(DIPU_INTERNAL, 3, "card %ls is not there", L"\x5361"));
  EXPECT_EQ(error->vendor_code, 3);
  EXPECT_STREQ(error->message, "card %ls is not there");
}

TEST(MakeError, IsStaticWithoutMemory) {
  dipu_error* error = makeWithoutMemory("copy of %d bytes", 7);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, DIPU_RESOURCE_EXHAUSTED);
  ASSERT_NE(error->message, nullptr);
  releaseError(error);
  // Still there for the next one.
  EXPECT_EQ(makeWithoutMemory("again"), error);
}

TEST(ReleaseError, AcceptsNull) { releaseError(nullptr); }

TEST(ReleaseError, ReleasesOnce) {
  static int released = 0;
  dipu_error error = {sizeof(error),
                      DIPU_INTERNAL,
                      0,
                      0,
                      "lost",
                      [](dipu_error*) { ++released; }};
  releaseError(&error);
  EXPECT_EQ(released, 1);
  error.struct_size = offsetof(dipu_error, release);
  releaseError(&error);
  EXPECT_EQ(released, 1) << "what lies behind is not a function";
}

TEST(ReleaseError, AcceptsAnErrorWithoutRelease) {
  dipu_error error = {sizeof(error), DIPU_INTERNAL, 0, 0, "lost", nullptr};
  releaseError(&error);
}

TEST(Guard, PassesResultsThrough) {
  EXPECT_EQ(guard([]() -> dipu_error* { return nullptr; }), nullptr);
  const ErrorPtr error(
      guard([] { return makeError(DIPU_ABORTED, 1, "stopped"); }));
  EXPECT_EQ(error->code, DIPU_ABORTED);
}

TEST(Guard, TurnsExceptionsIntoErrors) {
  const ErrorPtr memory(guard([]() -> dipu_error* { throw std::bad_alloc(); }));
  EXPECT_EQ(memory->code, DIPU_RESOURCE_EXHAUSTED);
  const ErrorPtr known(guard(
      []() -> dipu_error* { throw std::runtime_error("the cable is out"); }));
  EXPECT_EQ(known->code, DIPU_INTERNAL);
  EXPECT_STREQ(known->message, "unexpected exception: the cable is out");
  const ErrorPtr unknown(guard([]() -> dipu_error* { throw 7; }));
  EXPECT_EQ(unknown->code, DIPU_INTERNAL);
}

dipu_error* getCount(int32_t* out_count) {
  if (out_count == nullptr) throw std::invalid_argument("no output");
  *out_count = 4;
  return nullptr;
}

void destroyEvent(dipu_event* event) {
  if (event == nullptr) throw std::invalid_argument("no event");
}

constexpr dipu_device_api makeDeviceApi() {
  auto api = makeTable<dipu_device_api>(DIPU_DEVICE_API_VERSION);
  api.get_count = kGuarded<getCount>;
  return api;
}

TEST(Table, SlotsAreGuarded) {
  static constexpr dipu_device_api kApi = makeDeviceApi();
  EXPECT_EQ(kApi.struct_size, sizeof(dipu_device_api));
  EXPECT_EQ(kApi.version, DIPU_DEVICE_API_VERSION);
  EXPECT_FALSE(DIPU_HAS(&kApi, reset));
  int32_t count = 0;
  EXPECT_EQ(kApi.get_count(&count), nullptr);
  EXPECT_EQ(count, 4);
  const ErrorPtr error(kApi.get_count(nullptr));
  EXPECT_EQ(error->code, DIPU_INTERNAL);
}

TEST(Table, CopiesTheFieldsThatBothSidesKnow) {
  dipu_device_properties filled{};
  filled.struct_size = sizeof(filled);
  filled.total_memory = 5;
  filled.major = 3;
  filled.minor = 7;
  dipu_device_properties caller{};
  caller.struct_size = offsetof(dipu_device_properties, minor);
  caller.minor = -1;
  copyKnownFields(filled, &caller);
  EXPECT_EQ(caller.struct_size, offsetof(dipu_device_properties, minor));
  EXPECT_EQ(caller.total_memory, 5u);
  EXPECT_EQ(caller.major, 3);
  EXPECT_EQ(caller.minor, -1) << "the caller does not know this field";
}

TEST(Table, ReleaseSlotsSwallowExceptions) {
  auto api = makeTable<dipu_event_api>(DIPU_EVENT_API_VERSION);
  api.destroy = kGuarded<destroyEvent>;
  api.destroy(nullptr);
}

}  // namespace
}  // namespace dipu::plugin_kit
