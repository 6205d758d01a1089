// SPDX-License-Identifier: Apache-2.0
//
// The negative log likelihood of class numbers after a softmax over the
// classes, which are dimension 1 (0 of a vector). Otherwise as nll_loss.h;
// `arguments.input` holds scores of any size. The logarithms are scratch
// memory, made anew for the gradient.
#pragma once

#include "kernels/compute/loss/nll_loss.h"

namespace dipu::kernels {

Status crossEntropy(const Queue& queue, const TensorView& out,
                    const NllArguments& arguments);

Status crossEntropyBackward(const Queue& queue, const TensorView& grad_input,
                            const TensorView& grad_output,
                            const NllArguments& arguments);

}  // namespace dipu::kernels
