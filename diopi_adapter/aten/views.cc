// SPDX-License-Identifier: Apache-2.0
//
// Views. They must be kernels of the device: falling back would copy, and a
// write through the copy would be lost.
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {

// PyTorch's own functions only touch sizes, strides and offset.
void registerViews(torch::Library& library) {
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view",
               static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(
                   at::native::view));
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("is_set_to", at::native::is_set_to);
  library.impl("unfold", at::native::unfold);
  library.impl("view_as_real", at::native::view_as_real);
  library.impl("view_as_complex", at::native::view_as_complex);
}

}  // namespace dipu::aten
