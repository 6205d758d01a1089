// SPDX-License-Identifier: Apache-2.0
//
// Elements, or slices along one dimension, without repetition.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

enum class UniqueOrder : int32_t {
  kSorted,       // all equal ones form a group; groups in ascending order
  kConsecutive,  // neighbours that are equal form a group
};

// What unique finds. The views are int64 vectors with an element per group, in
// the queue's scratch memory; they point into this object.
struct UniqueGroups {
  TensorView firsts;  // position of the first member of a group
  TensorView counts;  // its members
  int64_t count = 0;
  int64_t stride = 1;

  UniqueGroups() = default;
  UniqueGroups(const UniqueGroups&) = delete;
  UniqueGroups& operator=(const UniqueGroups&) = delete;
};

// Groups the elements of `input` in row-major order, or its slices along `dim`
// if that is not nullptr; slices compare element by element. A NaN equals
// nothing. `inverse` (int64, contiguous or not, an element per member) becomes
// the group of each member, and may be undefined. Waits for the stream, because
// the number of groups is a size.
Status unique(const Queue& queue, const TensorView& input, const int64_t* dim,
              UniqueOrder order, const TensorView& inverse,
              UniqueGroups* groups);

}  // namespace dipu::kernels
