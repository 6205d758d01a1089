// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of raw memory. A side is described by its device index or
// by DIPU_HOST. Zero bytes are a no-op.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi/runtime.h"

namespace dipu::runtime {

// Enqueues a copy on `stream`, which belongs to one of the two devices.
// Pageable host memory may make it block; pinned host memory must stay valid
// and unchanged until the copy is done. Orders nothing but `stream`: between
// two devices use copyBetweenDevices.
void copyAsync(void* dst, int32_t dst_device, const void* src,
               int32_t src_device, std::size_t bytes, dipu_stream* stream);

// Enqueues a copy between two different devices, in the order that a user of
// the current streams expects: after the work enqueued so far on both, before
// whatever is enqueued on either later. Blocks only when the devices cannot
// reach each other and the copy goes through host memory.
void copyBetweenDevices(void* dst, int32_t dst_device, const void* src,
                        int32_t src_device, std::size_t bytes);

// Copies and blocks until done. Ordered after the work of the current stream
// of each device that takes part.
void copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
          std::size_t bytes);

// The address at which the host itself reads and writes the device memory at
// `ptr`, up to the end of its allocation; null when it cannot. The host may use
// it once the work on the memory is done, and until it enqueues more.
void* hostPointer(const void* ptr, int32_t device);

// Tell the observer that the host uses device memory through its hostPointer in
// place of a copy on the device's current stream, which then is idle.
void tellHostReads(const void* ptr, std::size_t bytes, int32_t device);
void tellHostWrites(void* ptr, std::size_t bytes, int32_t device);

// Enqueues a fill of device memory with the low byte of `value`.
void memsetAsync(void* ptr, int32_t device, int32_t value, std::size_t bytes,
                 dipu_stream* stream);

}  // namespace dipu::runtime
