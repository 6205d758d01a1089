// SPDX-License-Identifier: Apache-2.0
//
// One call of a DIOPI function: its context, the memory it asks for, and what
// its status means.
//
//   CallContext context(device);
//   const diopiError_t status = symbols().diopiRelu(context, Out(out),
//   In(self)); if (!context.accept(status, "relu", {&self})) ...  // compute on
//   the CPU
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <initializer_list>

#include "core/runtime/device.h"
#include "core/runtime/stream.h"
#include "diopi_adapter/abi/diopi_host.h"

namespace dipu::adapter {

class TensorArena;

// The context of one call on the calling thread: the device's current stream,
// and an owner for tensors that the operator requires. Those live until the
// context dies; that is safe for work that is still enqueued then, because the
// allocator gives memory back in stream order. The device is current while the
// context lives. Lives on the stack and is not shared between threads.
class CallContext {
 public:
  // `device`: a valid index. Throws when it cannot be made current.
  explicit CallContext(c10::DeviceIndex device)
      : scope_(device),
        context_{runtime::currentStreamHandle(device), device, 0, nullptr} {}
  ~CallContext() {
    if (__builtin_expect(context_.owner != nullptr, 0)) releaseArena();
  }
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  operator diopiContextHandle_t() { return &context_; }

  // Whether the operator did its work. False means that it did nothing because
  // it does not cover this case (diopiNoImplement, diopiDtypeNotSupported,
  // diopiForceFallbackToCPU, diopi5DNotSupported): compute elsewhere. Throws
  // c10::Error for every other status; the message names the operator, the
  // tensors and what the library says about it.
  bool accept(diopiError_t status, const char* op,
              std::initializer_list<const at::Tensor*> tensors) {
    if (__builtin_expect(status == diopiSuccess, 1)) return true;
    return refuse(status, op, tensors);
  }

  // The tensor behind a handle that the operator library allocated through
  // this context. Throws for null and for foreign handles.
  at::Tensor take(diopiConstTensorHandle_t handle, const char* op);

 private:
  static bool refuse(diopiError_t status, const char* op,
                     std::initializer_list<const at::Tensor*> tensors);
  void releaseArena() noexcept;

  runtime::DeviceScope scope_;
  diopiContext context_;
};

// The functions that DIOPI libraries call back, for dipu_diopi_rt_install.
// Static; valid for the life of the process.
const dipu_diopi_rt_host& runtimeHost();

// "diopiErrorOccurred" and so on; "diopiError_t 77" for unknown codes.
std::string toString(diopiError_t status);

// Why the last call on this thread was not served, in the words of
// "<operator> runs on the CPU: ...". Set by CallContext::accept and
// noteRefusal.
const char* refusalReason() noexcept;

// Notes a reason found before the call. `reason` must be a literal. Returns
// false, so that `return noteRefusal("...")` reads as accept does.
bool noteRefusal(const char* reason) noexcept;

}  // namespace dipu::adapter
