// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/call.h"

#include <c10/util/Exception.h>

#include <sstream>
#include <string>

#include "core/runtime/vendor.h"
#include "diopi_adapter/runtime/arena.h"
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::adapter {

namespace {

thread_local const char* t_refusal = "";

bool isRefusal(diopiError_t status) {
  switch (status) {
    case diopiNoImplement:
      t_refusal = "the vendor's function does not cover this case";
      return true;
    case diopiDtypeNotSupported:
      t_refusal = "the vendor's function does not support this dtype";
      return true;
    case diopi5DNotSupported:
      t_refusal = "the vendor's function does not support 5 dimensions";
      return true;
    case diopiForceFallbackToCPU:
      t_refusal = "the vendor asks for the CPU";
      return true;
    default:
      return false;
  }
}

std::string describeTensors(std::initializer_list<const at::Tensor*> tensors) {
  std::ostringstream text;
  for (const at::Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    text << (text.tellp() > 0 ? ", " : "") << toString(tensor->scalar_type())
         << tensor->sizes();
  }
  return text.str();
}

std::string vendorText() {
  const auto get = symbols().diopiGetLastErrorString;
  const char* text = get == nullptr ? nullptr : get();
  return text == nullptr || *text == '\0' ? "no further text" : text;
}

// A device that has failed fails every function; its own error says why. Does
// not wait: the function may have failed behind work that never ends.
void throwDeviceFailure(const char* op) {
  try {
    runtime::queryStream(runtime::currentStream());
  } catch (c10::Error& error) {
    error.add_context(std::string("in ") + op);
    throw;
  }
}

}  // namespace

void CallContext::releaseArena() noexcept {
  delete static_cast<TensorArena*>(context_.owner);
}

bool CallContext::refuse(diopiError_t status, const char* op,
                         std::initializer_list<const at::Tensor*> tensors) {
  if (isRefusal(status)) return false;
  throwDeviceFailure(op);
  TORCH_CHECK(false, op, " failed on ",
              runtime::deviceLabel(runtime::currentDevice()), " with ",
              toString(status), ": ", vendorText(),
              " (tensors: ", describeTensors(tensors), ")");
}

at::Tensor CallContext::take(diopiConstTensorHandle_t handle, const char* op) {
  const auto* arena = static_cast<const TensorArena*>(context_.owner);
  const at::Tensor* tensor =
      arena == nullptr || handle == nullptr ? nullptr : arena->find(handle);
  TORCH_CHECK(tensor != nullptr, op,
              ": the operator library returned a tensor that it did not get "
              "from diopiRequireTensor");
  return *tensor;
}

std::string toString(diopiError_t status) {
  switch (status) {
    case diopiErrorOccurred:
      return "diopiErrorOccurred";
    case diopiNotInited:
      return "diopiNotInited";
    case diopiNoImplement:
      return "diopiNoImplement";
    case diopiDtypeNotSupported:
      return "diopiDtypeNotSupported";
    default:
      return "diopiError_t " + std::to_string(static_cast<int>(status));
  }
}

const char* refusalReason() noexcept { return t_refusal; }

bool noteRefusal(const char* reason) noexcept {
  t_refusal = reason;
  return false;
}

}  // namespace dipu::adapter
