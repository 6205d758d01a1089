// SPDX-License-Identifier: Apache-2.0
//
// What a result takes from one axis of its source: per element of the result
// the positions in the source, with weights. Built by the worker, once per
// call, and then read by its whole team.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/compute/pooling/padding.h"
#include "kernels/compute/pooling/resample.h"

namespace dipu::kernels::pooling {

inline constexpr int kAxes = 3;

// Sizes of an axis and how it is resampled. `scale` is elements of the result
// per element of the source, 0 for the quotient of the sizes.
struct Axis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 0;
};

// One position per element of the result.
using AxisMap = std::vector<int64_t>;

// Element o of the result is the sum of weight[k] times the source's element
// index[k] for k from begin[o] up to begin[o + 1].
template <typename C>
struct AxisTable {
  std::vector<int64_t> begin;
  std::vector<int64_t> index;
  std::vector<C> weight;

  // Whether the result is the source.
  bool isIdentity(const Axis& axis) const {
    if (axis.in != axis.out || index.size() != begin.size() - 1) return false;
    for (int64_t i = 0; i < axis.in; ++i) {
      if (index[i] != i || weight[i] != C(1)) return false;
    }
    return true;
  }
};

template <typename C>
using AxisTables = std::array<AxisTable<C>, kAxes>;
using AxisMaps = std::array<AxisMap, kAxes>;

// The nearest element, its index computed in C as PyTorch does.
template <typename C>
AxisMap nearestMap(const Axis& axis, bool exact);

// Where an axis that is padded by `before` elements in front takes its
// elements from. Not for PadMode::kConstant.
AxisMap paddingMap(const Axis& axis, PadMode mode, int64_t before);

// The elements of a map, each with weight 1.
template <typename C>
AxisTable<C> tableOf(const AxisMap& map);

// Linear, cubic and Lanczos interpolation.
template <typename C>
AxisTable<C> interpolationTable(const Axis& axis,
                                const ResampleArguments& arguments);

}  // namespace dipu::kernels::pooling
