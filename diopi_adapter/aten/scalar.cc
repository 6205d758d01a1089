// SPDX-License-Identifier: Apache-2.0
//
// Values that reach the host, and what a tensor is allowed to become.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/eq.h>

#include "core/allocator/device_allocator.h"
#include "core/runtime/device.h"
#include "core/runtime/memory.h"
#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {
namespace {

at::Scalar localScalarDense(const at::Tensor& self) {
  at::Tensor host(at::detail::empty_cpu({}, self.scalar_type()));
  runtime::copy(host.mutable_data_ptr(), DIPU_HOST, self.const_data_ptr(),
                self.device().index(), self.element_size());
  return at::native::_local_scalar_dense_cpu(host);
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device() && self.dtype() == other.dtype(),
              "Cannot compare two tensors on different devices or of different "
              "dtypes. Got: ",
              self.device(), " ", self.dtype(), " and ", other.device(), " ",
              other.dtype());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || at::eq(self, other).all().item<bool>();
}

void recordStream(at::Tensor& self, c10::Stream stream) {
  allocator::recordStream(self.storage().data(), stream);
}

// Whether `x.data = y` may make the TensorImpl of `x` refer to what that of `y`
// does. True for dense tensors whichever side they are on, so that
// module.to(device) changes its parameters instead of replacing them, and an
// optimizer made before goes on working.
bool hasCompatibleShallowCopyType(const at::Tensor& self,
                                  const at::Tensor& from) {
  const auto plain = [](const at::Tensor& tensor) {
    return tensor.layout() == c10::Layout::Strided && !tensor.is_quantized() &&
           !tensor.is_nested() &&
           (tensor.is_cpu() || tensor.is_privateuseone());
  };
  return plain(self) && plain(from);
}

}  // namespace

void registerScalar(torch::Library& library) {
  bind<"_local_scalar_dense", localScalarDense>(library);
  bind<"equal", equal>(library);
  library.impl("record_stream", recordStream);
  library.impl("_has_compatible_shallow_copy_type",
               hasCompatibleShallowCopyType);
}

}  // namespace dipu::aten
