// SPDX-License-Identifier: Apache-2.0
//
// OpenBLAS and its LAPACK inside of tasks.
#pragma once

namespace dipu::kernels::gemm {

// From now on OpenBLAS computes on the calling thread alone; who wants more
// calls it from a team. For every function that calls it; any thread.
void useOneThread();

}  // namespace dipu::kernels::gemm
