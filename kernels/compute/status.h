// SPDX-License-Identifier: Apache-2.0
//
// Why a compute function did not do its work.
#pragma once

#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Records a message for the calling thread and returns `status`. The format
// is printf's; name the operator, the argument and the value.
Status fail(Status status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// The text of the calling thread's last failure, "" before the first one.
// Valid until that thread's next failure.
const char* lastMessage();

// kUnsupported because `operation` has no kernel for `dtype`.
Status unsupportedDType(const char* operation, DType dtype);

// "float32", "bool"; "unknown" outside the enumeration.
const char* dtypeName(DType dtype);

}  // namespace dipu::kernels
