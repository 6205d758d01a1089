/* SPDX-License-Identifier: Apache-2.0
 *
 * Ground rules and basic types of the vendor contract.
 *
 * The contract is plain C11. A vendor library that honours it links neither
 * torch nor Python, so one file serves every version of both.
 *
 * Evolution
 *   - Every struct that crosses the boundary starts with `struct_size`, which
 *     its WRITER sets to its own sizeof. Fields are only ever appended. A
 *     reader touches a field only after DIPU_HAS() confirmed that the writer's
 *     struct reaches past it.
 *   - Every table carries a version of its own, see DIPU_VERSION_*. A change
 *     of MAJOR breaks; MINOR only appends. A table with MAJOR 0 is
 *     provisional: the host ignores it unless the version matches exactly.
 *
 * Errors
 *   - A fallible function returns NULL for success or a dipu_error that the
 *     caller owns. On error no output argument has been written and nothing
 *     has to be undone. No C++ exception may leave a function.
 *   - Release functions return void, accept NULL and cannot fail.
 *
 * Threads
 *   - Unless its comment says otherwise a function may be called from any
 *     thread, at the same time as any other function.
 *
 * Strings are UTF-8 and NUL-terminated; sizes are in bytes; device indices
 * count from 0 and DIPU_HOST names the host.
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
#define DIPU_ABI_VERSION DIPU_VERSION(1, 0)

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

/* Canonical codes, numbered like those of absl::Status. */
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
  /* Out of device or host memory, or of another countable resource. The host
   * frees cached memory and tries once more before it reports. */
  DIPU_RESOURCE_EXHAUSTED = 8,
  DIPU_FAILED_PRECONDITION = 9,
  DIPU_ABORTED = 10,
  DIPU_OUT_OF_RANGE = 11,
  /* The vendor has no such function. The host may compute on the CPU. */
  DIPU_UNIMPLEMENTED = 12,
  /* The device is in a state that only a new process can repair. */
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
  void (*release)(struct dipu_error* self);
} dipu_error;

/* Opaque handles. Each is the SDK's own handle under another type, so that
 * operator functions can use it unchanged; NULL is legal for a stream when
 * the SDK's default stream is NULL. */
typedef struct dipu_stream dipu_stream;
typedef struct dipu_event dipu_event;

/* Severity of dipu_host_services::log. */
typedef int32_t dipu_log_level;
enum { DIPU_LOG_DEBUG = 0, DIPU_LOG_INFO = 1, DIPU_LOG_WARNING = 2 };

/* What the host offers to a vendor. Valid until the process ends. */
typedef struct dipu_host_services {
  size_t struct_size;
  uint32_t abi_version; /* the host's DIPU_ABI_VERSION */
  uint32_t reserved0;
  /* Hands one line of text to the host's log. `message` is borrowed. May be
   * called from any thread, not from inside a signal handler. */
  void (*log)(dipu_log_level level, const char* message);
} dipu_host_services;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_BASE_H_ */
