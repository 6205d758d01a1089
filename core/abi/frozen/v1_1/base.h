/* SPDX-License-Identifier: Apache-2.0
 *
 * Ground rules and basic types of the vendor contract.
 *
 * The contract is plain C11. A vendor library that honours it links neither
 * torch nor Python, so one file serves every version of both.
 *
 * Evolution
 *   - Every struct that crosses the boundary starts with `struct_size`, which
 *     its WRITER sets to its own sizeof; of a struct that the callee fills
 *     (inout_x) the caller is the writer. Fields are only ever appended. A
 *     reader touches a field only after DIPU_HAS() confirmed that the writer's
 *     struct reaches past it.
 *   - Every table goes on with a `version` of its own, see DIPU_VERSION_*. A
 *     change of MAJOR breaks; MINOR only appends. A table with MAJOR 0 is
 *     provisional: the host ignores it unless the version matches exactly.
 *   - Calls that are likely to grow take one struct of arguments (create); the
 *     others take plain parameters, which never change.
 *   - Fields called reserved are written as 0 and not read.
 *   - Enumerations and flags grow, too. The comment of such a type says what a
 *     receiver does with a value that it does not know.
 *   - Layout and calling convention are those of C on a 64-bit platform.
 *
 * Errors
 *   - A fallible function returns NULL for success or a dipu_error that the
 *     caller owns. On error no output argument has been written and nothing
 *     has to be undone. No C++ exception may leave a function.
 *   - A device index out of range is DIPU_INVALID_ARGUMENT.
 *   - Release functions return void, accept NULL and cannot fail.
 *
 * Threads and processes
 *   - Unless its comment says otherwise a function may be called from any
 *     thread, at the same time as any other function. The caller may hold
 *     locks, so a function does not call into the host, except for the
 *     functions of dipu_host_services.
 *   - A function works whatever device is current for the thread, which it
 *     leaves as it is: its `device` argument or its handle says which is meant.
 *     Only set_current changes the current device.
 *   - A function blocks, that is waits for the device, only where its comment
 *     says so.
 *   - A child of fork() calls nothing.
 *
 * Strings are UTF-8 and NUL-terminated; sizes are in bytes; device indices
 * count from 0 and DIPU_HOST names the host. Pointers that are passed are
 * borrowed for the call, and NULL is passed only where a comment allows it.
 */
#ifndef DIPU_CORE_ABI_BASE_H_
#define DIPU_CORE_ABI_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Packs a table version. */
#define DIPU_VERSION(major, minor) \
  ((uint32_t)(((uint32_t)(major) << 16) | (uint32_t)(minor)))
#define DIPU_VERSION_MAJOR(version) ((uint32_t)(version) >> 16)
#define DIPU_VERSION_MINOR(version) ((uint32_t)(version) & 0xffffu)

/* Version of the contract as a whole: the entry point, dipu_vendor and the
 * types of this file. */
#define DIPU_ABI_VERSION DIPU_VERSION(1, 1)

/* True when the writer of `*ptr` knew `field` and did not leave it NULL. Use it
 * on function slots, strings and nested tables. */
#define DIPU_HAS(ptr, field) (DIPU_REACHES(ptr, field) && (ptr)->field != NULL)

/* True when the writer of `*ptr` knew `field`. Use it on plain values. */
#define DIPU_REACHES(ptr, field)                                 \
  ((ptr)->struct_size >=                                         \
   (size_t)((const char*)(&(ptr)->field) - (const char*)(ptr)) + \
       sizeof((ptr)->field))

/* Index that stands for the host wherever a device index is expected. */
#define DIPU_HOST ((int32_t)-1)

/* Canonical codes, numbered like those of absl::Status. An unknown one counts
 * as DIPU_UNKNOWN. */
typedef int32_t dipu_status_code;
enum {
  DIPU_OK = 0,
  DIPU_CANCELLED = 1,
  DIPU_UNKNOWN = 2,
  DIPU_INVALID_ARGUMENT = 3,
  DIPU_DEADLINE_EXCEEDED = 4,
  DIPU_NOT_FOUND = 5,
  DIPU_ALREADY_EXISTS = 6,
  DIPU_PERMISSION_DENIED = 7,
  /* Out of device or host memory, or of another countable resource. When it
   * comes from an allocation the host frees cached memory and tries once more
   * before it reports. */
  DIPU_RESOURCE_EXHAUSTED = 8,
  DIPU_FAILED_PRECONDITION = 9,
  DIPU_ABORTED = 10,
  DIPU_OUT_OF_RANGE = 11,
  /* The vendor has no such function. The host may compute on the CPU. */
  DIPU_UNIMPLEMENTED = 12,
  /* Broken inside: the vendor, or a device that only a new process repairs. */
  DIPU_INTERNAL = 13,
  /* No driver, no card, or the card is lost. */
  DIPU_UNAVAILABLE = 14,
  DIPU_DATA_LOSS = 15,
  DIPU_UNAUTHENTICATED = 16
};

/* A failure. Made by the side that failed; the receiver reads it and then
 * calls release exactly once, from any thread. */
typedef struct dipu_error {
  size_t struct_size;
  dipu_status_code code;
  int32_t reserved0;
  /* The SDK's own code, 0 when there is none. */
  int64_t vendor_code;
  /* What failed and with which values. Owned by the error, never NULL. */
  const char* message;
  /* Ends the error's life. Never NULL. */
  void (*release)(struct dipu_error* self);
} dipu_error;

/* Opaque handles. Each is the SDK's own handle under another type, so that
 * operator functions can use it unchanged. A handle means the same on every
 * thread and whatever device is current. An SDK whose default stream, NULL,
 * depends on the thread or its device therefore needs a stream of its own in
 * that place; where it does not, a stream may be NULL. */
typedef struct dipu_stream dipu_stream;
typedef struct dipu_event dipu_event;

/* Element types, numbered like diopiDtype_t. */
typedef int32_t dipu_dtype;
enum {
  DIPU_DTYPE_INT8 = 0,
  DIPU_DTYPE_UINT8 = 1,
  DIPU_DTYPE_INT16 = 2,
  DIPU_DTYPE_UINT16 = 3,
  DIPU_DTYPE_INT32 = 4,
  DIPU_DTYPE_UINT32 = 5,
  DIPU_DTYPE_INT64 = 6,
  DIPU_DTYPE_UINT64 = 7,
  DIPU_DTYPE_FLOAT16 = 8,
  DIPU_DTYPE_FLOAT32 = 9,
  DIPU_DTYPE_FLOAT64 = 10,
  DIPU_DTYPE_BOOL = 11,
  DIPU_DTYPE_BFLOAT16 = 12,
  /* 13 is DIOPI's tfloat32, which no tensor has. */
  DIPU_DTYPE_COMPLEX32 = 14,
  DIPU_DTYPE_COMPLEX64 = 15,
  DIPU_DTYPE_COMPLEX128 = 16
};

/* Severity of dipu_host_services::log. An unknown one counts as a warning. */
typedef int32_t dipu_log_level;
enum { DIPU_LOG_DEBUG = 0, DIPU_LOG_INFO = 1, DIPU_LOG_WARNING = 2 };

/* What the host offers to a vendor, which gets it from `initialize` and not
 * before. Valid until the process ends. */
typedef struct dipu_host_services {
  size_t struct_size;
  uint32_t abi_version; /* the host's DIPU_ABI_VERSION */
  uint32_t reserved0;
  /* Hands one line of text to the host's log: warnings reach the user, each
   * text once. `message` is borrowed. May be called from any thread and inside
   * any function of the vendor, not from a signal handler. */
  void (*log)(dipu_log_level level, const char* message);
} dipu_host_services;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_BASE_H_ */
