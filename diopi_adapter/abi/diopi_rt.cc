// SPDX-License-Identifier: Apache-2.0
//
// The DIOPI runtime functions. Built as libdipu_diopi_rt.so, which is opened
// globally before an operator library so that its undefined names resolve.
//
// Questions about tensors and contexts are answered from the structs; what
// needs the framework goes through the table that the host installed.

// The definitions are strong even where libraries see weak declarations.
#define DIOPI_ATTR_WEAK

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/abi/diopi_layout.h"

namespace {

std::atomic<const dipu_diopi_rt_host*> installed_host{nullptr};

// What diopi_layout.h promises to those who find the symbol below.
template <typename Prefix, typename Tensor>
constexpr bool beginsWith() {
  return std::is_standard_layout_v<Tensor> &&
         offsetof(Tensor, data) == offsetof(Prefix, data) &&
         offsetof(Tensor, sizes) == offsetof(Prefix, sizes) &&
         offsetof(Tensor, strides) == offsetof(Prefix, strides) &&
         offsetof(Tensor, numel) == offsetof(Prefix, numel) &&
         offsetof(Tensor, ndim) == offsetof(Prefix, ndim) &&
         offsetof(Tensor, dtype) == offsetof(Prefix, dtype);
}
static_assert(beginsWith<dipu_diopi_tensor_prefix, diopiTensor>(),
              "export another symbol when the layout changes");

constexpr char kVersion[] = "DIOPI Version: 1.0.0";

// Answers one question about a handle; every getter is one of these.
template <typename Handle, typename Out, typename Read>
diopiError_t answer(Handle handle, Out* out, Read read) {
  if (handle == nullptr || out == nullptr) return diopiErrorOccurred;
  *out = read(*handle);
  return diopiSuccess;
}

// Calls slot `member` of the host's table.
template <typename Slot, typename... Args>
diopiError_t callHost(Slot dipu_diopi_rt_host::* member, Args... args) {
  const dipu_diopi_rt_host* host =
      installed_host.load(std::memory_order_acquire);
  if (host == nullptr) return diopiNotInited;
  const auto* slot = &(host->*member);
  const auto end = reinterpret_cast<const char*>(slot + 1) -
                   reinterpret_cast<const char*>(host);
  if (host->struct_size < static_cast<size_t>(end) || *slot == nullptr) {
    return diopiNoImplement;
  }
  return (*slot)(args...);
}

diopiError_t sparsePart(diopiConstTensorHandle_t tensor,
                        dipu_diopi_sparse_part part,
                        diopiConstTensorHandle_t* out) {
  if (tensor == nullptr || out == nullptr ||
      (tensor->flags & DIPU_DIOPI_TENSOR_SPARSE) == 0) {
    return diopiErrorOccurred;
  }
  return callHost(&dipu_diopi_rt_host::sparse_part, tensor, part, out);
}

}  // namespace

extern "C" {

extern DIOPI_RT_API const char dipu_diopi_tensor_layout_1;
const char dipu_diopi_tensor_layout_1 = 1;

diopiError_t dipu_diopi_rt_install(const dipu_diopi_rt_host* host) {
  if (host != nullptr &&
      host->struct_size < offsetof(dipu_diopi_rt_host, require_buffer)) {
    return diopiErrorOccurred;
  }
  installed_host.store(host, std::memory_order_release);
  return diopiSuccess;
}

const char* diopiGetVersion() { return kVersion; }

// Tensors.

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
  return answer(th, data, [](const diopiTensor& t) { return t.data; });
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th,
                                     const void** data) {
  return answer(th, data, [](const diopiTensor& t) { return t.data; });
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th,
                                 diopiSize_t* size) {
  return answer(th, size, [](const diopiTensor& t) {
    return diopiSize_t{t.sizes, t.ndim};
  });
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th,
                                  diopiSize_t* stride) {
  return answer(th, stride, [](const diopiTensor& t) {
    return diopiSize_t{t.strides, t.ndim};
  });
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th,
                                 diopiDtype_t* dtype) {
  return answer(th, dtype, [](const diopiTensor& t) {
    return static_cast<diopiDtype_t>(t.dtype);
  });
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th,
                                  diopiDevice_t* device) {
  return answer(th, device, [](const diopiTensor& t) {
    return t.device_index < 0 ? diopi_host : diopi_device;
  });
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
  return answer(th, numel, [](const diopiTensor& t) { return t.numel; });
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th,
                                    int64_t* itemsize) {
  return answer(th, itemsize, [](const diopiTensor& t) {
    return static_cast<int64_t>(t.item_size);
  });
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th,
                                      void** pStoragePtr) {
  return answer(th, pStoragePtr,
                [](const diopiTensor& t) { return t.storage_data; });
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th,
                                         int64_t* pOffset) {
  return answer(th, pOffset,
                [](const diopiTensor& t) { return t.storage_offset; });
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th,
                                         size_t* pNbytes) {
  return answer(th, pNbytes,
                [](const diopiTensor& t) { return t.storage_bytes; });
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th,
                                       diopiDeviceIndex_t* pDevIndex) {
  return answer(th, pDevIndex, [](const diopiTensor& t) {
    return static_cast<diopiDeviceIndex_t>(t.device_index);
  });
}

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
  return answer(th, is_sparse, [](const diopiTensor& t) {
    return (t.flags & DIPU_DIOPI_TENSOR_SPARSE) != 0;
  });
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th,
                                       diopiConstTensorHandle_t* crow_indices) {
  return sparsePart(th, DIPU_DIOPI_SPARSE_CROW_INDICES, crow_indices);
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th,
                                      diopiConstTensorHandle_t* col_indices) {
  return sparsePart(th, DIPU_DIOPI_SPARSE_COL_INDICES, col_indices);
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th,
                                  diopiConstTensorHandle_t* values) {
  return sparsePart(th, DIPU_DIOPI_SPARSE_VALUES, values);
}

// Contexts, devices, workspace.

diopiError_t diopiGetStream(diopiContextHandle_t ctx,
                            diopiStreamHandle_t* stream) {
  return answer(ctx, stream, [](const diopiContext& c) { return c.stream; });
}

diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* pDevIndex) {
  if (pDevIndex == nullptr) return diopiErrorOccurred;
  return callHost(&dipu_diopi_rt_host::get_current_device, pDevIndex);
}

diopiError_t diopiRequireTensor(diopiContextHandle_t ctx,
                                diopiTensorHandle_t* tensor,
                                const diopiSize_t* size,
                                const diopiSize_t* stride,
                                const diopiDtype_t dtype,
                                const diopiDevice_t device) {
  if (ctx == nullptr || tensor == nullptr || size == nullptr) {
    return diopiErrorOccurred;
  }
  // Libraries also say "contiguous" with an empty list of strides.
  const bool has_strides = stride != nullptr && stride->data != nullptr;
  return callHost(&dipu_diopi_rt_host::require_tensor, ctx, size,
                  has_strides ? stride : nullptr, dtype, device, tensor);
}

diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx,
                                diopiTensorHandle_t* tensor, int64_t num_bytes,
                                diopiDevice_t device) {
  if (ctx == nullptr || tensor == nullptr || num_bytes < 0) {
    return diopiErrorOccurred;
  }
  return callHost(&dipu_diopi_rt_host::require_buffer, ctx, num_bytes, device,
                  tensor);
}

// Generators.

diopiError_t diopiGeneratorGetState(diopiContextHandle_t ctx,
                                    diopiConstGeneratorHandle_t th,
                                    diopiTensorHandle_t* data) {
  if (ctx == nullptr || th == nullptr || data == nullptr) {
    return diopiErrorOccurred;
  }
  return callHost(&dipu_diopi_rt_host::generator_get_state, ctx, th, data);
}

diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th,
                                    diopiConstTensorHandle_t state) {
  if (th == nullptr || state == nullptr) return diopiErrorOccurred;
  return callHost(&dipu_diopi_rt_host::generator_set_state, th, state);
}

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th,
                                            uint64_t* ptrSeed,
                                            uint64_t* ptrOffset) {
  if (th == nullptr || ptrSeed == nullptr || ptrOffset == nullptr) {
    return diopiErrorOccurred;
  }
  return callHost(&dipu_diopi_rt_host::generator_get_seed_and_offset, th,
                  ptrSeed, ptrOffset);
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th,
                                            uint64_t seed, uint64_t offset) {
  if (th == nullptr) return diopiErrorOccurred;
  return callHost(&dipu_diopi_rt_host::generator_set_seed_and_offset, th, seed,
                  offset);
}

// Profiler ranges.

diopiError_t diopiRecordStart(const char* record_name, void** record) {
  if (record_name == nullptr || record == nullptr) return diopiErrorOccurred;
  *record = nullptr;
  callHost(&dipu_diopi_rt_host::record_start, record_name, record);
  return diopiSuccess;
}

diopiError_t diopiRecordEnd(void** record) {
  if (record == nullptr) return diopiErrorOccurred;
  if (*record != nullptr) callHost(&dipu_diopi_rt_host::record_end, record);
  return diopiSuccess;
}

}  // extern "C"
