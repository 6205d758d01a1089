// SPDX-License-Identifier: Apache-2.0
//
// What every DIOPI library exports about itself, and its runtime helpers.
#include <diopi/functions.h>
#include <dlfcn.h>

#include "kernels/diopi/tensor_args.h"

extern "C" {

const char* diopiGetVendorName() { return "dipu_kernels"; }

const char* diopiGetImplVersion() { return "dipu_kernels 0.1.0"; }

const char* diopiGetLastErrorString() { return dipu::kernels::lastMessage(); }

}  // extern "C"

namespace dipu::kernels::diopi {

bool findTensorLayout() {
  return dlsym(RTLD_DEFAULT, DIPU_DIOPI_TENSOR_LAYOUT_SYMBOL) != nullptr;
}

TensorView askForView(diopiConstTensorHandle_t tensor) {
  const void* data = nullptr;
  diopiSize_t sizes{nullptr, 0};
  diopiSize_t strides{nullptr, 0};
  diopiDtype_t dtype = diopi_dtype_unsupported;
  diopiGetTensorDataConst(tensor, &data);
  diopiGetTensorShape(tensor, &sizes);
  diopiGetTensorStride(tensor, &strides);
  diopiGetTensorDtype(tensor, &dtype);
  TensorView result;
  result.data = const_cast<void*>(data);
  result.sizes = sizes.data;
  result.strides = strides.data;
  result.numel = 1;
  for (int64_t i = 0; i < sizes.len; ++i) result.numel *= sizes.data[i];
  result.ndim = static_cast<int32_t>(sizes.len);
  result.dtype = static_cast<DType>(dtype);
  return result;
}

void* requireScratch(void* context, std::size_t bytes) {
  diopiTensorHandle_t buffer = nullptr;
  if (diopiRequireBuffer == nullptr ||
      diopiRequireBuffer(static_cast<diopiContextHandle_t>(context), &buffer,
                         static_cast<int64_t>(bytes),
                         diopi_device) != diopiSuccess) {
    fail(Status::kFailed, "no scratch memory of %zu bytes", bytes);
    return nullptr;
  }
  void* data = nullptr;
  diopiGetTensorData(buffer, &data);
  return data;
}

diopiError_t requireTensor(diopiContextHandle_t ctx, const int64_t* sizes,
                           int64_t ndim, DType dtype,
                           diopiTensorHandle_t* out) {
  const diopiSize_t size{sizes, ndim};
  const diopiError_t error = diopiRequireTensor(
      ctx, out, &size, nullptr, static_cast<diopiDtype_t>(dtype), diopi_device);
  if (error != diopiSuccess) fail(Status::kFailed, "no memory for a result");
  return error;
}

soft_stream* defaultStream() {
  diopiDeviceIndex_t device = 0;
  if (diopiGetCurrentDeviceIndex != nullptr) {
    diopiGetCurrentDeviceIndex(&device);
  }
  soft_stream* stream = nullptr;
  soft_stream_get_default(device, &stream);
  return stream;
}

}  // namespace dipu::kernels::diopi
