// SPDX-License-Identifier: Apache-2.0
//
// The part of a kernel launch that does not depend on the kernel.
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_kernel.h"

using dipu::tang::check;
using dipu::tang::fail;
using dipu::tang::resolveStream;

namespace {

using tang::detail::kMaxSharedBytes;
using tang::detail::kMaxThreadsPerBlock;

struct RegisteredKernel {
  const char* name;
  std::size_t parameters;
  tangKernelLauncher launcher;
};

// By the address of the host function. Never destroyed: kernels of libraries
// register and launch at any time.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, RegisteredKernel> kernels;
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

uint64_t volume(const dim3& size) { return uint64_t{size.x} * size.y * size.z; }

}  // namespace

tangError_t tangCheckLaunch(const dim3* grid, const dim3* block,
                            void* const* args, int count,
                            std::size_t shared_bytes, tangStream_t stream,
                            soft_stream** out_stream) {
  // Each extent is bounded first, so that the product cannot wrap around.
  const bool block_fits =
      block->x <= kMaxThreadsPerBlock && block->y <= kMaxThreadsPerBlock &&
      block->z <= kMaxThreadsPerBlock && volume(*block) <= kMaxThreadsPerBlock;
  const bool grid_fits = grid->y < (1u << 16) && grid->z < (1u << 16);
  if (!block_fits || !grid_fits || volume(*block) == 0 || volume(*grid) == 0) {
    return fail(tangErrorInvalidConfiguration,
                "launchKernel: grid (%u, %u, %u), block (%u, %u, %u); a block "
                "has 1 to 1024 threads, a grid at least one block and at most "
                "65535 in y and z",
                grid->x, grid->y, grid->z, block->x, block->y, block->z);
  }
  if (shared_bytes > kMaxSharedBytes) {
    return fail(tangErrorInvalidConfiguration,
                "launchKernel: %zu bytes of shared memory; a block has at most "
                "%zu",
                shared_bytes, kMaxSharedBytes);
  }
  for (int i = 0; i < count; ++i) {
    if (args == nullptr || args[i] == nullptr) {
      return fail(tangErrorInvalidValue,
                  "launchKernel: argument %d of %d is missing", i, count);
    }
  }
  return resolveStream(stream, out_stream);
}

tangError_t tangEnqueueLaunch(soft_stream* stream, const char* name,
                              soft_task task, const void* payload,
                              std::size_t bytes) {
  return check(soft_launch_named(stream, name, task, payload, bytes));
}

void tangRegisterKernel(const void* host_func, const char* name,
                        std::size_t parameters, tangKernelLauncher launcher) {
  Registry& known = registry();
  std::lock_guard<std::mutex> lock(known.mutex);
  known.kernels[host_func] = {name, parameters, launcher};
}

tangError_t tangLaunchKernel(const void* hostFunc, dim3 gridDim, dim3 blockDim,
                             void** args, size_t numArgs, size_t sharedMemBytes,
                             tangStream_t stream) {
  if (tangError_t error = dipu::tang::requireProcess()) return error;
  RegisteredKernel kernel{};
  {
    Registry& known = registry();
    std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.kernels.find(hostFunc);
    if (found != known.kernels.end()) kernel = found->second;
  }
  if (kernel.launcher == nullptr) {
    return fail(tangErrorSymbolNotFound,
                "tangLaunchKernel: no kernel is registered at %p; see "
                "tang::registerKernel",
                hostFunc);
  }
  if (numArgs != kernel.parameters) {
    return fail(tangErrorInvalidValue,
                "tangLaunchKernel: %zu arguments; kernel %s has %zu parameters",
                numArgs, kernel.name, kernel.parameters);
  }
  return kernel.launcher(hostFunc, kernel.name, gridDim, blockDim, args,
                         sharedMemBytes, stream);
}
