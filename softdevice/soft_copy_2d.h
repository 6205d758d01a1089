/* SPDX-License-Identifier: Apache-2.0
 *
 * softdevice: copies and fills of rectangles.
 *
 * A rectangle is `rows` rows of `row_bytes` bytes; each row starts `pitch`
 * bytes after the one before, the pitch counting from start to start. The
 * memory it needs is (rows - 1) * pitch + row_bytes bytes, and that range is
 * checked exactly: the bytes behind the last row need not exist.
 *
 * Each function is one task of the stream, whatever the number of rows. Both
 * sides are recognised by address as in soft_memcpy_async, with the same rules:
 * pageable host sources are copied out, and pageable destinations written,
 * before the call returns; device, peer and pinned memory is used
 * asynchronously; no peer access is needed.
 *
 * SOFT_INVALID_VALUE: a pitch is smaller than row_bytes, the extent of a
 * rectangle overflows, or it exceeds its allocation. With no rows, or rows of
 * no bytes, nothing happens and the pointers are not looked at. The result for
 * rectangles that overlap is undefined, unless both are contiguous (pitch equal
 * to row_bytes): then it is that of soft_memcpy_async.
 */
#ifndef DIPU_SOFTDEVICE_SOFT_COPY_2D_H_
#define DIPU_SOFTDEVICE_SOFT_COPY_2D_H_

#include "softdevice/softdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues on `stream`. Blocks as soft_memcpy_async does for pageable host
 * memory. */
SOFT_API soft_status soft_memcpy_2d_async(void* dst, size_t dst_pitch,
                                          const void* src, size_t src_pitch,
                                          size_t row_bytes, size_t rows,
                                          soft_stream* stream);
/* Waits for the default streams of both sides, copies, and returns when the
 * copy is done. Blocks. */
SOFT_API soft_status soft_memcpy_2d(void* dst, size_t dst_pitch,
                                    const void* src, size_t src_pitch,
                                    size_t row_bytes, size_t rows);
/* Enqueues a fill of device or pinned memory with the low byte of `value`. */
SOFT_API soft_status soft_memset_2d_async(void* dst, size_t pitch,
                                          int32_t value, size_t row_bytes,
                                          size_t rows, soft_stream* stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFT_COPY_2D_H_ */
