/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and constants of tang. Use tang_runtime.h.
 */
#ifndef DIPU_VENDORS_DROPLET_TANG_TANG_TYPES_H_
#define DIPU_VENDORS_DROPLET_TANG_TANG_TYPES_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANG_API __attribute__((visibility("default")))

typedef enum tangError {
  tangSuccess = 0,
  tangErrorInvalidValue = 1,
  tangErrorMemoryAllocation = 2,
  tangErrorInitializationError = 3,
  tangErrorDeinitialized = 4,
  tangErrorInvalidConfiguration = 9,
  tangErrorInvalidDevicePointer = 17,
  tangErrorInvalidMemcpyDirection = 21,
  tangErrorInsufficientDriver = 35,
  tangErrorNotImplemented = 99,
  tangErrorNoDevice = 100,
  tangErrorInvalidDevice = 101,
  tangErrorIllegalState = 305,
  tangErrorStreamCaptureUnsupported = 306, /* 900 and so on in CUDA */
  tangErrorStreamCaptureInvalidated = 307,
  tangErrorStreamCaptureMerge = 308,
  tangErrorStreamCaptureUnmatched = 309,
  tangErrorStreamCaptureUnjoined = 310,
  tangErrorStreamCaptureIsolation = 311,
  tangErrorStreamCaptureImplicit = 312,
  tangErrorStreamCaptureWrongThread = 313,
  tangErrorCapturedEvent = 314,
  tangErrorInvalidResourceHandle = 400,
  tangErrorSymbolNotFound = 500,
  tangErrorNotReady = 600,
  tangErrorIllegalAddress = 700,
  tangErrorPeerAccessAlreadyEnabled = 704,
  tangErrorPeerAccessNotEnabled = 705,
  tangErrorHostMemoryAlreadyRegistered = 712,
  tangErrorLaunchFailure = 719,
  tangErrorNotSupported = 801,
  tangErrorUnknown = 999,
  tangErrorDeviceOutOfMemory = 3006,
  tangErrorDriverIoctlFailed = 10000
} tangError_t;

/* A stream handle is a softdevice stream. NULL and tangStreamLegacy name the
 * default stream of the current device, which orders itself with all streams
 * that were not created with tangStreamNonBlocking. tangStreamPerThread names
 * one such stream for each thread and device; it is not an argument of
 * tangStreamDestroy. */
typedef struct soft_stream* tangStream_t;
typedef struct soft_event* tangEvent_t;
#define tangStreamLegacy ((tangStream_t)0x1)
#define tangStreamPerThread ((tangStream_t)0x2)

typedef enum tangMemcpyKind {
  tangMemcpyHostToHost = 0,
  tangMemcpyHostToDevice = 1,
  tangMemcpyDeviceToHost = 2,
  tangMemcpyDeviceToDevice = 3
} tangMemcpyKind;

typedef enum tangDeviceAttr {
  tangDevAttrWarpSize = 2,
  tangDevAttrMaxThreadsPerBlock = 4,
  tangDevAttrMultiProcessorCount = 13,
  tangDevAttrComputeCapabilityMajor = 51,
  tangDevAttrMemoryPoolsSupported = 63
} tangDeviceAttr;

/* Packed, 540 bytes. Only the size is that of the real structure: code for a
 * card asks for attributes instead. */
#pragma pack(push, 1)
typedef struct tangDeviceProp {
  char name[256];
  size_t totalGlobalMem;    /* bytes */
  size_t sharedMemPerBlock; /* bytes */
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int major;
  int minor;
  int multiProcessorCount;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
  char reserved[212];
} tangDeviceProp;
#pragma pack(pop)

typedef enum tangMemoryType {
  tangMemoryTypeUnregistered = 0, /* pageable host memory or no memory */
  tangMemoryTypeHost = 1,         /* pinned host memory */
  tangMemoryTypeDevice = 2
} tangMemoryType;

typedef struct tangPointerAttributes {
  tangMemoryType type;
  int device;          /* -1 for host memory */
  void* devicePointer; /* the address for device code, NULL if it has none */
  void* hostPointer;   /* the address for the host, NULL if it has none */
} tangPointerAttributes;

enum {
  tangStreamDefault = 0,
  tangStreamNonBlocking = 1,
  tangEventDefault = 0,
  tangEventBlockingSync = 1,
  tangEventDisableTiming = 2,
  tangEventInterprocess = 4, /* not supported */
  tangHostAllocDefault = 0,
  tangHostAllocPortable = 1,
  tangHostAllocMapped = 2,        /* not supported */
  tangHostAllocWriteCombined = 4, /* not supported */
  tangHostAllocMapDeviceMemory = 0x100,
  tangIpcMemLazyEnablePeerAccess = 1
};

/* Opaque; passed by value. */
typedef struct tangIpcMemHandle_st {
  char reserved[64];
} tangIpcMemHandle_t;
typedef struct tangIpcEventHandle_st {
  char reserved[64];
} tangIpcEventHandle_t;

/* Extents of a grid or a block, and 1 where nothing is given. */
typedef struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
#endif
} dim3;

/* `status` is the device's error, tangSuccess without. */
typedef void (*tangStreamCallback_t)(tangStream_t stream, tangError_t status,
                                     void* userData);
typedef void (*tangHostFn_t)(void* userData);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_VENDORS_DROPLET_TANG_TANG_TYPES_H_ */
