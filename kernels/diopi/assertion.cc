// SPDX-License-Identifier: Apache-2.0
//
// Assertions on the device.
#include "kernels/compute/assertion.h"

#include <diopi/functions_dipu.h>

#include "kernels/diopi/tensor_args.h"

using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiExtAssertAsync(diopiContextHandle_t ctx,
                                 diopiConstTensorHandle_t input,
                                 const char* message) {
  return done(dipu::kernels::assertNonZero(queueOf(ctx), view(input), message));
}

}  // extern "C"
