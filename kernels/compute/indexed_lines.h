// SPDX-License-Identifier: Apache-2.0
//
// An index tensor that names, for each of its elements, a position along one
// dimension of another tensor: gather, scatter and their like.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Lines of the index, of the tensor whose sizes it has, and of the tensor it
// points into, all along one dimension.
struct IndexedLines {
  IndexReader index;
  Lines<3> lines;
  int64_t size;  // of the dimension that the index points into

  // Calls body(element offset, offset pointed at) for the elements of `count`
  // lines side by side, each line in its order.
  template <typename Body>
  void each(int64_t line, int64_t count, const Body& body) const {
    // Copies, which stay in registers although reportIndex may write memory.
    const IndexReader reader = index;
    const int64_t limit = size;
    const int64_t along = lines.line_strides[2];
    const int64_t across[3] = {lines.strides[0][0], lines.strides[0][1],
                               lines.strides[0][2]};
    int64_t first = lines.offset(line, 0);
    int64_t own = lines.offset(line, 1);
    const int64_t other = lines.offset(line, 2);
    for (int64_t i = 0; i < lines.length; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        const int64_t at = reader.at(first + j * across[0]);
        if (at < 0 || at >= limit) {
          reportIndex(at, limit);
          continue;
        }
        body(own + j * across[1], other + at * along + j * across[2]);
      }
      first += lines.line_strides[0];
      own += lines.line_strides[1];
    }
  }

  // Lines that are taken side by side from `line` on: many when an element's
  // neighbours belong to other lines, so that whole cache lines are used.
  int64_t sideBySide(int64_t line, int64_t end) const {
    constexpr int64_t kMost = 256;
    if (lines.ndim == 0 || lines.line_strides[0] <= lines.strides[0][0]) {
      return 1;
    }
    const int64_t left = lines.sizes[0] - line % lines.sizes[0];
    return std::min({kMost, left, end - line});
  }

  template <typename Body>
  void all(const Body& body) const {
    parallelFor(lines.count, grainFor(lines.length, 4),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    const int64_t count = sideBySide(i, end);
                    each(i, count, body);
                    i += count;
                  }
                });
  }
};

// Checks the tensors, wraps `dim` and fills everything of `result`, which then
// waits for the addresses of data only. `own` has the sizes of `index`
// or more, and `target` at least those in all dimensions but `dim`.
Status prepareIndexed(const Queue& queue, const char* operation,
                      const TensorView& index, const TensorView& own,
                      const TensorView& target, int64_t* dim,
                      IndexedLines* result);

}  // namespace dipu::kernels
