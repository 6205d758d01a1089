// SPDX-License-Identifier: Apache-2.0
//
// tang's errors over softdevice's, and the calling thread's context.
#pragma once

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::tang {

// Notes the failure as the thread's last error, with the formatted details, and
// returns the code.
[[gnu::format(printf, 2, 3)]] tangError_t fail(tangError_t code,
                                               const char* format, ...);

// Translates a status of softdevice and notes a failure with its text.
tangError_t check(soft_status status);

// The code of a status; notes nothing.
tangError_t codeOf(soft_status status);

// tangErrorInvalidValue if the output of `function` is NULL.
tangError_t requireOutput(const char* function, const void* output);

// An error in a forked child, where another thread of its parent may have held
// a lock, and while the process ends. Comes before every lock of this library.
tangError_t requireProcess();

// An error unless `stream` runs what it is given at once.
tangError_t refuseCapture(const char* function, soft_stream* stream);

// The current device of the calling thread.
int currentDevice();

// The softdevice stream that a handle names: NULL is the current device's
// default stream.
tangError_t resolveStream(tangStream_t stream, soft_stream** out_stream);

// The calling thread's stream of `device`, made when first asked for.
tangError_t perThreadStream(int device, soft_stream** out_stream);

// Device memory, with what tangFreeAsync keeps given back first if need be.
tangError_t allocateOn(int device, size_t bytes, void** out_ptr);
// Memory that tangFreeAsync keeps for `device`: gives it back, which waits for
// the device, or forgets it because the device has been reset.
tangError_t releaseKeptMemory(int device);
void forgetKeptMemory(int device);
// Whether `ptr` is memory of another process.
bool isOpenedMemory(const void* ptr);
// A reset of `device` has closed what was opened on it.
void forgetOpenedMemory(int device);
// Whether `ptr` has been given to tangFreeAsync.
bool isKeptMemory(const void* ptr);

}  // namespace dipu::tang
