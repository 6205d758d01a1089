// SPDX-License-Identifier: Apache-2.0
//
// The tensors that one operator call required. Internal to the adapter.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <utility>

#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::adapter {

// Owned by diopiContext::owner, made on first use. Used by one thread. A deque
// keeps the handles in place.
class TensorArena {
 public:
  diopiTensorHandle_t add(at::Tensor tensor) {
    Entry& entry = entries_.emplace_back();
    entry.tensor = std::move(tensor);
    const c10::Device device = entry.tensor.device();
    describe(entry.tensor, device.is_cpu() ? -1 : device.index(),
             entry.tensor.storage().mutable_data(), entry.handle);
    return &entry.handle;
  }

  const at::Tensor* find(diopiConstTensorHandle_t handle) const {
    for (const Entry& entry : entries_) {
      if (&entry.handle == handle) return &entry.tensor;
    }
    return nullptr;
  }

  static TensorArena& of(diopiContext& context) {
    if (context.owner == nullptr) context.owner = new TensorArena;
    return *static_cast<TensorArena*>(context.owner);
  }

 private:
  struct Entry {
    at::Tensor tensor;
    diopiTensor handle;
  };
  std::deque<Entry> entries_;
};

}  // namespace dipu::adapter
