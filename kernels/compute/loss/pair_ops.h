// SPDX-License-Identifier: Apache-2.0
//
// One element of each pair loss and of its gradient.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/math.h"

namespace dipu::kernels {

// What an operator knows besides its operands.
template <typename C>
struct PairLossState {
  C beta;
  C scale;            // of the gradient
  bool weighted;      // operand `weight` counts
  bool pos_weighted;  // operand `pos_weight` counts
};

template <typename C>
inline C atLeast(C value, C least) {
  return value < least ? least : value;
}

// value(x, t, p) is the loss and slope(x, t, p) its derivative by x; p is the
// factor of positive targets, 1 where there is none.
template <typename C, PairLossKind Kind>
struct PairLoss;

template <typename C>
struct PairLoss<C, PairLossKind::kSquared> {
  static C value(C x, C t, C, C) { return (x - t) * (x - t); }
  static C slope(C x, C t, C, C) { return C(2) * (x - t); }
};

template <typename C>
struct PairLoss<C, PairLossKind::kSmoothL1> {
  static C value(C x, C t, C, C beta) {
    const C d = x > t ? x - t : t - x;
    const C distance = (x - t) != (x - t) ? x - t : d;
    return distance < beta ? C(0.5) * distance * distance / beta
                           : distance - C(0.5) * beta;
  }
  static C slope(C x, C t, C, C beta) {
    const C d = x - t;
    if (d <= -beta && d < C(0)) return C(-1);
    if (d >= beta && d > C(0)) return C(1);
    return beta == C(0) ? d : d / beta;
  }
};

template <typename C>
struct PairLoss<C, PairLossKind::kHuber> {
  static C value(C x, C t, C, C delta) {
    const C d = x > t ? x - t : t - x;
    const C distance = (x - t) != (x - t) ? x - t : d;
    return distance <= delta ? C(0.5) * distance * distance
                             : delta * (distance - C(0.5) * delta);
  }
  static C slope(C x, C t, C, C delta) {
    const C d = x - t;
    if (d <= -delta) return -delta;
    return d >= delta ? delta : d;
  }
};

template <typename C>
struct PairLoss<C, PairLossKind::kBinaryEntropy> {
  static C value(C x, C t, C, C) {
    const C positive = atLeast(std::log(x), C(-100));
    const C negative = atLeast(std::log1p(-x), C(-100));
    return (t - C(1)) * negative - t * positive;
  }
  static C slope(C x, C t, C, C) {
    return (x - t) / atLeast((C(1) - x) * x, C(1e-12));
  }
};

template <typename C>
struct PairLoss<C, PairLossKind::kBinaryEntropyLogits> {
  static C value(C x, C t, C p, C) {
    const C far = std::log1p(std::exp(-(x < C(0) ? -x : x)));
    const C below = x < C(0) ? -x : C(0);
    return (C(1) - t) * x + (C(1) + (p - C(1)) * t) * (far + below);
  }
  static C slope(C x, C t, C p, C) {
    return (p * t + C(1) - t) * math::sigmoid(x) - p * t;
  }
};

// Operands: loss, input, target, weight, pos_weight.
template <typename C, PairLossKind Kind>
void pairLossLoop(const void* state, void* const* p, int64_t count) {
  const auto s = *static_cast<const PairLossState<C>*>(state);
  C* out = static_cast<C*>(p[0]);
  const C* x = static_cast<const C*>(p[1]);
  const C* t = static_cast<const C*>(p[2]);
  const C* w = static_cast<const C*>(p[3]);
  const C* pos = static_cast<const C*>(p[4]);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const C factor = s.pos_weighted ? pos[i] : C(1);
    const C value = PairLoss<C, Kind>::value(x[i], t[i], factor, s.beta);
    out[i] = s.weighted ? value * w[i] : value;
  }
}

// Operands: gradient, gradient of the loss, input, target, weight, pos_weight.
template <typename C, PairLossKind Kind>
void pairLossBackwardLoop(const void* state, void* const* p, int64_t count) {
  const auto s = *static_cast<const PairLossState<C>*>(state);
  C* out = static_cast<C*>(p[0]);
  const C* g = static_cast<const C*>(p[1]);
  const C* x = static_cast<const C*>(p[2]);
  const C* t = static_cast<const C*>(p[3]);
  const C* w = static_cast<const C*>(p[4]);
  const C* pos = static_cast<const C*>(p[5]);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const C factor = s.pos_weighted ? pos[i] : C(1);
    const C slope = PairLoss<C, Kind>::slope(x[i], t[i], factor, s.beta);
    const C scaled = slope * g[i] * s.scale;
    out[i] = s.weighted ? scaled * w[i] : scaled;
  }
}

}  // namespace dipu::kernels
