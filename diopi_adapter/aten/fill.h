// SPDX-License-Identifier: Apache-2.0
//
// Filling a tensor by a DIOPI function that draws. Internal to this folder.
#pragma once

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>

#include "diopi_adapter/aten/draw.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/native_call.h"

namespace dipu::aten {

// Lets `draw(context, out, generator)` fill a contiguous tensor, `self` itself
// where it is one. Returns false when the library does not cover the case.
// Throws when elements of `self` share memory.
template <typename Function, typename Call>
bool fill(const char* label, Function* function, const at::Tensor& self,
          const std::optional<at::Generator>& generator, const Call& call) {
  if (function == nullptr) {
    return adapter::noteRefusal(kLacksFunction);
  }
  if (self.numel() == 0) return true;
  at::assert_no_internal_overlap(self);
  const c10::DeviceIndex device = self.device().index();
  const at::Tensor target =
      self.is_contiguous()
          ? self
          : emptyContiguous(self.sizes(), self.scalar_type(), device);
  {
    adapter::CallContext context(device);
    Draw draw(generator, device, self.numel());
    if (!context.accept(call(context, target, draw), label, {&self})) {
      return false;
    }
    draw.finish();
  }
  if (!target.is_same(self)) self.copy_(target);
  fallback::countNative(label);
  return true;
}

}  // namespace dipu::aten
