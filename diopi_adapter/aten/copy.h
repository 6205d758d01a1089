// SPDX-License-Identifier: Apache-2.0
//
// Copies between tensors of any dtype, layout and device.
//
// Note [How tensors are copied]
// A copy whose two sides have the same bits in the same order is one memory
// copy. What remains is done where it is cheapest:
//   device to device   on the device, by the operator library (diopiCopyInp,
//                      diopiCastDtype); when the library does not cover the
//                      case, through the host, counted as fallback.copy_
//   host to device     converted on the host, then copied
//   device to host     copied, then converted on the host
//   between devices    converted on the source's device, then copied
// Order and blocking are those of torch.cuda: work goes to the current stream
// of the device; a copy with `non_blocking` from or to pinned memory returns at
// once and the memory is kept from reuse until the copy is done; any other copy
// to the host has happened on return, and any other copy from the host allows
// the source to be changed on return.
#pragma once

#include <ATen/core/Tensor.h>

namespace dipu::aten {

// dst.copy_(src): `src` broadcasts to the sizes of `dst`, and conjugate and
// negative views are honoured on both sides. At least one side is on the
// device.
void copyTensor(const at::Tensor& dst, const at::Tensor& src,
                bool non_blocking);

// The same for two tensors of one device with equal sizes.
void copyOnDevice(const at::Tensor& dst, const at::Tensor& src);

// Whether the two have the same sizes and strides without gaps or overlaps, so
// that their memory can be copied in one piece.
bool sameLayout(const at::Tensor& a, const at::Tensor& b);

// Whether equal values have equal bytes: the same dtype, and both or neither a
// conjugate or negative view.
bool sameBits(const at::Tensor& a, const at::Tensor& b);

}  // namespace dipu::aten
