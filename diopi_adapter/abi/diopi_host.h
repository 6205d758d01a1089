/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of the DIOPI runtime: what a diopiTensor and a diopiContext
 * are, and the table through which libdipu_diopi_rt.so reaches the framework.
 *
 * Only the host and the runtime include this file. Operator libraries see
 * opaque handles and ask through the functions of <diopi/diopirt.h>, so the
 * layouts below may change with the host; only how a tensor begins is
 * published, see diopi_layout.h.
 *
 * A host fills the structs on its stack, calls the operator, and lets them die.
 * Filling must therefore be cheap: what operators ask for comes first, and
 * every question about a tensor is answered by a plain load.
 */
#ifndef DIPU_DIOPI_ADAPTER_ABI_DIOPI_HOST_H_
#define DIPU_DIOPI_ADAPTER_ABI_DIOPI_HOST_H_

#include <diopi/diopirt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of diopiTensor::flags. */
enum {
  /* A sparse CSR tensor: its parts come from dipu_diopi_rt_host::sparse_part,
   * and data, sizes and strides describe the values. */
  DIPU_DIOPI_TENSOR_SPARSE = 1u << 0
};

/* One tensor; begins with a dipu_diopi_tensor_prefix. All pointers are borrowed
 * and valid until the operator returns; the struct is not written while an
 * operator runs. */
struct diopiTensor {
  void* data;             /* first element, offset included; a device address */
  const int64_t* sizes;   /* ndim values */
  const int64_t* strides; /* ndim values, in elements */
  int64_t numel;
  int32_t ndim;
  int32_t dtype;          /* diopiDtype_t */
  int32_t device_index;   /* 0 .. count-1, or -1 for the host */
  uint16_t item_size;     /* bytes of an element */
  uint16_t flags;         /* DIPU_DIOPI_TENSOR_* */
  void* storage_data;     /* start of the storage that holds the tensor */
  int64_t storage_offset; /* of data within it, in elements */
  size_t storage_bytes;
  void* owner; /* the framework's tensor; the runtime does not read it */
};

/* One operator call. Lives on the caller's stack. */
struct diopiContext {
  diopiStreamHandle_t stream; /* the SDK's own handle; may be NULL */
  int32_t device_index;
  int32_t reserved0;
  void* owner; /* what keeps required tensors alive; the runtime passes it on */
};

/* Parts of a sparse tensor. */
typedef int32_t dipu_diopi_sparse_part;
enum {
  DIPU_DIOPI_SPARSE_CROW_INDICES = 0,
  DIPU_DIOPI_SPARSE_COL_INDICES = 1,
  DIPU_DIOPI_SPARSE_VALUES = 2
};

/* What only the framework can do. Functions are called on the thread that
 * called the operator, with arguments that the runtime has checked against
 * NULL, and must not throw. A slot that is NULL, or beyond struct_size, makes
 * the DIOPI function return diopiNoImplement unless its comment differs. */
typedef struct dipu_diopi_rt_host {
  size_t struct_size;
  /* Makes a tensor of the given sizes that lives until the call of `context`
   * ends. `strides` is NULL for a contiguous one. */
  diopiError_t (*require_tensor)(struct diopiContext* context,
                                 const diopiSize_t* sizes,
                                 const diopiSize_t* strides, diopiDtype_t dtype,
                                 diopiDevice_t device,
                                 diopiTensorHandle_t* out_tensor);
  /* Makes a one-dimensional uint8 tensor of `bytes` elements, likewise. */
  diopiError_t (*require_buffer)(struct diopiContext* context, int64_t bytes,
                                 diopiDevice_t device,
                                 diopiTensorHandle_t* out_tensor);
  /* Index of the calling thread's current device. */
  diopiError_t (*get_current_device)(diopiDeviceIndex_t* out_device);
  /* Generators are the framework's own objects. The state is a uint8 tensor
   * on the host that lives until the call of `context` ends. */
  diopiError_t (*generator_get_state)(struct diopiContext* context,
                                      diopiConstGeneratorHandle_t generator,
                                      diopiTensorHandle_t* out_state);
  diopiError_t (*generator_set_state)(diopiGeneratorHandle_t generator,
                                      diopiConstTensorHandle_t state);
  diopiError_t (*generator_get_seed_and_offset)(
      diopiGeneratorHandle_t generator, uint64_t* out_seed,
      uint64_t* out_offset);
  diopiError_t (*generator_set_seed_and_offset)(
      diopiGeneratorHandle_t generator, uint64_t seed, uint64_t offset);
  /* Only asked about tensors with DIPU_DIOPI_TENSOR_SPARSE. */
  diopiError_t (*sparse_part)(diopiConstTensorHandle_t tensor,
                              dipu_diopi_sparse_part part,
                              diopiConstTensorHandle_t* out_part);
  /* Named ranges of the host's profiler; start sets *out_record, which end
   * gets back. Without them ranges succeed and are not recorded. */
  diopiError_t (*record_start)(const char* name, void** out_record);
  diopiError_t (*record_end)(void** record);
} dipu_diopi_rt_host;

/* Installs the host's table, which must stay valid until the process ends or
 * another one replaces it; NULL removes it. Returns diopiErrorOccurred, and
 * changes nothing, when struct_size is too small to be a table. Without a table
 * the functions that need one return diopiNotInited. Any thread. */
DIOPI_RT_API diopiError_t dipu_diopi_rt_install(const dipu_diopi_rt_host* host);

#define DIPU_DIOPI_RT_INSTALL_SYMBOL "dipu_diopi_rt_install"
typedef diopiError_t (*dipu_diopi_rt_install_fn)(
    const dipu_diopi_rt_host* host);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_DIOPI_ADAPTER_ABI_DIOPI_HOST_H_ */
