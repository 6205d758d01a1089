/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of the DIOPI C contract: handles, enumerations and the two structs that
 * are passed to operators. Values and layouts are those of the public headers
 * of 2024-11-22 and are pinned by //diopi_adapter/abi:layout_test.
 *
 * Include <diopi/diopirt.h> or <diopi/functions.h> instead of this file.
 */
#ifndef DIOPI_TYPES_H_
#define DIOPI_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIOPI_VER_MAJOR 1
#define DIOPI_VER_MINOR 0
#define DIOPI_VER_PATCH 0
#define DIOPI_VERSION \
  (DIOPI_VER_MAJOR * 1000 + DIOPI_VER_MINOR * 100 + DIOPI_VER_PATCH)

/* What an operator library exports. */
#ifndef DIOPI_API
#define DIOPI_API __attribute__((visibility("default")))
#endif
/* What the host offers to operator libraries. */
#ifndef DIOPI_RT_API
#define DIOPI_RT_API __attribute__((visibility("default")))
#endif
/* Marks runtime functions that a host may lack. A library compares their
 * address with NULL before it calls them. */
#ifndef DIOPI_ATTR_WEAK
#define DIOPI_ATTR_WEAK __attribute__((weak))
#endif

typedef enum {
  diopiSuccess = 0,
  diopiErrorOccurred = 1,
  diopiNotInited = 2,
  diopiNoRegisteredStreamCreateFunction = 3,
  diopiNoRegisteredStreamDestoryFunction = 4,
  diopiNoRegisteredStreamSyncFunction = 5,
  diopiNoRegisteredDeviceMemoryMallocFunction = 6,
  diopiNoRegisteredDeviceMemoryFreeFunction = 7,
  diopiNoRegisteredDevice2DdeviceMemoryCopyFunction = 8,
  diopiNoRegisteredDevice2HostMemoryCopyFunction = 9,
  diopiNoRegisteredHost2DeviceMemoryCopyFunction = 10,
  diopiNoRegisteredGetLastErrorFunction = 11,
  diopi5DNotSupported = 12,
  /* The library lacks the operator for these arguments. */
  diopiNoImplement = 13,
  /* The library asks for a computation on the CPU. */
  diopiForceFallbackToCPU = 14,
  diopiDtypeNotSupported = 1000
} diopiError_t;

typedef enum { diopi_host = 0, diopi_device = 1 } diopiDevice_t;

typedef enum {
  diopi_dtype_int8 = 0,
  diopi_dtype_uint8 = 1,
  diopi_dtype_int16 = 2,
  diopi_dtype_uint16 = 3,
  diopi_dtype_int32 = 4,
  diopi_dtype_uint32 = 5,
  diopi_dtype_int64 = 6,
  diopi_dtype_uint64 = 7,
  diopi_dtype_float16 = 8,
  diopi_dtype_float32 = 9,
  diopi_dtype_float64 = 10,
  diopi_dtype_bool = 11,
  diopi_dtype_bfloat16 = 12,
  diopi_dtype_tfloat32 = 13,
  diopi_dtype_complex32 = 14,
  diopi_dtype_complex64 = 15,
  diopi_dtype_complex128 = 16,
  diopi_dtype_unsupported = 255
} diopiDtype_t;

typedef enum {
  Contiguous = 0,
  ChannelsLast = 1,
  ChannelsLast3d = 2,
  Preserve = 3,
  ChannelsLast1d = 4
} diopiMemoryFormat_t;

typedef enum {
  ReductionNone = 0,
  ReductionMean = 1,
  ReductionSum = 2,
  ReductionEND = 3
} diopiReduction_t;

typedef enum {
  RoundModeNone = 0,
  RoundModeTrunc = 1,
  RoundModeFloor = 2,
  RoundModeEND = 3
} diopiRoundMode_t;

/* A list of integers, borrowed for the duration of the call; passed by value
 * almost everywhere. */
typedef struct {
  const int64_t* data;
  int64_t len;
} diopiSize_t;

/* A number. Hosts send diopi_dtype_int64 (bool included) with ival, or
 * diopi_dtype_float64 with fval. Libraries read ival for codes up to 7 and
 * fval for all others. */
typedef struct {
  diopiDtype_t stype;
  union {
    double fval;
    int64_t ival;
  };
} diopiScalar_t;

/* Handles belong to the host and are valid until the operator returns. */
struct diopiContext;
struct diopiTensor;
struct diopiGenerator;
typedef struct diopiContext* diopiContextHandle_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef struct diopiGenerator* diopiGeneratorHandle_t;
typedef const struct diopiGenerator* diopiConstGeneratorHandle_t;
/* The stream handle of the vendor's SDK, unchanged. */
typedef void* diopiStreamHandle_t;
typedef int8_t diopiDeviceIndex_t;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPI_TYPES_H_ */
