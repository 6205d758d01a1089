/* SPDX-License-Identifier: Apache-2.0
 *
 * Generator: for SDKs whose random state is more than a seed and an offset.
 * Provisional: the host does not use it yet. It keeps Philox state (seed and
 * offset, 16 bytes) and hands it to operators.
 */
#ifndef DIPU_CORE_ABI_GENERATOR_H_
#define DIPU_CORE_ABI_GENERATOR_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_GENERATOR_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_generator dipu_generator;

typedef struct dipu_generator_api {
  size_t struct_size;
  uint32_t version;    /* DIPU_GENERATOR_API_VERSION */
  uint32_t state_size; /* bytes of get_state and set_state */
  dipu_error* (*create)(int32_t device, uint64_t seed,
                        dipu_generator** out_generator);
  void (*destroy)(dipu_generator* generator);
  dipu_error* (*set_seed)(dipu_generator* generator, uint64_t seed);
  dipu_error* (*get_state)(dipu_generator* generator, void* out_state);
  dipu_error* (*set_state)(dipu_generator* generator, const void* state);
} dipu_generator_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_GENERATOR_H_ */
