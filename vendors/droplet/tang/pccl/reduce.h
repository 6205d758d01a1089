// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of reductions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dipu::pccl {

// out[i] = op over sources[0][i], sources[1][i], ... in that order. `out` may
// be one of the sources. The result is also written to `copy` unless that is
// NULL. 16-bit floating-point numbers are rounded once, at the end. NaN wins
// over every number in max and min.
void reduce(int32_t dtype, int32_t op, const std::vector<const char*>& sources,
            std::size_t count, char* out, char* copy);

}  // namespace dipu::pccl
