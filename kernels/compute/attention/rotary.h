// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding: pairs of features turn by an angle that depends
// on the token.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// How features form pairs: neighbours, or feature i of the first half with
// feature i of the second.
enum class RotaryPairs : int32_t { kHalves, kNeighbours };

// out = x turned, [..., features], floating and of any strides; `out` may be
// `x`. cos and sin have as many elements along their last dimension as there
// are pairs to turn (features past the pairs are copied) and broadcast to x
// otherwise; with one dimension less than x they have no dimension of heads,
// the last but one of x, and with [tokens, pairs] for an x of four dimensions
// [batch, tokens, heads, features] likewise. `inverse` turns the other way,
// which is the gradient. Enqueues and returns.
Status rotary(const Queue& queue, const TensorView& out, const TensorView& x,
              const TensorView& cos, const TensorView& sin, RotaryPairs pairs,
              bool inverse);

}  // namespace dipu::kernels
