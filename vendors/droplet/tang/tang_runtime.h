/* SPDX-License-Identifier: Apache-2.0
 *
 * tang: the runtime API of droplet's SDK.
 *
 * Names, codes and order of arguments are those of the tang runtime 0.13, the
 * declarations are this project's own. Functions of the compiler's interface
 * (__tang*) and those that add nodes to a graph are not offered.
 *
 * Every thread has a current device, 0 at first. Functions without a device or
 * stream argument act on it, and what is created belongs to it. All functions
 * may be called from any thread.
 *
 * Differs from the CUDA runtime: no copy direction "default"; two codes for
 * exhausted memory (host 2, device 3006); tangFree waits for the device; an
 * allocation of no bytes gives NULL and success.
 */
#ifndef DIPU_VENDORS_DROPLET_TANG_TANG_RUNTIME_H_
#define DIPU_VENDORS_DROPLET_TANG_TANG_RUNTIME_H_

#include <stddef.h>

#include "vendors/droplet/tang/tang_graph.h"
#include "vendors/droplet/tang/tang_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices. */
TANG_API tangError_t tangGetDeviceCount(int* count);
TANG_API tangError_t tangSetDevice(int deviceId);
TANG_API tangError_t tangGetDevice(int* deviceId);
TANG_API tangError_t tangDeviceSynchronize(void);
TANG_API tangError_t tangDeviceReset(void);
TANG_API tangError_t tangDeviceGetAttribute(int* value, tangDeviceAttr attr,
                                            int deviceId);
TANG_API tangError_t tangGetDeviceProperties(tangDeviceProp* props,
                                             int deviceId);
/* "domain:bus:device.function" and a NUL, 13 bytes in all; softdevice makes
 * them up, but each device has its own. */
TANG_API tangError_t tangDeviceGetPCIBusId(char* pciBusId, int len,
                                           int deviceId);
/* Lower numbers are more urgent. */
TANG_API tangError_t tangDeviceGetStreamPriorityRange(int* leastPriority,
                                                      int* greatestPriority);
TANG_API tangError_t tangRuntimeGetVersion(int* runtimeVersion);
TANG_API tangError_t tangDriverGetVersion(int* driverVersion);
TANG_API tangError_t tangDeviceCanAccessPeer(int* canAccessPeer, int device,
                                             int peerDevice);
TANG_API tangError_t tangDeviceEnablePeerAccess(int peerDevice,
                                                unsigned int flags);
TANG_API tangError_t tangDeviceDisablePeerAccess(int peerDevice);

/* Errors. A failure stays the thread's last error until tangGetLastError
 * returns it; "not ready" is no failure. */
TANG_API tangError_t tangGetLastError(void);
TANG_API tangError_t tangPeekAtLastError(void);
TANG_API const char* tangGetErrorName(tangError_t error);
/* For the code of the thread's latest failure the text includes its details;
 * it is valid until the thread's next failure. */
TANG_API const char* tangGetErrorString(tangError_t error);

/* Memory. The kind of a copy must agree with its two addresses. */
TANG_API tangError_t tangMalloc(void** pptr, size_t sizeBytes);
TANG_API tangError_t tangFree(void* ptr);
/* Memory in the order of a stream: it may be used by work of `stream` enqueued
 * after the allocation, and by what waits for that. tangFreeAsync takes any
 * device memory and returns at once; the memory is kept for later
 * tangMallocAsync, until the device is synchronised or runs out of memory.
 * tangFree is for both kinds. Not while the stream is being captured. */
TANG_API tangError_t tangMallocAsync(void** pptr, size_t sizeBytes,
                                     tangStream_t hStream);
TANG_API tangError_t tangFreeAsync(void* ptr, tangStream_t hStream);
TANG_API tangError_t tangMallocHost(void** pptr, size_t sizeBytes);
TANG_API tangError_t tangHostAlloc(void** pptr, size_t sizeBytes,
                                   unsigned int flags);
TANG_API tangError_t tangFreeHost(void* ptr);
TANG_API tangError_t tangHostRegister(void* ptr, size_t sizeBytes,
                                      unsigned int flags);
TANG_API tangError_t tangHostUnregister(void* ptr);
TANG_API tangError_t tangMemcpy(void* dst, const void* src, size_t sizeBytes,
                                tangMemcpyKind kind);
TANG_API tangError_t tangMemcpyAsync(void* dst, const void* src,
                                     size_t sizeBytes, tangMemcpyKind kind,
                                     tangStream_t stream);
TANG_API tangError_t tangMemcpyPeer(void* dst, int dstDevice, const void* src,
                                    int srcDevice, size_t count);
TANG_API tangError_t tangMemcpyPeerAsync(void* dst, int dstDevice,
                                         const void* src, int srcDevice,
                                         size_t count, tangStream_t stream);
/* Copies `height` rows of `width` bytes; rows start `pitch` bytes apart. Not
 * among the functions known of tang 0.13: named as in the CUDA runtime. */
TANG_API tangError_t tangMemcpy2D(void* dst, size_t dpitch, const void* src,
                                  size_t spitch, size_t width, size_t height,
                                  tangMemcpyKind kind);
TANG_API tangError_t tangMemcpy2DAsync(void* dst, size_t dpitch,
                                       const void* src, size_t spitch,
                                       size_t width, size_t height,
                                       tangMemcpyKind kind,
                                       tangStream_t stream);
TANG_API tangError_t tangMemset(void* dst, int value, size_t sizeBytes);
TANG_API tangError_t tangMemsetAsync(void* dst, int value, size_t sizeBytes,
                                     tangStream_t stream);
TANG_API tangError_t tangMemGetInfo(size_t* free, size_t* total);
TANG_API tangError_t tangPointerGetAttributes(
    struct tangPointerAttributes* attributes, const void* ptr);

/* Streams. Host functions run on the stream's thread and must not call tang. */
TANG_API tangError_t tangStreamCreate(tangStream_t* stream);
TANG_API tangError_t tangStreamCreateWithFlags(tangStream_t* stream,
                                               unsigned int flags);
TANG_API tangError_t tangStreamCreateWithPriority(tangStream_t* stream,
                                                  unsigned int flags,
                                                  int priority);
TANG_API tangError_t tangStreamDestroy(tangStream_t stream);
TANG_API tangError_t tangStreamSynchronize(tangStream_t stream);
TANG_API tangError_t tangStreamQuery(tangStream_t stream);
TANG_API tangError_t tangStreamWaitEvent(tangStream_t stream, tangEvent_t event,
                                         unsigned int flag);
TANG_API tangError_t tangStreamGetPriority(tangStream_t stream, int* priority);
TANG_API tangError_t tangStreamGetFlags(tangStream_t stream,
                                        unsigned int* flags);
TANG_API tangError_t tangStreamGetId(tangStream_t stream, int* pId);
TANG_API tangError_t tangStreamAddCallback(tangStream_t stream,
                                           tangStreamCallback_t callback,
                                           void* userData, unsigned int flags);
TANG_API tangError_t tangLaunchHostFunc(tangStream_t stream, tangHostFn_t fn,
                                        void* userData);

/* Kernels. Launches the kernel whose host function was registered, see
 * tang::registerKernel in tang_kernel.h; tangErrorSymbolNotFound otherwise.
 * `args` holds the addresses of numArgs parameters. */
TANG_API tangError_t tangLaunchKernel(const void* hostFunc, dim3 gridDim,
                                      dim3 blockDim, void** args,
                                      size_t numArgs, size_t sharedMemBytes,
                                      tangStream_t stream);

/* Events. */
TANG_API tangError_t tangEventCreate(tangEvent_t* event);
TANG_API tangError_t tangEventCreateWithFlags(tangEvent_t* event,
                                              unsigned flag);
TANG_API tangError_t tangEventRecord(tangEvent_t event, tangStream_t stream);
TANG_API tangError_t tangEventRecordWithFlags(tangEvent_t event,
                                              tangStream_t stream,
                                              unsigned int flags);
TANG_API tangError_t tangEventSynchronize(tangEvent_t event);
TANG_API tangError_t tangEventQuery(tangEvent_t event);
TANG_API tangError_t tangEventElapsedTime(float* ms, tangEvent_t start,
                                          tangEvent_t stop);
TANG_API tangError_t tangEventDestroy(tangEvent_t event);

/* Processes. A handle names memory of tangMalloc for other processes of the
 * user on this machine; it opens while the memory lives. Opened memory behaves
 * as memory of the current device and is closed, not freed. The process that
 * made a handle cannot open it. */
TANG_API tangError_t tangIpcGetMemHandle(tangIpcMemHandle_t* pHandle,
                                         void* devPtr);
TANG_API tangError_t tangIpcOpenMemHandle(void** devPtr,
                                          tangIpcMemHandle_t handle,
                                          unsigned int flags);
TANG_API tangError_t tangIpcCloseMemHandle(void* devPtr);
/* Exist, and return tangErrorNotSupported as on a card. */
TANG_API tangError_t tangIpcGetEventHandle(tangIpcEventHandle_t* pHandle,
                                           tangEvent_t event);
TANG_API tangError_t tangIpcOpenEventHandle(tangEvent_t* phEvent,
                                            tangIpcEventHandle_t handle);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_VENDORS_DROPLET_TANG_TANG_RUNTIME_H_ */
