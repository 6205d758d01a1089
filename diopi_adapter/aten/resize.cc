// SPDX-License-Identifier: Apache-2.0
//
// Changing what a tensor refers to: resize_ and set_. PyTorch's own versions
// grow a storage by a host copy, so these reach the storage through the hooks.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>

#include "core/allocator/device_allocator.h"
#include "core/runtime/device.h"
#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {
namespace {

void growStorage(c10::TensorImpl* tensor, std::size_t bytes) {
  if (tensor->numel() == 0) return;
  const c10::Storage& storage = tensor->unsafe_storage();
  if (bytes > storage.nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(storage, bytes);
  }
}

// Gives `tensor` new sizes, and strides if given, and makes room for them.
void resizeTensor(c10::TensorImpl* tensor, at::IntArrayRef sizes,
                  at::OptionalIntArrayRef strides) {
  const std::size_t item_size = tensor->dtype().itemsize();
  const auto offset = static_cast<std::size_t>(tensor->storage_offset());
  if (strides) {
    tensor->set_sizes_and_strides(sizes, *strides);
    growStorage(tensor, at::detail::computeStorageNbytes(sizes, *strides,
                                                         item_size, offset));
    return;
  }
  tensor->set_sizes_contiguous(sizes);
  growStorage(tensor, at::detail::computeStorageNbytesContiguous(
                          sizes, item_size, offset));
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef sizes,
                         std::optional<c10::MemoryFormat> memory_format) {
  at::detail::check_size_nonnegative(sizes);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  const auto old_bytes = static_cast<int64_t>(impl->unsafe_storage().nbytes());
  if (self.sizes() != sizes) {
    const runtime::DeviceScope scope(self.device().index());
    resizeTensor(impl, sizes, std::nullopt);
  }
  if (memory_format) {
    TORCH_CHECK(*memory_format != c10::MemoryFormat::Preserve,
                "resize_ does not accept memory format ", *memory_format);
    impl->empty_tensor_restride(*memory_format);
  }
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() &&
                   context.deterministicFillUninitializedMemory())) {
    at::native::fill_resize_deterministic_(self, old_bytes);
  }
  return self;
}

at::Tensor& setStorageOffset(at::Tensor& self, at::Storage source,
                             int64_t offset, at::IntArrayRef sizes,
                             at::IntArrayRef strides) {
  at::native::checkSetStorage(self, std::move(source), offset, sizes, strides);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  const runtime::DeviceScope scope(self.device().index());
  // A null stride list means contiguous, an empty one a 0-dim tensor.
  resizeTensor(impl, sizes,
               strides.data() != nullptr ? at::OptionalIntArrayRef(strides)
                                         : std::nullopt);
  return self;
}

at::Tensor& setStorage(at::Tensor& self, at::Storage source) {
  const auto count =
      static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return setStorageOffset(self, std::move(source), 0, {count}, {});
}

at::Tensor& setTensor(at::Tensor& self, const at::Tensor& source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
  return setStorageOffset(self, source.storage(), source.storage_offset(),
                          source.sizes(), source.strides());
}

at::Tensor& setEmpty(at::Tensor& self) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0,
      allocator::allocate(0, self.device().index()),
      &allocator::deviceAllocator(), /*resizable=*/true);
  return setStorageOffset(self, c10::Storage(std::move(storage)), 0, {0}, {});
}

}  // namespace

void registerResize(torch::Library& library) {
  library.impl("resize_", resize);
  library.impl("set_.source_Storage", setStorage);
  library.impl("set_.source_Storage_storage_offset", setStorageOffset);
  library.impl("set_.source_Tensor", setTensor);
  library.impl("set_", setEmpty);
}

}  // namespace dipu::aten
