// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of `out:` in ops.yaml: sizes and types of outputs that no meta
// function of torch tells.
//
// Functions throw c10::Error for arguments that make no sense. Types of saved
// statistics are accumulation types: float32 for float16 and bfloat16.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>

#include "diopi_adapter/runtime/output.h"

namespace dipu::adapter::shape {

// Like `tensor`, with its strides where they are dense.
OutputSpec like(const at::Tensor& tensor);
// The same as int32.
OutputSpec likeInt(const at::Tensor& tensor);
// Like `tensor`, limited to the numbers from `min` to `max` of its type.
OutputSpec clipped(const at::Tensor& tensor, const at::Scalar& min,
                   const at::Scalar& max);
// Like `tensor`, contiguous.
OutputSpec packed(const at::Tensor& tensor);
// No dimensions, bool.
OutputSpec flag();
// No dimensions, the type of `tensor`.
OutputSpec scalar(const at::Tensor& tensor);
// No dimensions, the type of a sum over `tensor`.
OutputSpec total(const at::Tensor& tensor, std::optional<at::ScalarType> dtype);

// `tensor` reduced over `dim`, all dimensions when `dim` is empty.
OutputSpec reduced(const at::Tensor& tensor, at::OptionalIntArrayRef dim,
                   bool keepdim);

// `tensor` reduced over one dimension, which must not be empty; and positions
// in that dimension.
OutputSpec reducedAlong(const at::Tensor& tensor, int64_t dim, bool keepdim);
OutputSpec positionsAlong(const at::Tensor& tensor, int64_t dim, bool keepdim);
// As reducedAlong, of the k-th smallest elements.
OutputSpec kthAlong(const at::Tensor& tensor, int64_t k, int64_t dim,
                    bool keepdim);
// As reduced, of the type of a sum; that of `out` when it is given.
OutputSpec summed(const at::Tensor& tensor, at::OptionalIntArrayRef dim,
                  bool keepdim, std::optional<at::ScalarType> dtype,
                  const at::Tensor& out);
// As reduced, of a number of elements.
OutputSpec counted(const at::Tensor& tensor, at::IntArrayRef dim);
// A histogram of the elements between `min` and `max`; of all elements when
// both are equal.
OutputSpec binned(const at::Tensor& tensor, int64_t bins, const at::Scalar& min,
                  const at::Scalar& max);
OutputSpec diagonalSum(const at::Tensor& matrix);

// torch.arange, torch.range and torch.linspace; the type is that of `out`.
OutputSpec arange(const at::Scalar& start, const at::Scalar& end,
                  const at::Scalar& step, const at::Tensor& out);
OutputSpec closedRange(const at::Scalar& start, const at::Scalar& end,
                       const at::Scalar& step, const at::Tensor& out);
OutputSpec linspace(int64_t steps, const at::Tensor& out);
OutputSpec matrix(int64_t rows, int64_t columns, const at::Tensor& out);

// `tensor` with its dimension `dim` taken by `index`.
OutputSpec selected(const at::Tensor& tensor, int64_t dim,
                    const at::Tensor& index);
// Elements of the flattened `tensor` by `index`.
OutputSpec taken(const at::Tensor& tensor, const at::Tensor& index);
// Coordinates of `count` elements of `tensor`.
OutputSpec positions(const at::Tensor& tensor, int64_t count);
// `length` slices of dimension `dim` from `start` on.
OutputSpec narrowed(const at::Tensor& tensor, int64_t dim, int64_t start,
                    int64_t length);

// Products of matrices and vectors.
OutputSpec batchSum(const at::Tensor& input, const at::Tensor& batch1,
                    const at::Tensor& batch2);
OutputSpec dotProduct(const at::Tensor& a, const at::Tensor& b);
OutputSpec int8Product(const at::Tensor& a, const at::Tensor& b);

// Rows of `weight` for each index.
OutputSpec embedded(const at::Tensor& weight, const at::Tensor& indices);
OutputSpec embeddingGrad(const at::Tensor& grad_output, int64_t num_weights);

// A loss of two tensors that broadcast.
OutputSpec reducedLoss(const at::Tensor& input, const at::Tensor& target,
                       int64_t reduction);
// A loss per element of `target`, of the type of `input`.
OutputSpec reducedTarget(const at::Tensor& input, const at::Tensor& target,
                         int64_t reduction);

// The last dimensions of `input` replaced by `output_size`.
OutputSpec pooled(const at::Tensor& input, at::IntArrayRef output_size);

// A pooling of three dimensions, in the layout of `input`, and its indices.
OutputSpec windows(const at::Tensor& input, at::IntArrayRef kernel_size,
                   at::IntArrayRef stride, at::IntArrayRef padding,
                   at::IntArrayRef dilation, bool ceil_mode);
OutputSpec windowIndices(const at::Tensor& input, at::IntArrayRef kernel_size,
                         at::IntArrayRef stride, at::IntArrayRef padding,
                         at::IntArrayRef dilation, bool ceil_mode);

// im2col and col2im.
OutputSpec columns(const at::Tensor& input, at::IntArrayRef kernel_size,
                   at::IntArrayRef dilation, at::IntArrayRef padding,
                   at::IntArrayRef stride);
OutputSpec fromColumns(const at::Tensor& input, at::IntArrayRef output_size,
                       at::IntArrayRef kernel_size, at::IntArrayRef dilation,
                       at::IntArrayRef padding, at::IntArrayRef stride);

// `input` with elements in front of and behind its last dimensions, the last
// one first.
OutputSpec padded(const at::Tensor& input, at::IntArrayRef padding);

// `sizes`, of the type of `tensor`.
OutputSpec sized(const at::Tensor& tensor, at::IntArrayRef sizes);

// No bytes: what a batch normalization keeps for its backward function beside
// the statistics.
OutputSpec reserve(const at::Tensor& input);

// Statistics and parameters of normalizations. Channels are dimension 1.
OutputSpec channelStats(const at::Tensor& input);
// The same where `training` computes them, else nothing.
OutputSpec savedStats(const at::Tensor& input, bool training);
OutputSpec channelParams(const at::Tensor& input,
                         const std::optional<at::Tensor>& weight);
OutputSpec normStats(const at::Tensor& input, at::IntArrayRef normalized_shape);
OutputSpec normParams(const at::Tensor& input,
                      const std::optional<at::Tensor>& weight,
                      at::IntArrayRef normalized_shape);
OutputSpec groupStats(const at::Tensor& input, int64_t batch, int64_t groups);

// `tensor` with half its size in dimension `dim`.
OutputSpec halved(const at::Tensor& tensor, int64_t dim);
// The sizes of `index`, the type of `tensor`.
OutputSpec perElement(const at::Tensor& tensor, const at::Tensor& index);
// A loss per row of `input`, [C] or [N, C].
OutputSpec reducedRows(const at::Tensor& input, int64_t reduction);

// Embedding bags: a row of `weight` per bag, a number per bag, and, for the
// mode that takes maxima, a number per element of the result.
OutputSpec bags(const at::Tensor& weight, const at::Tensor& offsets,
                bool include_last_offset);
OutputSpec bagSizes(const at::Tensor& offsets, bool include_last_offset);
OutputSpec bagMaxima(const at::Tensor& weight, const at::Tensor& offsets,
                     bool include_last_offset, int64_t mode);

// Distances between the rows of two batches of matrices, the gradient of the
// first, and distances between all pairs of rows of one matrix.
OutputSpec distances(const at::Tensor& x1, const at::Tensor& x2);
OutputSpec distancesGrad(const at::Tensor& x1, const at::Tensor& x2);
OutputSpec pairs(const at::Tensor& points);

// `input` [N, C, ...] sampled at the places of `grid` [N, ..., coordinates].
OutputSpec gridSampled(const at::Tensor& input, const at::Tensor& grid);

}  // namespace dipu::adapter::shape
