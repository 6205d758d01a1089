// SPDX-License-Identifier: Apache-2.0
//
// Embedding bags: rows of a weight, summed, averaged or maximised per bag, and
// rows limited in norm.
//
// Index tensors are int64 or int32, contiguous or not. Indices outside the
// weight fail on the device, as an asynchronous error of the stream. Floating
// tensors are float32, float64, float16 or bfloat16 (computed in float32).
// Each call enqueues and returns; results do not depend on threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Numbered like torch's modes.
enum class BagMode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

// Bag b consists of the indices from offsets[b] up to offsets[b + 1], the last
// one of the rest.
struct BagArguments {
  TensorView weight;              // [rows, width]
  TensorView indices;             // [count]
  TensorView offsets;             // [bags], or one more with the end
  TensorView per_sample_weights;  // [count], of kSum; may be undefined
  BagMode mode;
  bool include_last_offset;
  int64_t padding_idx;  // this row counts nothing; -1 for none
};

// Results that the gradients need.
struct BagResults {
  TensorView out;              // [bags, width]
  TensorView bag_of_index;     // [count], -1 of indices in no bag
  TensorView bag_sizes;        // [bags], without padding
  TensorView maximum_indices;  // [bags, width] of kMax, -1 in empty bags
};

Status embeddingBag(const Queue& queue, const BagResults& results,
                    const BagArguments& arguments);

struct BagGradient {
  TensorView grad;  // [bags, width]
  TensorView indices;
  TensorView bag_of_index;
  TensorView bag_sizes;
  TensorView maximum_indices;
  TensorView per_sample_weights;
  BagMode mode;
  bool by_frequency;  // divide a row's gradient by the number of its uses
  int64_t padding_idx;
};

// `grad_weight` is [rows, width].
Status embeddingBagBackward(const Queue& queue, const TensorView& grad_weight,
                            const BagGradient& gradient);

// out[i] = the product of a weight's row and its bag's gradient, for kSum.
Status embeddingBagSampleGradient(const Queue& queue, const TensorView& out,
                                  const TensorView& grad,
                                  const TensorView& weight,
                                  const TensorView& indices,
                                  const TensorView& bag_of_index,
                                  int64_t padding_idx);

// Scales the rows of `weight` that occur among `indices` and whose p-norm is
// above `limit` down to it.
Status embeddingRenorm(const Queue& queue, const TensorView& weight,
                       const TensorView& indices, double limit, double p);

}  // namespace dipu::kernels
