/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes, offsets and values of the DIOPI contract, checked as C11 and as C++17.
 * Libraries exist that were built with them: none may ever change.
 */
#ifndef DIPU_DIOPI_ADAPTER_ABI_TESTS_LAYOUT_H_
#define DIPU_DIOPI_ADAPTER_ABI_TESTS_LAYOUT_H_

#include <assert.h>
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>
#include <stddef.h>

#include "diopi_adapter/abi/diopi_host.h"

static_assert(DIOPI_VERSION == 1000, "public version");
static_assert(sizeof(diopiSize_t) == 16, "passed by value");
static_assert(offsetof(diopiSize_t, len) == 8, "passed by value");
static_assert(sizeof(diopiScalar_t) == 16, "passed by pointer");
static_assert(offsetof(diopiScalar_t, stype) == 0, "passed by pointer");
static_assert(offsetof(diopiScalar_t, fval) == 8, "passed by pointer");
static_assert(offsetof(diopiScalar_t, ival) == 8, "passed by pointer");
static_assert(sizeof(diopiError_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiDevice_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiDtype_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiMemoryFormat_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiReduction_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiRoundMode_t) == 4, "enumerations have 4 bytes");
static_assert(sizeof(diopiDeviceIndex_t) == 1, "public type");
static_assert(diopiNoImplement == 13, "public value");
static_assert(diopiForceFallbackToCPU == 14, "public value");
static_assert(diopiDtypeNotSupported == 1000, "public value");
static_assert(diopi_dtype_bool == 11, "public value");
static_assert(diopi_dtype_complex128 == 16, "public value");
static_assert(diopi_dtype_unsupported == 255, "public value");
static_assert(ChannelsLast1d == 4, "public value");
static_assert(RoundModeFloor == 2, "public value");

/* Private to the host: filled three times per operator call. */
static_assert(sizeof(struct diopiTensor) <= 80, "keep tensors small");
static_assert(offsetof(struct diopiTensor, storage_data) <= 48,
              "what every operator asks for comes first");

#endif /* DIPU_DIOPI_ADAPTER_ABI_TESTS_LAYOUT_H_ */
