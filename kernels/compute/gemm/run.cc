// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/dtype.h"
#include "kernels/compute/gemm/problem.h"

namespace dipu::kernels::gemm {

void run(const Problem& problem, DType dtype) {
  if (!isFloating(dtype)) return runInteger(problem, dtype);
  if (vectorAccepts(problem)) return runVector(problem, dtype);
  if (blasAccepts(problem, dtype)) return runBlas(problem, dtype);
  runPacked(problem, dtype);
}

}  // namespace dipu::kernels::gemm
