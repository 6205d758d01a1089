// SPDX-License-Identifier: Apache-2.0
//
// An index tensor that names, for each of its elements, a position along one
// dimension of another tensor: gather, scatter and their like.
#pragma once

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

  // Calls body(element offset, offset pointed at) along one line.
  template <typename Body>
  void each(const char* operation, int64_t line, const Body& body) const {
    const int64_t first = lines.offset(line, 0);
    const int64_t own = lines.offset(line, 1);
    const int64_t other = lines.offset(line, 2);
    for (int64_t i = 0; i < lines.length; ++i) {
      const int64_t at = index.at(first + i * lines.line_strides[0]);
      if (at < 0 || at >= size) {
        reportIndex(operation, at, size);
        continue;
      }
      body(own + i * lines.line_strides[1], other + at * lines.line_strides[2]);
    }
  }

  template <typename Body>
  void all(const char* operation, const Body& body) const {
    parallelFor(lines.count, grainFor(lines.length, 4),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    each(operation, i, body);
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
