// SPDX-License-Identifier: Apache-2.0
//
// Making device tensors without the dispatcher.
//
// These are what aten::empty and aten::empty_strided do once the device is
// known; kernels call them for their outputs. The memory is not initialised and
// belongs to the device's current stream. They throw c10::OutOfMemoryError when
// the device is full and never block otherwise.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

namespace dipu::aten {

// A contiguous tensor. `device` is a valid index.
at::Tensor emptyContiguous(c10::IntArrayRef sizes, c10::ScalarType dtype,
                           c10::DeviceIndex device);

// A contiguous tensor with the sizes of `other`, which need no check.
at::Tensor emptyShaped(const at::Tensor& other, c10::ScalarType dtype,
                       c10::DeviceIndex device);

// A tensor with the given strides, which must not be negative.
at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        c10::ScalarType dtype, c10::DeviceIndex device);

// A tensor like `other` on `device`: the same strides where those of `other`
// cover their memory without gaps or overlaps, else contiguous.
at::Tensor emptyLike(const at::Tensor& other, c10::ScalarType dtype,
                     c10::DeviceIndex device);

}  // namespace dipu::aten
