// SPDX-License-Identifier: Apache-2.0
//
// Runs the model on inputs from a seeded generator:
//   --inputs=N    this many (default 2000)
//   --seconds=S   but no longer than this (default 20; 0: no limit)
//   --seed=X      the first seed (default 1); the next ones follow
//   --input=HEX   this input alone, as printed by a failure
// A failure prints its seed and input.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/model.h"

namespace dipu::fuzz {
namespace {

struct Options {
  uint64_t inputs = 2000;
  uint64_t seconds = 20;
  uint64_t seed = 1;
  std::string input;
};

// What a failure has to tell; written before the input runs, so that a signal
// handler can.
std::string failure_text;

void tellFailure(int signal_number) {
  const ssize_t written =
      write(STDERR_FILENO, failure_text.data(), failure_text.size());
  (void)written;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

bool readOption(const char* argument, const char* name, uint64_t* out) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return false;
  char* end = nullptr;
  *out = std::strtoull(argument + length, &end, 10);
  return *end == '\0' && argument[length] != '\0';
}

bool readOptions(int count, char** arguments, Options* out) {
  constexpr const char* kInput = "--input=";
  for (int i = 1; i < count; ++i) {
    if (std::strncmp(arguments[i], kInput, std::strlen(kInput)) == 0) {
      out->input = arguments[i] + std::strlen(kInput);
    } else if (!readOption(arguments[i], "--inputs=", &out->inputs) &&
               !readOption(arguments[i], "--seconds=", &out->seconds) &&
               !readOption(arguments[i], "--seed=", &out->seed)) {
      std::fprintf(stderr,
                   "'%s' is not understood; see the head of "
                   "tests/fuzz/seeded_main.cc\n",
                   arguments[i]);
      return false;
    }
  }
  return true;
}

std::vector<uint8_t> fromHex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(
        std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

std::vector<uint8_t> generate(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(random() % 1500);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

void runOne(uint64_t seed, const std::vector<uint8_t>& bytes) {
  failure_text = "fuzz: seed " + std::to_string(seed) +
                 ", --input=" + inputText(bytes.data(), bytes.size()) + "\n";
  runInput(bytes.data(), bytes.size());
}

int runAll(const Options& options) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  uint64_t done = 0;
  for (; done < options.inputs; ++done) {
    if (options.seconds != 0 && std::chrono::steady_clock::now() >= end) break;
    const uint64_t seed = options.seed + done;
    runOne(seed, generate(seed));
  }
  std::printf("fuzz: %lu inputs from seed %lu on\n", done, options.seed);
  return done == 0 ? 1 : 0;
}

}  // namespace
}  // namespace dipu::fuzz

int main(int count, char** arguments) {
  dipu::fuzz::Options options;
  if (!dipu::fuzz::readOptions(count, arguments, &options)) return 2;
  for (int number : {SIGABRT, SIGSEGV, SIGBUS}) {
    signal(number, dipu::fuzz::tellFailure);
  }
  if (!options.input.empty()) {
    dipu::fuzz::runOne(0, dipu::fuzz::fromHex(options.input));
    return 0;
  }
  return dipu::fuzz::runAll(options);
}
