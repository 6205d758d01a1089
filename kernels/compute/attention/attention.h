// SPDX-License-Identifier: Apache-2.0
//
// Scaled dot-product attention, out = softmax(scale q k^T + bias) v, in blocks
// that stay in the cache: memory grows with the tokens, not with their square.
//
// q, k, v and their gradients are float32, float64, float16 or bfloat16
// (computed in float32), of one dtype, with any strides. Several query heads
// may share a head of k and v: head h uses head h / (heads / key heads). Every
// function enqueues and returns; results do not depend on the number of
// threads. Shapes that do not fit give kInvalid and enqueue nothing.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/random/random.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct AttentionArguments {
  // [batch, tokens, heads, dim]; with q_starts and k_starts [tokens, heads,
  // dim], the sequences lying one after the other.
  TensorView q;
  TensorView k;
  TensorView v;
  // Where sequences begin and the last one ends: batch + 1 positions of dtype
  // int32 or int64. Positions that do not ascend, or a sequence longer than
  // max_q or max_k, fail on the device. Undefined for sequences of one length.
  TensorView q_starts;
  TensorView k_starts;
  int64_t max_q = 0;  // read with starts only
  int64_t max_k = 0;

  // Subtracts slope * |i + keys - queries - j| from the score of query i and
  // key j; [heads] or [batch, heads]. May be undefined.
  TensorView slopes;
  // bool or uint8, broadcasts to [batch, heads, queries, keys], with starts to
  // [batch, heads, max_q, max_k]: pairs that are left out. May be undefined.
  TensorView mask;

  double scale = 1.0;
  // Query i sees the keys from i + keys - queries - left up to i + keys -
  // queries + right; a negative width is unlimited. `causal` limits the right
  // one to 0. A query that sees no key gives 0.
  bool causal = false;
  int64_t window_left = -1;
  int64_t window_right = -1;

  // Probability with which a pair is dropped after the softmax, and where its
  // random numbers begin. The backward pass takes the values of the forward
  // pass, or reads seed and position from `saved` (int64, 2 elements) if that
  // is defined.
  double dropout = 0.0;
  uint64_t seed = 0;
  uint64_t position = 0;
  TensorView saved;
};

// Sets seed and position and takes one number for each pair of a query and a
// key, keys rounded up to a multiple of 4. Takes nothing without dropout.
void takeAttentionNumbers(AttentionArguments* arguments, RandomSource* source);

// The logarithm of the sum of the exponentials of each query's scores, [batch,
// heads, queries], with starts also [heads, tokens]; infinity where there is
// no key. The same as the largest score and the sum of exponentials relative
// to it; infinity and 1 without keys. Each may be undefined; all have one form.
// Entries past the end of a sequence, or outside of all sequences, are those of
// a query without keys.
struct AttentionStatistics {
  TensorView logsumexp;
  TensorView largest;
  TensorView sum;
};

Status attention(const Queue& queue, const AttentionArguments& arguments,
                 const TensorView& out, const AttentionStatistics& statistics);

// Gradients of q, k and v. `logsumexp` and `out` are results of the forward
// pass.
struct AttentionGradients {
  TensorView q;
  TensorView k;
  TensorView v;
};
Status attentionBackward(const Queue& queue,
                         const AttentionArguments& arguments,
                         const TensorView& grad_out, const TensorView& out,
                         const TensorView& logsumexp,
                         const AttentionGradients& gradients);

}  // namespace dipu::kernels
