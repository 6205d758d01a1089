// SPDX-License-Identifier: Apache-2.0
//
// Tensors with more elements at their edges, or fewer.
//
// Any layout. `pads` holds two numbers per padded dimension, in front and
// behind, the last dimension first; negative ones crop. Every function
// enqueues and returns.
#pragma once

#include <cstdint>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// kReflect mirrors at the centre of the outermost element, kReplicate repeats
// that element, kCircular goes on at the other end.
enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

struct PadArguments {
  PadMode mode = PadMode::kConstant;
  const int64_t* pads = nullptr;  // borrowed during the call
  int64_t count = 0;              // of pads, twice the padded dimensions
  Scalar value;                   // of new elements, for kConstant
};

// Any dtype. One to three padded dimensions, any number for kConstant.
Status pad(const Queue& queue, const TensorView& out, const TensorView& input,
           const PadArguments& arguments);
// The gradient of all modes but kConstant; floating types.
Status padBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output,
                   const PadArguments& arguments);

}  // namespace dipu::kernels
