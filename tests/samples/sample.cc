// SPDX-License-Identifier: Apache-2.0
#include "tests/samples/sample.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace dipu::samples {
namespace {

constexpr char kHeader[] = "dipu-samples 1";

[[noreturn]] void fail(const std::string& reason) {
  throw std::runtime_error(reason);
}

int64_t toInteger(const std::string& text) {
  char* end = nullptr;
  const int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') fail("`" + text + "` is no integer");
  return value;
}

double toReal(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') fail("`" + text + "` is no number");
  return value;
}

std::vector<int64_t> toIntegers(const std::string& text) {
  std::vector<int64_t> values;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    values.push_back(item == "-" ? -1 : toInteger(item));
  }
  return values;
}

std::vector<int64_t> toList(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    fail("`" + text + "` is no list");
  }
  return toIntegers(text.substr(1, text.size() - 2));
}

Bytes toBytes(const std::string& hex) {
  if (hex.size() % 2 != 0) fail("half a byte");
  Bytes bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const std::string digits = hex.substr(i, 2);
    char* end = nullptr;
    bytes.push_back(
        static_cast<uint8_t>(std::strtoul(digits.c_str(), &end, 16)));
    if (*end != '\0') fail("`" + digits + "` is no byte");
  }
  return bytes;
}

std::optional<Bytes> toMemory(const std::string& text) {
  if (text == "-") return std::nullopt;
  if (text.empty() || text[0] != '=') fail("`" + text + "` is no memory");
  return toBytes(text.substr(1));
}

TensorSpec toTensor(std::istream& words) {
  std::string dtype, sizes, strides, tolerance, before, after;
  if (!(words >> dtype >> sizes >> strides >> tolerance >> before >> after)) {
    fail("a tensor has six parts");
  }
  TensorSpec tensor;
  tensor.dtype = static_cast<int32_t>(toInteger(dtype));
  tensor.sizes = toList(sizes);
  tensor.strides = toList(strides);
  tensor.tolerance = toReal(tolerance);
  tensor.before = toMemory(before);
  tensor.after = toMemory(after);
  if (tensor.sizes.size() != tensor.strides.size()) {
    fail("as many strides as sizes are needed");
  }
  if (!tensor.before && !tensor.after) {
    fail("a tensor has bytes before or after the call");
  }
  return tensor;
}

Argument toArgument(const std::string& word, std::size_t tensors) {
  const std::string rest = word.substr(1);
  const auto check = [&](int64_t number) {
    if (number >= static_cast<int64_t>(tensors)) fail("no tensor " + word);
  };
  Argument argument;
  argument.kind = static_cast<Kind>(word[0]);
  switch (argument.kind) {
    case Kind::kNone:
      return argument;
    case Kind::kTensor:
    case Kind::kAllocated:
      argument.integer = toInteger(rest);
      check(argument.integer);
      return argument;
    case Kind::kInteger:
      argument.integer = toInteger(rest);
      return argument;
    case Kind::kReal:
      argument.real = toReal(rest);
      return argument;
    case Kind::kText:
      for (const uint8_t byte : toBytes(rest)) {
        argument.text.push_back(static_cast<char>(byte));
      }
      return argument;
    case Kind::kSizes:
      argument.integers = toIntegers(rest);
      return argument;
    case Kind::kTensors:
      argument.integers = toIntegers(rest);
      for (const int64_t number : argument.integers) check(number);
      return argument;
  }
  fail("`" + word + "` is no argument");
}

// Reads one line into the samples that came before it.
void readLine(const std::string& line, std::vector<Sample>* samples) {
  std::istringstream words(line);
  std::string key;
  words >> key;
  if (key == "sample") {
    Sample sample;
    if (!(words >> sample.name >> sample.place >> sample.function)) {
      fail("a sample has a name, a place and a function");
    }
    samples->push_back(sample);
  } else if (samples->empty()) {
    fail("`" + key + "` before the first sample");
  } else if (key == "tensor") {
    samples->back().tensors.push_back(toTensor(words));
  } else if (key == "call") {
    for (std::string word; words >> word;) {
      Sample& sample = samples->back();
      sample.arguments.push_back(toArgument(word, sample.tensors.size()));
    }
  } else {
    fail("unknown word `" + key + "`");
  }
}

}  // namespace

std::vector<Sample> readSamples(std::istream& text, const std::string& origin) {
  std::vector<Sample> samples;
  int number = 1;
  std::string line;
  try {
    if (!std::getline(text, line) || line != kHeader) {
      fail(std::string("the first line is not `") + kHeader + "`");
    }
    while (std::getline(text, line)) {
      ++number;
      readLine(line, &samples);
    }
  } catch (const std::runtime_error& error) {
    fail(origin + ":" + std::to_string(number) + ": " + error.what());
  }
  return samples;
}

}  // namespace dipu::samples
