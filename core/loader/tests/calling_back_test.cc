// SPDX-License-Identifier: Apache-2.0
//
// A library that calls back into the host while it is being opened gets an
// error, and neither recursion nor a deadlock.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "core/loader/loader.h"

namespace {

namespace fs = std::filesystem;

constexpr char kPath[] = "core/loader/tests/libcalling_back.so";
constexpr char kOther[] = "core/loader/tests/libgood_vendor.so";

// What opening `path` said at each moment; "" for success.
struct Answers {
  const char* path;
  bool in_a_thread = false;
  std::map<std::string, std::string> by_moment{};
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
  Answers answers{kPath};
  g_answers = &answers;
  EXPECT_EQ(textOfOpening(kPath), "") << "the library itself is fine";
  g_answers = nullptr;
  for (const char* moment : {"constructor", "query"}) {
    EXPECT_EQ(answers.by_moment[moment], expected(kPath));
  }
}

// The first thread waits for the other, which would wait for the first.
TEST(CallingBack, IsRefusedInAnotherThread) {
  // A copy, whose constructors have not run yet.
  const std::string path = ::testing::TempDir() + "libcopy.so";
  fs::copy_file(kPath, path, fs::copy_options::overwrite_existing);
  Answers answers{path.c_str(), true};
  g_answers = &answers;
  EXPECT_EQ(textOfOpening(path.c_str()), "") << "the library itself is fine";
  g_answers = nullptr;
  const std::string start =
      "cannot load vendor library " + path +
      ": another thread is opening it. If that thread belongs to the host";
  for (const char* moment : {"constructor", "query"}) {
    EXPECT_EQ(answers.by_moment[moment].substr(0, start.size()), start);
  }
}

TEST(CallingBack, ConcernsOtherLibrariesToo) {
  Answers answers{kOther};
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
  std::string& answer = g_answers->by_moment[moment];
  const auto ask = [&] { answer = textOfOpening(g_answers->path); };
  if (g_answers->in_a_thread) {
    std::thread(ask).join();
  } else {
    ask();
  }
}
