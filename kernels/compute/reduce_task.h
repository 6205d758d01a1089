// SPDX-License-Identifier: Apache-2.0
//
// The form in which a reduction waits in a stream.
#pragma once

#include <cstdint>

#include "kernels/compute/convert.h"
#include "kernels/compute/domain.h"
#include "kernels/compute/reducer.h"

namespace dipu::kernels {

// A dimension of the input with its strides, in bytes. Strides of results are
// 0 along reduced dimensions.
struct ReduceDim {
  int64_t size = 1;
  int64_t in = 0;
  int64_t out = 0;
  int64_t index = 0;

  void set(const Domain& domain, int32_t dim) {
    size = domain.sizes[dim];
    in = domain.strides[dim][0];
    out = domain.strides[dim][1];
    index = domain.operands > 2 ? domain.strides[dim][2] : 0;
  }
};

struct ReduceTask {
  const Reducer* reducer;
  alignas(16) unsigned char op[kMaxReduceOpBytes];
  char* input;
  char* out;
  char* indices;  // nullptr unless positions are wanted
  Convert load;
  Convert store;  // nullptr if only positions are wanted
  Convert store_index;
  int64_t item;        // bytes of an element as the loops read it
  bool direct;         // runs along `inner` need no staging
  bool inner_reduced;  // rows, else columns, see Note [Reductions]
  int32_t kept_dims = 0;
  int32_t reduced_dims = 0;
  ReduceDim inner;
  // Without `inner`, innermost first: the reduced ones, then the kept ones.
  // Only the used part is enqueued.
  ReduceDim dims[kMaxDims];

  const ReduceDim* reduced() const { return dims; }
  const ReduceDim* kept() const { return dims + reduced_dims; }
  // Runs the reduction with the device's thread team.
  void operator()() const;
};

}  // namespace dipu::kernels
