// SPDX-License-Identifier: Apache-2.0
#include "tests/samples/sample.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

namespace dipu::samples {
namespace {

using Integers = std::vector<int64_t>;

std::vector<Sample> read(const std::string& text) {
  std::istringstream stream(text);
  return readSamples(stream, "file");
}

TEST(SampleFile, TellsTensorsAndArguments) {
  const std::vector<Sample> samples = read(
      "dipu-samples 1\n"
      "sample f/0 ops.yaml:7 diopiF\n"
      "tensor 9 [2,3] [1,2] 2e-05 - =00ff\n"
      "tensor 1 [] [] 0.0 =07 -\n"
      "call T0 A1 L0,- - I-3 F-0x1.8p+1 Sff61 Z4,5 Z\n");
  ASSERT_EQ(samples.size(), 1u);
  const Sample& sample = samples[0];
  EXPECT_EQ(sample.name, "f/0");
  EXPECT_EQ(sample.place, "ops.yaml:7");
  EXPECT_EQ(sample.function, "diopiF");
  ASSERT_EQ(sample.tensors.size(), 2u);
  EXPECT_EQ(sample.tensors[0].sizes, (Integers{2, 3}));
  EXPECT_EQ(sample.tensors[0].strides, (Integers{1, 2}));
  EXPECT_EQ(sample.tensors[0].tolerance, 2e-5);
  EXPECT_FALSE(sample.tensors[0].before.has_value());
  EXPECT_EQ(sample.tensors[0].after, (Bytes{0x00, 0xff}));
  EXPECT_EQ(sample.tensors[1].sizes, Integers{});
  EXPECT_EQ(sample.tensors[1].before, Bytes{7});
  ASSERT_EQ(sample.arguments.size(), 9u);
  EXPECT_EQ(sample.arguments[1].kind, Kind::kAllocated);
  EXPECT_EQ(sample.arguments[1].integer, 1);
  EXPECT_EQ(sample.arguments[2].integers, (Integers{0, -1}));
  EXPECT_EQ(sample.arguments[3].kind, Kind::kNone);
  EXPECT_EQ(sample.arguments[4].integer, -3);
  EXPECT_EQ(sample.arguments[5].real, -3.0);
  EXPECT_EQ(sample.arguments[6].text, "\xff\x61");
  EXPECT_EQ(sample.arguments[7].integers, (Integers{4, 5}));
  EXPECT_EQ(sample.arguments[8].integers, Integers{});
}

TEST(SampleFile, NamesTheLineOfAMistake) {
  const std::string start = "dipu-samples 1\nsample f/0 ops.yaml:7 diopiF\n";
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "file:1: the first line is not `dipu-samples 1`"},
      {"dipu-samples 1\ncall I1\n", "file:2: `call` before the first sample"},
      {start + "call T0\n", "file:3: no tensor T0"},
      {start + "call Q1\n", "file:3: `Q1` is no argument"},
      {start + "call Ione\n", "file:3: `one` is no integer"},
      {start + "tensor 9 [1]\n", "file:3: a tensor has six parts"},
      {start + "tensor 9 [1] [] 0 - -\n",
       "file:3: as many strides as sizes are needed"},
      {start + "tensor 9 [1] [1] 0 =0 -\n", "file:3: half a byte"},
      {start + "tensor 9 [1] [1] 0 - -\n",
       "file:3: a tensor has bytes before or after the call"},
      {start + "sizes\n", "file:3: unknown word `sizes`"},
  };
  for (const auto& [text, message] : mistakes) {
    try {
      read(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), message);
    }
  }
}

}  // namespace
}  // namespace dipu::samples
