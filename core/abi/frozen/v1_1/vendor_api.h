/* SPDX-License-Identifier: Apache-2.0
 *
 * The vendor contract: what a vendor library exports and what it may offer.
 *
 * A vendor library exports exactly one symbol, dipu_vendor_query. It returns a
 * static dipu_vendor that names the vendor and points to one table per topic.
 * Start reading here, then runtime.h; base.h holds the rules that all tables
 * share.
 */
#ifndef DIPU_CORE_ABI_VENDOR_API_H_
#define DIPU_CORE_ABI_VENDOR_API_H_

#include "core/abi/frozen/v1_1/base.h"
#include "core/abi/frozen/v1_1/communicator.h"
#include "core/abi/frozen/v1_1/generator.h"
#include "core/abi/frozen/v1_1/graph.h"
#include "core/abi/frozen/v1_1/ipc.h"
#include "core/abi/frozen/v1_1/operators.h"
#include "core/abi/frozen/v1_1/profiler.h"
#include "core/abi/frozen/v1_1/runtime.h"
#include "core/abi/frozen/v1_1/virtual_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Unknown flags are ignored. */
typedef uint32_t dipu_vendor_flags;
enum {
  /* The devices are imitated in software. Such a vendor is never preferred
   * to a real one when the user names none. */
  DIPU_VENDOR_SIMULATED = 1u << 0
};

typedef struct dipu_vendor {
  size_t struct_size;
  uint32_t abi_version; /* DIPU_ABI_VERSION of the header it was built with */
  dipu_vendor_flags flags;
  /* At most 32 of a-z, '_' and, but for the first, 0-9. What DIPU_DEVICE
   * names. */
  const char* name;
  const char* display_name; /* for people, never NULL */
  const char* version;      /* of the vendor library, never NULL */
  /* Version of the SDK it was built for; "" when that has no meaning. */
  const char* sdk_version;

  /* Called before any table function. Opens the SDK but creates no context on
   * a device; a failure (no driver, no card) leaves the vendor loaded without
   * devices and its text is shown to the user. May be called again, also from
   * another thread and after a failure: it then tries anew, and once it has
   * succeeded it does nothing more and succeeds. `host` lives as long as the
   * process. May block. */
  dipu_error* (*initialize)(const dipu_host_services* host);

  /* Required tables. */
  const dipu_device_api* device;
  const dipu_memory_api* memory;
  const dipu_stream_api* stream;
  const dipu_event_api* event;

  /* Optional tables; NULL when the vendor has none. */
  const dipu_operators_api* operators;
  const dipu_communicator_api* communicator;
  const dipu_graph_api* graph;
  const dipu_ipc_api* ipc;
  const dipu_virtual_memory_api* virtual_memory;
  const dipu_profiler_api* profiler;
  const dipu_generator_api* generator;

  /* (optional) Called at process exit, once, after the devices in use have been
   * synchronised; nothing is called afterwards. Without it the host leaves the
   * SDK to the operating system. */
  void (*shutdown)(void);
} dipu_vendor;

#if defined(__GNUC__)
#define DIPU_VENDOR_EXPORT __attribute__((visibility("default")))
#else
#define DIPU_VENDOR_EXPORT
#endif

/* The entry point. `max_abi_version` is the host's DIPU_ABI_VERSION. Returns a
 * table that lives as long as the process, or NULL when the vendor cannot
 * serve a host of that version. Must not touch the SDK, allocate, or throw. */
DIPU_VENDOR_EXPORT const dipu_vendor* dipu_vendor_query(
    uint32_t max_abi_version);

#define DIPU_VENDOR_QUERY_SYMBOL "dipu_vendor_query"
typedef const dipu_vendor* (*dipu_vendor_query_fn)(uint32_t max_abi_version);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_VENDOR_API_H_ */
