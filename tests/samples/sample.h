// SPDX-License-Identifier: Apache-2.0
//
// Calls of DIOPI functions with what they have to give, read from a file that
// diopi_adapter/codegen/samples.py makes of ops.yaml:
//
//   dipu-samples 1
//   sample add.Tensor/0 ops.yaml:12 diopiAdd     its name, place and function
//   tensor 9 [2,3] [3,1] 2e-05 =<hex> -          the tensors of the call
//   call T1 T0 T2 I2                             the arguments
//
// A tensor line has the dtype, the sizes, the strides in elements, the
// tolerance, and the bytes before and after the call. `-` stands for no bytes:
// before the call those of a new tensor, after it those of one that is only
// read. Memory has no gaps.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace dipu::samples {

using Bytes = std::vector<uint8_t>;

struct TensorSpec {
  int32_t dtype = 0;  // diopiDtype_t
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  // Largest difference to what is expected, relative and absolute; 0 for types
  // that are not rounded.
  double tolerance = 0;
  std::optional<Bytes> before;
  std::optional<Bytes> after;
};

// The value is how the file spells it.
enum class Kind : char {
  kNone = '-',
  kTensor = 'T',
  kAllocated = 'A',  // a tensor that the library makes
  kTensors = 'L',
  kInteger = 'I',
  kReal = 'F',
  kText = 'S',
  kSizes = 'Z',
};

struct Argument {
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // the number itself, or that of a tensor
  double real = 0;
  std::string text;
  std::vector<int64_t> integers;  // sizes, or numbers of tensors, -1 for none
};

struct Sample {
  std::string name;
  std::string place;     // where it is written
  std::string function;  // of DIOPI
  std::vector<TensorSpec> tensors;
  std::vector<Argument> arguments;
};

// Reads all samples. `origin` names the text in messages. Throws
// std::runtime_error with "origin:line: reason".
std::vector<Sample> readSamples(std::istream& text, const std::string& origin);

}  // namespace dipu::samples
