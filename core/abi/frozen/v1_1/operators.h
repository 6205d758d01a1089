/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators: where the vendor's DIOPI operator library is and what it was built
 * against. The functions themselves are found by name in that library, so a
 * new operator never changes this contract.
 */
#ifndef DIPU_CORE_ABI_OPERATORS_H_
#define DIPU_CORE_ABI_OPERATORS_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_OPERATORS_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_operators_api {
  size_t struct_size;
  uint32_t version; /* DIPU_OPERATORS_API_VERSION */
  /* Revision of the DIOPI signatures that the library was compiled against;
   * 0 when unknown. A function whose signature differs between that revision
   * and the host's is refused by name instead of being called. */
  uint32_t diopi_revision;
  /* Path of the library: absolute, or relative to the folder of the vendor
   * library. It exports diopi* functions and may leave the DIOPI runtime
   * functions undefined; the host provides them. */
  const char* library;
  /* (optional) Names, separated by commas, of functions that exist in the
   * library but must not be used. Without it all are used. */
  const char* disabled_functions;
} dipu_operators_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_OPERATORS_H_ */
