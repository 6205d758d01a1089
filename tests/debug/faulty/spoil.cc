// SPDX-License-Identifier: Apache-2.0
#include "tests/debug/faulty/spoil.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace dipu::tests::faulty {
namespace {

diopiSize_t sizesOf(diopiConstTensorHandle_t tensor) {
  diopiSize_t sizes{nullptr, 0};
  diopiGetTensorShape(tensor, &sizes);
  return sizes;
}

diopiSize_t stridesOf(diopiConstTensorHandle_t tensor) {
  diopiSize_t strides{nullptr, 0};
  diopiGetTensorStride(tensor, &strides);
  return strides;
}

// A handle of the library that has what this one does not define.
void* openRealLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&diopiGetVendorName), &info) == 0) {
    return nullptr;
  }
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

bool planted(std::string_view fault) {
  const char* text = std::getenv("FAULTY_KERNELS");
  std::string_view rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    if (rest.substr(0, end) == fault) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

void* realFunction(const char* name) {
  static void* const library = openRealLibrary();
  void* const function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "there is no real %s\n", name);
    std::abort();
  }
  return function;
}

kernels::Queue queueOf(diopiContextHandle_t ctx) {
  diopiStreamHandle_t stream = nullptr;
  diopiGetStream(ctx, &stream);
  return kernels::Queue(static_cast<soft_stream*>(stream), nullptr, nullptr,
                        "planted fault");
}

Elements elementsOf(const kernels::Queue& queue,
                    diopiConstTensorHandle_t tensor) {
  Elements result{};
  if (tensor == nullptr) return result;
  const diopiSize_t sizes = sizesOf(tensor);
  const diopiSize_t strides = stridesOf(tensor);
  if (sizes.len > Elements::kMaxDims) {
    std::fprintf(stderr, "a planted fault takes at most %d dimensions\n",
                 Elements::kMaxDims);
    std::abort();
  }
  result.dtype = static_cast<kernels::DType>(dtypeOf(tensor));
  result.ndim = static_cast<int32_t>(sizes.len);
  result.count = 1;
  int64_t last = 0;
  for (int64_t d = 0; d < sizes.len; ++d) {
    result.sizes[d] = sizes.data[d];
    result.strides[d] = strides.data[d];
    result.count *= sizes.data[d];
    last += (sizes.data[d] - 1) * strides.data[d];
  }
  if (result.count == 0) return result;
  const void* data = nullptr;
  diopiGetTensorDataConst(tensor, &data);
  const std::size_t bytes =
      static_cast<std::size_t>(last + 1) * kernels::itemSize(result.dtype);
  result.data = queue.translate<char>(data, bytes);
  if (result.data == nullptr) result.count = 0;
  return result;
}

bool isStrided(diopiConstTensorHandle_t tensor) {
  const diopiSize_t sizes = sizesOf(tensor);
  const diopiSize_t strides = stridesOf(tensor);
  int64_t dense = 1;
  for (int64_t d = sizes.len - 1; d >= 0; --d) {
    if (sizes.data[d] != 1 && strides.data[d] != dense) return true;
    dense *= sizes.data[d];
  }
  return false;
}

bool isBroadcast(diopiConstTensorHandle_t tensor) {
  const diopiSize_t sizes = sizesOf(tensor);
  const diopiSize_t strides = stridesOf(tensor);
  for (int64_t d = 0; d < sizes.len; ++d) {
    if (sizes.data[d] > 1 && strides.data[d] == 0) return true;
  }
  return false;
}

diopiDtype_t dtypeOf(diopiConstTensorHandle_t tensor) {
  diopiDtype_t dtype = diopi_dtype_unsupported;
  diopiGetTensorDtype(tensor, &dtype);
  return dtype;
}

}  // namespace dipu::tests::faulty
