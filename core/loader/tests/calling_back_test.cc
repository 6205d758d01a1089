// SPDX-License-Identifier: Apache-2.0
//
// A library that calls back into the host while it is being opened gets an
// error, and neither recursion nor a deadlock.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/loader/loader.h"

namespace {

namespace fs = std::filesystem;

constexpr char kPath[] = "core/loader/tests/libcalling_back.so";
constexpr char kOther[] = "core/loader/tests/libgood_vendor.so";

// What opening `path` said at each moment; "" for success.
struct Answers {
  const char* path;
  std::map<std::string, std::string> by_moment;
};
Answers* g_answers = nullptr;

std::string textOfOpening(const char* path) {
  try {
    dipu::loader::Library::open(path);
  } catch (const dipu::loader::LoadError& error) {
    return error.what();
  }
  return "";
}

// What opening `path` says while the calling library is being opened.
std::string expected(const char* path) {
  return "cannot load vendor library " + fs::absolute(path).string() +
         ": it is asked for while " + fs::absolute(kPath).string() +
         " is being opened, whose constructors or entry point call back into "
         "the host. Report it to that library's vendor";
}

TEST(CallingBack, IsRefusedAtEveryMoment) {
  Answers answers{kPath, {}};
  g_answers = &answers;
  EXPECT_EQ(textOfOpening(kPath), "") << "the library itself is fine";
  g_answers = nullptr;
  for (const char* moment : {"constructor", "query"}) {
    EXPECT_EQ(answers.by_moment[moment], expected(kPath));
  }
}

TEST(CallingBack, ConcernsOtherLibrariesToo) {
  Answers answers{kOther, {}};
  g_answers = &answers;
  EXPECT_EQ(textOfOpening(kPath), "");
  g_answers = nullptr;
  EXPECT_EQ(answers.by_moment["query"], expected(kOther));
  EXPECT_EQ(textOfOpening(kOther), "") << "nothing stays behind";
}

}  // namespace

// Called by the library.
extern "C" void dipu_test_hook(const char* moment) {
  if (g_answers == nullptr) return;
  g_answers->by_moment[moment] = textOfOpening(g_answers->path);
}
