// SPDX-License-Identifier: Apache-2.0
//
// Whatever a vendor says can be shown.
#include "core/loader/text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace dipu::loader {
namespace {

TEST(SafeText, KeepsTheCharactersOfUtf8) {
  for (const char* text :
       {"", "plain text\n\tand more", "caf\xc3\xa9", "\xe2\x82\xac",
        "\xf0\x9f\x94\xa5", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(safeText(text), text);
  }
}

TEST(SafeText, EscapesWhatIsNone) {
  EXPECT_EQ(safeText("a\xff"), "a\\xff");
  EXPECT_EQ(safeText("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(safeText("\xe2\x82z"), "\\xe2\\x82z") << "cut off inside";
  EXPECT_EQ(safeText("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
  EXPECT_EQ(safeText("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(safeText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(safeText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(safeText("\x1b[2J"), "\\x1b[2J") << "a command to the terminal";
}

TEST(SafeText, NullIsEmpty) {
  const char* null = nullptr;
  EXPECT_EQ(safeText(null), "");
}

TEST(MakeSafe, EndsAndCleansABuffer) {
  char buffer[5] = {'a', '\xff', 'b', 'c', 'd'};
  makeSafe(buffer, sizeof(buffer));
  EXPECT_STREQ(buffer, "a?bc");
  makeSafe(buffer + 1, 0);
  EXPECT_STREQ(buffer, "a?bc");
}

TEST(MakeSafe, DoesNotLeaveHalfACharacter) {
  char buffer[3] = {'a', '\xc3', '\xa9'};
  makeSafe(buffer, sizeof(buffer));
  EXPECT_STREQ(buffer, "a?");
}

int g_released = 0;

dipu_error makeError(const char* message) {
  return {sizeof(dipu_error), DIPU_NOT_FOUND, 0, -5, message, [](dipu_error*) {
            ++g_released;
          }};
}

TEST(TakeError, ReadsAndReleases) {
  g_released = 0;
  dipu_error error = makeError("no such file");
  const VendorError taken = takeError(&error);
  EXPECT_EQ(taken.code, DIPU_NOT_FOUND);
  EXPECT_EQ(taken.vendor_code, -5);
  EXPECT_EQ(taken.text, "no such file");
  EXPECT_EQ(g_released, 1);
}

TEST(TakeError, ReplacesAMissingText) {
  for (const char* message : {static_cast<const char*>(nullptr), ""}) {
    dipu_error error = makeError(message);
    EXPECT_EQ(takeError(&error).text,
              "the vendor gave no text (code 5, vendor code -5). Report it to "
              "the vendor");
  }
  dipu_error error = makeError("\xfe");
  EXPECT_EQ(takeError(&error).text, "\\xfe");
}

TEST(TakeError, CutsALongText) {
  const std::string kept(1999, 'x');
  dipu_error error = makeError(nullptr);
  const auto textOf = [&error](const std::string& text) {
    error.message = text.c_str();
    return takeError(&error).text;
  };
  EXPECT_EQ(textOf(kept + "y"), kept + "y");
  EXPECT_EQ(textOf(kept + "y" + std::string(1 << 20, 'z')),
            kept + "y... (1048576 more bytes are left out)");
  EXPECT_EQ(textOf(kept + "\xe2\x82\xac"),
            kept + "... (3 more bytes are left out)")
      << "no half of a character";
}

TEST(TakeError, KnowsOnlyRealFailures) {
  for (const dipu_status_code code : {-1, 0, 17, 1000}) {
    dipu_error error = makeError("x");
    error.code = code;
    EXPECT_EQ(takeError(&error).code, DIPU_UNKNOWN) << code;
  }
}

TEST(TakeError, SurvivesAnErrorThatIsTooShort) {
  g_released = 0;
  dipu_error error = makeError("beyond the end");
  error.struct_size = offsetof(dipu_error, message);
  EXPECT_EQ(takeError(&error).text,
            "the vendor gave no text (code 5, vendor code -5). Report it to "
            "the vendor");
  error.struct_size = 0;
  const VendorError taken = takeError(&error);
  EXPECT_EQ(taken.code, DIPU_UNKNOWN);
  EXPECT_EQ(taken.vendor_code, 0);
  EXPECT_EQ(g_released, 0) << "what lies behind is not a function";
  dipu_error silent = makeError("x");
  silent.release = nullptr;
  EXPECT_EQ(takeError(&silent).text, "x");
}

}  // namespace
}  // namespace dipu::loader
