// SPDX-License-Identifier: Apache-2.0
//
// Numbers beside tensors. PyTorch makes an element of a number before it
// compares with it, adds it or divides by it, and refuses some numbers that
// the element's type cannot hold. Plain functions; any thread may call them.
#pragma once

#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// `number` as an element of `dtype` stores it: whole numbers wrap in integers
// and the 16-bit floating types round. A fraction beside integers is returned
// as it is, for the operator then computes in a floating type.
Scalar storedNumber(const Scalar& number, DType dtype);

// kInvalid, with a message that begins with `name`, if `number` lies outside
// the finite range of `dtype`. Infinity and NaN suit the floating types, any
// number suits bool, and negative whole numbers wrap in the unsigned types.
Status checkNumber(const char* name, const Scalar& number, DType dtype);

}  // namespace dipu::kernels
