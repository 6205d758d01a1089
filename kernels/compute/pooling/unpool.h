// SPDX-License-Identifier: Apache-2.0
//
// Pooling with windows at random places, and putting pooled elements back.
//
// Images have two or three dimensions, with or without a sample dimension, in
// any layout. Indices are int64 positions in an image, as in pool.h. Every
// function enqueues and returns.
#pragma once

#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Zeros, with each element of `input` at its index. Any dtype. An index that
// is outside the image fails on the device.
Status maxUnpool(const Queue& queue, const TensorView& out,
                 const TensorView& input, const TensorView& indices,
                 int32_t dimensions);

// The largest element of windows of arguments.*.kernel elements, whose places
// follow from `samples`, [N, C, dimensions], of the input's dtype: numbers of
// [0, 1), for the last dimension first in two dimensions and last in three, as
// PyTorch has it. float32 and float64; other fields of `arguments` are unused.
Status fractionalMaxPool(const Queue& queue, const TensorView& out,
                         const TensorView& indices, const TensorView& input,
                         const TensorView& samples,
                         const PoolArguments& arguments);

}  // namespace dipu::kernels
