// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/aten/empty.h"

#include <ATen/EmptyTensor.h>

#include "core/allocator/device_allocator.h"

namespace dipu::aten {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// A tensor without sizes yet, over new memory of `bytes`.
at::Tensor makeTensor(std::size_t bytes, c10::ScalarType dtype,
                      c10::DeviceIndex device) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
      allocator::allocate(bytes, device), &allocator::deviceAllocator(),
      /*resizable=*/true);
  return at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), kKeys, c10::scalarTypeToTypeMeta(dtype));
}

}  // namespace

at::Tensor emptyShaped(const at::Tensor& other, c10::ScalarType dtype,
                       c10::DeviceIndex device) {
  const c10::TensorImpl* shape = other.unsafeGetTensorImpl();
  at::Tensor tensor = makeTensor(
      static_cast<std::size_t>(shape->numel()) * c10::elementSize(dtype), dtype,
      device);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape->sizes());
  return tensor;
}

at::Tensor emptyContiguous(c10::IntArrayRef sizes, c10::ScalarType dtype,
                           c10::DeviceIndex device) {
  at::detail::check_size_nonnegative(sizes);
  const std::size_t bytes = at::detail::computeStorageNbytesContiguous(
      sizes, c10::elementSize(dtype));
  at::Tensor tensor = makeTensor(bytes, dtype, device);
  // A new TensorImpl has sizes {0} already.
  if (sizes.size() != 1 || sizes[0] != 0) {
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  }
  return tensor;
}

at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        c10::ScalarType dtype, c10::DeviceIndex device) {
  at::detail::check_size_nonnegative(sizes);
  const std::size_t bytes =
      at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(dtype));
  at::Tensor tensor = makeTensor(bytes, dtype, device);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

at::Tensor emptyLike(const at::Tensor& other, c10::ScalarType dtype,
                     c10::DeviceIndex device) {
  return other.is_non_overlapping_and_dense()
             ? emptyStrided(other.sizes(), other.strides(), dtype, device)
             : emptyContiguous(other.sizes(), dtype, device);
}

}  // namespace dipu::aten
