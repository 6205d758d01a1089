// SPDX-License-Identifier: Apache-2.0
//
// The generated operators as a whole.
#pragma once

#include <vector>

namespace dipu::adapter {

// One generated function of the dispatcher.
struct OperatorInfo {
  const char* name;    // "add_.Tensor"
  const char* family;  // "add.out", which its other forms have too
  // The DIOPI function without which it is not registered.
  const char* function;
};

// All functions that ops.yaml describes, sorted by operator. Whether one is
// registered is what findSlot (slot.h) tells.
const std::vector<OperatorInfo>& operatorInfos();

// A composite operator, which never reaches a device.
struct OperatorAlias {
  const char* name;  // "conv2d"
  const char* op;    // one that PyTorch computes it by
};
const std::vector<OperatorAlias>& operatorAliases();

// Registers every operator whose DIOPI function the symbol table has, for the
// rest of the process. Call it once, after fillSymbolTable.
void registerOperators();

}  // namespace dipu::adapter
