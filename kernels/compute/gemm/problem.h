// SPDX-License-Identifier: Apache-2.0
//
// A matrix product as plain values, ready to be captured by a closure.
#pragma once

#include <cstdint>

#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::gemm {

// Strides of a batch of matrices, in elements. Any value is valid, also 0
// (broadcast) and negative ones.
struct Strides {
  int64_t batch;
  int64_t row;
  int64_t column;
};

// c = alpha * a * b + beta * d for each matrix of the batch. Addresses are
// those of the worker, already translated. `d` is not read when beta is 0 and
// may be nullptr then; it may equal `c`. An empty depth gives beta * d.
struct Problem {
  const void* a;  // rows x depth
  const void* b;  // depth x columns
  const void* d;  // rows x columns
  void* c;        // rows x columns
  int64_t batch;
  int64_t rows;
  int64_t columns;
  int64_t depth;
  Strides a_strides;
  Strides b_strides;
  Strides d_strides;
  Strides c_strides;
  double alpha;
  double beta;
};

// Computes a problem whose dtype is one that gemm.h names. Runs on a stream's
// worker, as all functions below, and uses its team.
void run(const Problem& problem, DType dtype);

// Results of runPacked, runVector and runInteger do not depend on the number of
// threads.

// Own packed kernels: float32 and float64 in their own precision, float16 and
// bfloat16 accumulated in float32 and rounded once. Any strides.
void runPacked(const Problem& problem, DType dtype);

// Whether one operand is a vector and the other has dense rows or columns.
bool vectorAccepts(const Problem& problem);
// Products with a vector, whose speed is that of memory. Types as runPacked.
void runVector(const Problem& problem, DType dtype);

// Whether runBlas takes the problem: float32 or float64, matrices whose rows
// or columns are contiguous, and enough work to pay for the call.
bool blasAccepts(const Problem& problem, DType dtype);
// OpenBLAS, one thread per part of the result.
void runBlas(const Problem& problem, DType dtype);

// Integers, with wrap-around. Any strides.
void runInteger(const Problem& problem, DType dtype);

}  // namespace dipu::kernels::gemm
