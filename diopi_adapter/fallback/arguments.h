// SPDX-License-Identifier: Apache-2.0
//
// What the arguments of a boxed call are to a computation on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstddef>

namespace dipu::fallback {

// A defined tensor of the device.
bool onDevice(const at::Tensor& tensor);

// Whether kernels write the argument: the schema says so, or it is one of the
// few that are written without being declared (running statistics).
bool isWritten(const c10::FunctionSchema& schema,
               const c10::Argument& argument);

// Whether a tensor there may be on another device than the others are.
bool takesHostTensors(const c10::Argument& argument);

bool takesGenerator(const c10::Argument& argument);

// Calls visit(tensor) for every tensor in `value`, undefined ones too.
template <typename Visit>
void forEachTensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) visit(item.toTensor());
    }
  }
}

// `value` with every tensor replaced by map(tensor).
template <typename Map>
c10::IValue mapTensors(const c10::IValue& value, const Map& map) {
  if (value.isTensor()) return map(value.toTensor());
  if (!value.isList() || !std::ranges::any_of(value.toListRef(), [](auto& v) {
        return v.isTensor();
      })) {
    return value;
  }
  auto list = value.toList().copy();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const c10::IValue item = list.get(i);
    if (item.isTensor()) list.set(i, map(item.toTensor()));
  }
  return list;
}

}  // namespace dipu::fallback
