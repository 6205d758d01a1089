// SPDX-License-Identifier: Apache-2.0
#include "core/vendor_call/call.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "core/plugin_kit/error.h"

namespace dipu::vendor_call {
namespace {

using plugin_kit::ErrorPtr;

constexpr char kThrew[] =
    "table.slot threw a C++ exception. The library breaks the vendor contract: "
    "the function has to return a dipu_error, as the guard of plugin_kit does; "
    "report it to the vendor. What was thrown: ";

enum class Mood { kGood, kFailing, kText, kNumber, kNoMemory };

void behave(Mood mood) {
  if (mood == Mood::kText) throw std::runtime_error("boom %s");
  if (mood == Mood::kNumber) throw 5;
  if (mood == Mood::kNoMemory) throw std::bad_alloc();
}

dipu_error* slot(Mood mood, int64_t* out) {
  behave(mood);
  if (mood == Mood::kFailing) {
    return plugin_kit::makeError(DIPU_NOT_FOUND, 3, "gone");
  }
  *out = 7;
  return nullptr;
}

ErrorPtr errorIn(Mood mood) {
  int64_t out = 0;
  return ErrorPtr(call("table.slot", slot, mood, &out));
}

TEST(Call, HandsArgumentsAndResultsOn) {
  int64_t out = 0;
  EXPECT_EQ(call("table.slot", slot, Mood::kGood, &out), nullptr);
  EXPECT_EQ(out, 7);
  const ErrorPtr error = errorIn(Mood::kFailing);
  EXPECT_STREQ(error->message, "gone");
  EXPECT_EQ(error->code, DIPU_NOT_FOUND);
}

TEST(Call, SaysWhoThrewWhat) {
  ErrorPtr error = errorIn(Mood::kText);
  EXPECT_EQ(error->message, std::string(kThrew) + "boom %s");
  EXPECT_EQ(error->code, DIPU_UNKNOWN);
  error = errorIn(Mood::kNumber);
  EXPECT_EQ(error->message,
            std::string(kThrew) + "something that is not a std::exception");
  EXPECT_EQ(error->code, DIPU_UNKNOWN);
}

TEST(Call, MissingMemoryIsNoOtherFailure) {
  const ErrorPtr error = errorIn(Mood::kNoMemory);
  EXPECT_EQ(error->message, std::string(kThrew) + "std::bad_alloc");
  EXPECT_EQ(error->code, DIPU_RESOURCE_EXHAUSTED);
}

TEST(Call, WhatCannotFailMayThrowAsWell) {
  EXPECT_EQ(call("table.slot", behave, Mood::kGood), nullptr);
  const ErrorPtr error(call("table.slot", behave, Mood::kText));
  ASSERT_NE(error, nullptr);
  EXPECT_STREQ(error->message,
               "table.slot threw a C++ exception. The library breaks the "
               "vendor contract: the function has to catch what is thrown in "
               "it; report it to the vendor. What was thrown: boom %s");
}

}  // namespace
}  // namespace dipu::vendor_call
