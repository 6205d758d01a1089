/* SPDX-License-Identifier: Apache-2.0
 *
 * An extension of the DIOPI runtime: what a tensor handle points to.
 *
 * An operator library learns about a tensor by calling a function per property.
 * Four calls per tensor are a third of what enqueueing a small operator costs,
 * so a host may publish how its tensors begin. It says so by exporting the
 * symbol below from the library that holds the DIOPI runtime; a library that
 * does not find it asks through the functions of <diopi/diopirt.h>, which
 * always work. A host that changes the layout exports another symbol.
 */
#ifndef DIPU_DIOPI_ADAPTER_ABI_DIOPI_LAYOUT_H_
#define DIPU_DIOPI_ADAPTER_ABI_DIOPI_LAYOUT_H_

#include <stdint.h>

/* Name of a data symbol; only its presence counts. Look it up with
 * dlsym(RTLD_DEFAULT, ...): linking against it would bind a library to hosts
 * that have it. */
#define DIPU_DIOPI_TENSOR_LAYOUT_SYMBOL "dipu_diopi_tensor_layout_1"

/* The beginning of every tensor. Pointers are borrowed and valid until the
 * operator returns. Read only. */
typedef struct dipu_diopi_tensor_prefix {
  void* data;             /* first element, offset included; a device address */
  const int64_t* sizes;   /* ndim values */
  const int64_t* strides; /* ndim values, in elements */
  int64_t numel;          /* product of sizes */
  int32_t ndim;
  int32_t dtype; /* diopiDtype_t */
} dipu_diopi_tensor_prefix;

#endif /* DIPU_DIOPI_ADAPTER_ABI_DIOPI_LAYOUT_H_ */
