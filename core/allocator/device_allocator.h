// SPDX-License-Identifier: Apache-2.0
//
// The caching device allocator.
//
// Memory is stream-ordered: a block belongs to the stream that was current when
// it was allocated, and freeing it makes it available at once to later
// allocations of the same stream, whose work runs after the work that used it.
// A block that another stream uses must be announced with recordStream; it is
// then reused only after that stream's work, enqueued until the free, is done.
//
// It is registered for the device type when the library is loaded, so
// c10::GetAllocator and torch.accelerator reach it, and it touches the vendor
// on the first allocation only. All functions may be called from any thread.
// See Note [Device allocator] in block_pool.h for how it works.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace dipu::allocator {

// The allocator; never destroyed, because storages outlive static objects.
c10::DeviceAllocator& deviceAllocator() noexcept;

// Allocates `bytes` on `device`, a valid index, for its current stream. What
// c10::Allocator::allocate does, without a virtual call and without asking for
// the current device. Zero bytes give a null pointer with the right device.
// Throws c10::OutOfMemoryError.
c10::DataPtr allocate(std::size_t bytes, c10::DeviceIndex device);

// A device address and the length of the allocation around it.
struct Allocation {
  c10::DeviceIndex device;
  void* base;
  std::size_t bytes;
};

// The live allocation that holds `ptr`, which may point into its middle. Walks
// the segment that holds it: not for hot paths.
std::optional<Allocation> findAllocation(const void* ptr) noexcept;

// Memory without a DataPtr, for the current stream of `device`. Free it with
// rawDeallocate; null is ignored.
void* rawAllocate(std::size_t bytes, c10::DeviceIndex device);
void rawDeallocate(void* ptr) noexcept;

// As DeviceAllocator::recordStream, for a pointer into an allocation. Memory
// that is not ours is ignored.
void recordStream(const void* ptr, const c10::Stream& stream);

}  // namespace dipu::allocator
