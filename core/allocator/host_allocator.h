// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory: cached by torch's own host allocator, backed by the
// vendor's host_allocate. Registered for the device type when the library is
// loaded.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace dipu::allocator {

// The allocator; never destroyed. Thread-safe. Call its record_event after
// enqueuing a copy that uses the memory, or it may be reused too early.
at::HostAllocator& hostAllocator() noexcept;

// Whether `ptr` lies in memory of hostAllocator, or in memory that the vendor
// reports as pinned. False, never an error, when no vendor is initialised.
bool isPinned(const void* ptr) noexcept;

}  // namespace dipu::allocator
