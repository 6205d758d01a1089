// SPDX-License-Identifier: Apache-2.0
//
// Lets programs that name the device "cuda" reach ours, on a PyTorch built
// without CUDA.
#pragma once

namespace dipu::cuda_lookalike {

// Registers, for the rest of the process:
//   - a device guard for DeviceType::CUDA that acts on our devices;
//   - kernels of the CUDA dispatch key that replace a CUDA device in the
//     arguments by ours and dispatch again, so that factories and copies give
//     tensors of our device;
//   - `to` for our tensors, so that "cuda" is the device they are on already.
// No tensor ever has the type CUDA, and calls that do not name it cost nothing
// more than before. Calling it again does nothing. Throws when another library
// has registered a CUDA device guard.
void enable();

}  // namespace dipu::cuda_lookalike
