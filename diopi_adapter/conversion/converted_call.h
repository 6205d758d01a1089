// SPDX-License-Identifier: Apache-2.0
//
// One call of a function whose vendor lacks some types or layouts.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <deque>

#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/conversion/rules.h"
#include "diopi_adapter/fallback/counters.h"

namespace dipu::conversion {

// A function with its rule. Lives for ever.
struct Function {
  const char* name;
  const Rule* rule;
  fallback::Counter* conversions;  // tensors that were converted
  // Whether values are looked at before they are put into a smaller type. That
  // waits for the device.
  bool checked;
};

// Converts the tensors of one call: first every argument goes through the
// method for its kind, then the function is called unless refused(), then
// finish() converts what it wrote. Conversions are enqueued on the current
// stream. Lives on the stack of the calling thread, longer than the handles
// that it gave out are used. Tensors on the host are passed on as they are.
class ConvertedCall {
 public:
  ConvertedCall(const Function& function, diopiContextHandle_t context)
      : function_(function), context_(context) {}
  ConvertedCall(const ConvertedCall&) = delete;
  ConvertedCall& operator=(const ConvertedCall&) = delete;

  // A tensor that is read.
  diopiConstTensorHandle_t input(diopiConstTensorHandle_t tensor);
  // A tensor that is written, and read before by functions that update it: only
  // then is it looked at whether its values fit.
  diopiTensorHandle_t output(diopiTensorHandle_t tensor);
  // Lists of `count` tensors. NULL is accepted, also for their elements.
  diopiConstTensorHandle_t* inputs(diopiConstTensorHandle_t* tensors,
                                   int64_t count);
  diopiTensorHandle_t* outputs(diopiTensorHandle_t* tensors, int64_t count);
  // Where the function puts a tensor that it makes.
  diopiTensorHandle_t* made(diopiTensorHandle_t* tensor);

  // Whether a value does not fit the type that the function takes; then nothing
  // must be called, and the reason is noted for the fallback (call.h).
  bool refused() const { return refused_; }

  // Converts back, if the function succeeded. Returns `status`.
  diopiError_t finish(diopiError_t status);

 private:
  struct Replacement {
    at::Tensor original;
    at::Tensor tensor;  // what the function gets
    diopiTensor handle;
    bool written;
  };

  // The handle of a replacement, or `tensor` when the function takes it as it
  // is.
  const diopiTensor* convert(const diopiTensor* tensor, bool written);
  void check(const at::Tensor& original, c10::ScalarType type);
  // The type of a tensor that the function made, as the caller expects it.
  diopiDtype_t expectedType(diopiDtype_t type) const;

  const Function& function_;
  diopiContextHandle_t context_;
  std::deque<Replacement> replacements_;  // a deque keeps the handles in place
  std::deque<c10::SmallVector<diopiTensorHandle_t, 8>> lists_;
  c10::SmallVector<diopiTensorHandle_t*, 2> made_;
  uint32_t given_types_ = 0;  // bit i: an argument had the type of code i
  bool refused_ = false;
};

}  // namespace dipu::conversion
