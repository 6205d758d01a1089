// SPDX-License-Identifier: Apache-2.0
//
// The generated operators as a whole.
#pragma once

#include <vector>

namespace dipu::adapter {

// One generated function of the dispatcher.
struct OperatorInfo {
  const char* name;  // "add_.Tensor"
  const char*
      function;  // the DIOPI function without which it is not registered
};

// All functions that ops.yaml describes, sorted by operator. Whether one is
// registered is what findSlot (slot.h) tells.
const std::vector<OperatorInfo>& operatorInfos();

// Registers every operator whose DIOPI function the symbol table has, for the
// rest of the process. Call it once, after fillSymbolTable.
void registerOperators();

}  // namespace dipu::adapter
