// SPDX-License-Identifier: Apache-2.0
//
// Debug tools, which see the calls of chosen operators.
//
// Note [Debug tools]
// Every operator has a set of tools, empty at the start, when nothing but its
// slot stands before its wrapper (Note [Function slots] in runtime/slot.h). The
// call of an operator with tools is boxed and goes through them in the order of
// the enumeration: each may look at the arguments, compute the call itself or
// hand it on, and look at the results. Choosing operators by patterns, and
// what users read, is Python's work (torch_dipu/_operators.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dipu::debug {

enum Tool : uint32_t {
  kForceFallback = 1,  // computes on the CPU; counted as a fallback
};

// An operator that tools can see.
struct Operator {
  std::string name;      // "add_.Tensor"
  std::string family;    // "add.out", which add.Tensor has too
  std::string function;  // of DIOPI; "" when the operator is hand-written
  // Composite operators that PyTorch computes by this one: "conv2d".
  std::vector<std::string> composites;
};

// All of them, sorted by name. Operators that make, view or copy tensors or
// concern streams are not among them. Empty until a vendor is loaded.
std::vector<Operator> operators();

// Gives `tool` to exactly the operators `names`, and takes it from all others.
// Calls that other threads are in finish as they began. Throws c10::Error for a
// name that is not among operators(), and changes nothing then. Any thread.
void chooseOperators(Tool tool, const std::vector<std::string>& names);

}  // namespace dipu::debug
