/* SPDX-License-Identifier: Apache-2.0 */
#include "diopi_adapter/abi/tests/layout.h"

/* An operator library in C: the definition must agree with the header. */
diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
  return ctx != NULL && input != NULL ? diopiSuccess : diopiErrorOccurred;
}
