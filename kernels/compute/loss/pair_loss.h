// SPDX-License-Identifier: Apache-2.0
//
// Losses of pairs of an input and a target of the same shape.
//
// Tensors may have any strides and any floating dtypes; float16 and bfloat16
// are computed in float32. `target`, `weight` and `pos_weight` broadcast to
// the input. Every function enqueues and returns; results do not depend on the
// number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Numbered like diopiReduction_t.
enum class Reduction { kNone = 0, kMean = 1, kSum = 2 };

enum class PairLossKind {
  kSquared,        // (x - t)^2
  kSmoothL1,       // (x - t)^2 / (2 beta) near 0, |x - t| - beta / 2 beyond
  kHuber,          // (x - t)^2 / 2 near 0, beta (|x - t| - beta / 2) beyond
  kBinaryEntropy,  // -t log(x) - (1 - t) log(1 - x), logarithms >= -100
  kBinaryEntropyLogits,  // the same of sigmoid(x)
};

struct PairLossArguments {
  PairLossKind kind;
  Reduction reduction;
  double beta = 1.0;  // of kSmoothL1 and kHuber
  TensorView input;
  TensorView target;
  TensorView weight;      // may be undefined; factor of each element
  TensorView pos_weight;  // may be undefined; factor of t in the logits form
};

// `out` has the shape of the input without reduction, else it is a scalar. The
// mean of no elements is NaN. An input of kBinaryEntropy outside [0, 1] fails
// on the device.
Status pairLoss(const Queue& queue, const TensorView& out,
                const PairLossArguments& arguments);

// `grad_output` has the shape of the loss.
Status pairLossBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output,
                        const PairLossArguments& arguments);

}  // namespace dipu::kernels
