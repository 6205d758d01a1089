// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that copy a tensor, or a part of it, in another shape.
#include <diopi/functions.h>

#include <algorithm>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// The only memory format that tensors of this library have.
constexpr int64_t kPlainFormat = 0;

// A part of a tensor along one dimension.
struct Part {
  int64_t dim;
  int64_t start;
  int64_t count;
  int64_t step;
  bool keeps_dim;
};

Status checkDims(const char* name, const TensorView& tensor) {
  if (tensor.ndim <= kMaxDims) return Status::kOk;
  return fail(Status::kUnsupported, "%s of %d dimensions", name, tensor.ndim);
}

// Elements start, start + step, ... before `end`, which count from the end of
// the dimension when negative and stop at its borders.
Status readSlice(const TensorView& tensor, int64_t dim, int64_t start,
                 int64_t end, int64_t step, Part* part) {
  if (tensor.ndim == 0 || step <= 0) {
    return fail(Status::kInvalid, "slice: %d dimensions, step %lld",
                tensor.ndim, static_cast<long long>(step));
  }
  const Status status = wrapDim("slice", tensor.ndim, &dim);
  if (status != Status::kOk) return status;
  const int64_t size = tensor.sizes[dim];
  const int64_t first =
      std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  const int64_t last =
      std::clamp<int64_t>(end < 0 ? end + size : end, first, size);
  // A longer step takes nothing more.
  step = std::min(step, std::max<int64_t>(1, size));
  *part = {dim, first, (last - first + step - 1) / step, step, true};
  return checkDims("slice", tensor);
}

Status readSelect(const TensorView& tensor, int64_t dim, int64_t index,
                  Part* part) {
  if (tensor.ndim == 0) {
    return fail(Status::kInvalid, "select: a scalar has no dimension");
  }
  const Status status = wrapDim("select", tensor.ndim, &dim);
  if (status != Status::kOk) return status;
  const int64_t size = tensor.sizes[dim];
  if (index < -size || index >= size) {
    return fail(Status::kInvalid,
                "select: index %lld is out of range of a dimension of size "
                "%lld",
                static_cast<long long>(index), static_cast<long long>(size));
  }
  *part = {dim, index < 0 ? index + size : index, 1, 1, false};
  return checkDims("select", tensor);
}

struct PartView : ShapedView {
  PartView(const TensorView& tensor, const Part& part) : ShapedView(tensor) {
    for (int32_t d = 0; d < tensor.ndim; ++d) {
      if (d != part.dim) {
        append(tensor.sizes[d], tensor.strides[d]);
      } else if (part.keeps_dim) {
        append(part.count, part.step * tensor.strides[d]);
      }
    }
    if (part.count > 0) shift(part.start * tensor.strides[part.dim]);
  }
};

// Copies between tensors of the same sizes: nothing broadcasts.
Status copyExactly(const char* name, const Queue& queue, const TensorView& to,
                   const TensorView& from) {
  if (to.ndim != from.ndim ||
      !std::equal(to.sizes, to.sizes + to.ndim, from.sizes)) {
    return fail(Status::kInvalid, "%s: the result has other sizes", name);
  }
  return convertTensor(queue, to, from);
}

// out = the part of input.
diopiError_t take(const char* name, const Queue& queue, Status read,
                  diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                  const Part& part) {
  if (read != Status::kOk) return done(read);
  const PartView from(view(input), part);
  return done(copyExactly(name, queue, view(out), from.view));
}

// The part of out = source; the rest is a copy of `base`, or 0 without one.
diopiError_t put(const char* name, const Queue& queue, Status read,
                 diopiTensorHandle_t out, diopiConstTensorHandle_t base,
                 diopiConstTensorHandle_t source, const Part& part) {
  if (read != Status::kOk) return done(read);
  const PartView to(view(out), part);
  const Status status = base == nullptr
                            ? fill(queue, view(out), {true, 0, 0.0})
                            : copyExactly(name, queue, view(out), view(base));
  if (status != Status::kOk) return done(status);
  return done(copyExactly(name, queue, to.view, view(source)));
}

// Strides of a dense tensor in a memory format, innermost dimension first.
diopiError_t formatStrides(const TensorView& tensor, diopiMemoryFormat_t format,
                           int64_t* strides) {
  bool last = format != Contiguous;
  if (format == Preserve) last = orderOf(tensor) == Order::kChannelsLast;
  const int32_t wanted = format == ChannelsLast1d   ? 3
                         : format == ChannelsLast   ? 4
                         : format == ChannelsLast3d ? 5
                                                    : tensor.ndim;
  if (tensor.ndim != wanted) {
    return done(fail(Status::kInvalid,
                     "contiguous: %d dimensions in a format for %d",
                     tensor.ndim, wanted));
  }
  int64_t next = last ? tensor.sizes[1] : 1;
  if (last) strides[1] = 1;
  for (int32_t d = tensor.ndim - 1; d >= 0; --d) {
    if (last && d == 1) continue;
    strides[d] = next;
    next *= tensor.sizes[d];
  }
  return diopiSuccess;
}

}  // namespace

extern "C" {

diopiError_t diopiPermute(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, diopiSize_t dims) {
  const TensorView from = view(input);
  Status status = checkDims("permute", from);
  if (status != Status::kOk) return done(status);
  if (dims.len != from.ndim) {
    return done(fail(Status::kInvalid, "permute: %lld positions for %d",
                     static_cast<long long>(dims.len), from.ndim));
  }
  ShapedView turned(from);
  uint32_t seen = 0;
  for (int64_t i = 0; i < dims.len; ++i) {
    int64_t dim = dims.data[i];
    status = wrapDim("permute", from.ndim, &dim);
    if (status != Status::kOk) return done(status);
    if ((seen >> dim & 1U) != 0) {
      return done(fail(Status::kInvalid, "permute: dimension %lld twice",
                       static_cast<long long>(dim)));
    }
    seen |= 1U << dim;
    turned.append(from.sizes[dim], from.strides[dim]);
  }
  return done(copyExactly("permute", queueOf(ctx), view(out), turned.view));
}

diopiError_t diopiTranspose(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, int64_t dim0,
                            int64_t dim1) {
  const TensorView from = view(input);
  Status status = checkDims("transpose", from);
  if (status == Status::kOk) status = wrapDim("transpose", from.ndim, &dim0);
  if (status == Status::kOk) status = wrapDim("transpose", from.ndim, &dim1);
  if (status != Status::kOk) return done(status);
  ShapedView turned(from);
  for (int32_t d = 0; d < from.ndim; ++d) {
    const int64_t own = d == dim0 ? dim1 : d == dim1 ? dim0 : d;
    turned.append(from.sizes[own], from.strides[own]);
  }
  return done(copyExactly("transpose", queueOf(ctx), view(out), turned.view));
}

diopiError_t diopiSlice(diopiContextHandle_t ctx, diopiTensorHandle_t null_out,
                        diopiConstTensorHandle_t input, int64_t dim,
                        int64_t start, int64_t end, int64_t step) {
  Part part{};
  const Status read = readSlice(view(input), dim, start, end, step, &part);
  return take("slice", queueOf(ctx), read, null_out, input, part);
}

diopiError_t diopiSliceBackward(diopiContextHandle_t ctx,
                                diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output,
                                diopiSize_t /*input_sizes*/, int64_t dim,
                                int64_t start, int64_t end, int64_t step) {
  Part part{};
  const Status read = readSlice(view(grad_input), dim, start, end, step, &part);
  return put("slice_backward", queueOf(ctx), read, grad_input, nullptr,
             grad_output, part);
}

diopiError_t diopiSliceScatter(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t src, int64_t dim,
                               int64_t start, int64_t end, int64_t step) {
  Part part{};
  const Status read = readSlice(view(out), dim, start, end, step, &part);
  return put("slice_scatter", queueOf(ctx), read, out, input, src, part);
}

diopiError_t diopiSelect(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim,
                         int64_t index) {
  Part part{};
  const Status read = readSelect(view(input), dim, index, &part);
  return take("select", queueOf(ctx), read, out, input, part);
}

diopiError_t diopiSelectBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiSize_t /*input_sizes*/, int64_t dim,
                                 int64_t index) {
  Part part{};
  const Status read = readSelect(view(grad_input), dim, index, &part);
  return put("select_backward", queueOf(ctx), read, grad_input, nullptr,
             grad_output, part);
}

diopiError_t diopiSelectScatter(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t src, int64_t dim,
                                int64_t index) {
  Part part{};
  const Status read = readSelect(view(out), dim, index, &part);
  return put("select_scatter", queueOf(ctx), read, out, input, src, part);
}

// outs[i] repeats inputs[i], a vector, along all dimensions but i.
diopiError_t diopiMeshGrid(diopiContextHandle_t ctx, diopiTensorHandle_t* outs,
                           diopiConstTensorHandle_t* inputs,
                           int64_t inputsNum) {
  const Queue queue = queueOf(ctx);
  for (int64_t i = 0; i < inputsNum; ++i) {
    const TensorView out = view(outs[i]);
    const TensorView input = view(inputs[i]);
    if (out.ndim != inputsNum || out.ndim > kMaxDims || input.ndim > 1 ||
        out.sizes[i] != input.numel) {
      return done(fail(Status::kInvalid,
                       "meshgrid: the sizes of result %lld do not fit",
                       static_cast<long long>(i)));
    }
    ShapedView repeated(input);
    for (int32_t d = 0; d < out.ndim; ++d) {
      const bool own = d == i && input.ndim == 1;
      repeated.append(out.sizes[d], own ? input.strides[0] : 0);
    }
    const Status status = convertTensor(queue, out, repeated.view);
    if (status != Status::kOk) return done(status);
  }
  return diopiSuccess;
}

diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                             diopiConstTensorHandle_t input,
                             diopiMemoryFormat_t memoryFormat) {
  const TensorView from = view(input);
  const Status status = checkDims("contiguous", from);
  if (status != Status::kOk) return done(status);
  int64_t values[kMaxDims];
  diopiError_t error = formatStrides(from, memoryFormat, values);
  if (error != diopiSuccess) return error;
  const diopiSize_t sizes{from.sizes, from.ndim};
  const diopiSize_t strides{values, from.ndim};
  error =
      diopiRequireTensor(ctx, out, &sizes, &strides,
                         static_cast<diopiDtype_t>(from.dtype), diopi_device);
  if (error != diopiSuccess) {
    fail(Status::kFailed, "no memory for a result");
    return error;
  }
  return done(convertTensor(queueOf(ctx), view(*out), from));
}

diopiError_t diopiGetNativeMemoryFormat(diopiContextHandle_t /*ctx*/,
                                        diopiConstTensorHandle_t /*input*/,
                                        int64_t* format) {
  *format = kPlainFormat;
  return diopiSuccess;
}

diopiError_t diopiNativeMemoryFormatCast(diopiContextHandle_t /*ctx*/,
                                         diopiTensorHandle_t* out,
                                         diopiTensorHandle_t in,
                                         int64_t format) {
  if (format != kPlainFormat) {
    fail(Status::kUnsupported, "there is no memory format %lld, only %lld",
         static_cast<long long>(format), static_cast<long long>(kPlainFormat));
    return diopiNoImplement;
  }
  *out = in;
  return diopiSuccess;
}

// The library remembers nothing about a tensor.
diopiError_t diopiTensorDestructionHook(diopiContextHandle_t /*ctx*/,
                                        void* /*ptr*/) {
  return diopiSuccess;
}

}  // extern "C"
