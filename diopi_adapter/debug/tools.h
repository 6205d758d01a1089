// SPDX-License-Identifier: Apache-2.0
//
// Debug tools, which see the calls of chosen operators.
//
// Note [Debug tools]
// Every operator has a set of tools, empty at the start, when nothing but its
// slot stands before its wrapper (Note [Function slots] in runtime/slot.h). The
// call of an operator with tools is boxed. The observer, if the operator has
// it, looks at the arguments, lets the others compute the call, and looks at
// the results. Choosing operators by patterns, and what users read, is Python's
// work (torch_dipu/_operators.py).
#pragma once

#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

#include "diopi_adapter/runtime/slot.h"

namespace dipu::debug {

enum Tool : uint32_t {
  kForceFallback = 1,  // computes on the CPU; counted as a fallback
  kObserve = 2,        // the observer sees the call
};

// Sees the boxed call of an operator with kObserve, on the thread that calls,
// which may hold Python's lock or not. Has to compute it by proceed(), once.
// What it throws, the caller gets.
using Observer = void (*)(adapter::SlotBase& slot, torch::jit::Stack* stack);
// To be called before the first chooseOperators(kObserve, ...).
void setObserver(Observer observer) noexcept;

// Computes the call as the tools behind the observer want it. Replaces the
// arguments on `stack` by the results.
void proceed(adapter::SlotBase& slot, torch::jit::Stack* stack);

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

// Those among the operators with a slot that copy tensors or read a number from
// one. Observers may look at them, but no tool takes their place, so they are
// not among operators(). Empty until a vendor is loaded.
std::vector<std::string> copyOperators();

// Gives `tool` to exactly the operators `names`, and takes it from all others.
// Calls that other threads are in finish as they began. Throws c10::Error for a
// name that is not among operators(), nor, for kObserve, copyOperators(), and
// changes nothing then. Any thread.
void chooseOperators(Tool tool, const std::vector<std::string>& names);

}  // namespace dipu::debug
