// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that put complex numbers together and take them apart.
#include <diopi/functions.h>

#include "kernels/compute/binary.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/unary.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

bool isComplex(const TensorView& tensor) {
  const auto code = static_cast<int>(tensor.dtype);
  return (code == diopi_dtype_complex64 || code == diopi_dtype_complex128) &&
         tensor.ndim <= kMaxDims;
}

Status refuse(const char* name, const TensorView& tensor) {
  return fail(Status::kUnsupported,
              "%s has no kernel for a tensor of dtype code %d and %d "
              "dimensions",
              name, static_cast<int>(tensor.dtype), tensor.ndim);
}

// The real (0) or imaginary (1) parts of a complex tensor.
struct Half : ShapedView {
  Half(const TensorView& complex, int64_t which) : ShapedView(complex) {
    view.dtype = static_cast<int>(complex.dtype) == diopi_dtype_complex64
                     ? DType::kFloat32
                     : DType::kFloat64;
    for (int32_t d = 0; d < complex.ndim; ++d) {
      append(complex.sizes[d], 2 * complex.strides[d]);
    }
    shift(which);
  }
};

Status takeHalf(const char* name, const Queue& queue, const TensorView& out,
                const TensorView& input, int64_t which) {
  if (!isComplex(input)) return refuse(name, input);
  const Half half(input, which);
  return convertTensor(queue, out, half.view);
}

}  // namespace

extern "C" {

// The real part of a real tensor is the tensor.
diopiError_t diopiReal(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  const TensorView from = view(input);
  if (itemSize(from.dtype) != 0) {
    return done(convertTensor(queueOf(ctx), view(out), from));
  }
  return done(takeHalf("real", queueOf(ctx), view(out), from, 0));
}

diopiError_t diopiImag(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  return done(takeHalf("imag", queueOf(ctx), view(out), view(input), 1));
}

diopiError_t diopiComplex(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t real,
                          diopiConstTensorHandle_t imag) {
  const Queue queue = queueOf(ctx);
  const TensorView result = view(out);
  if (!isComplex(result)) return done(refuse("complex", result));
  const Half first(result, 0);
  const Half second(result, 1);
  const Status status = convertTensor(queue, first.view, view(real));
  if (status != Status::kOk) return done(status);
  return done(convertTensor(queue, second.view, view(imag)));
}

// abs * cos(angle) and abs * sin(angle).
diopiError_t diopiPolar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t abs,
                        diopiConstTensorHandle_t angle) {
  const Queue queue = queueOf(ctx);
  const TensorView result = view(out);
  if (!isComplex(result)) return done(refuse("polar", result));
  for (int64_t which = 0; which < 2; ++which) {
    const Half half(result, which);
    const UnaryOp op = which == 0 ? UnaryOp::kCos : UnaryOp::kSin;
    Status status = unary(queue, op, half.view, view(angle));
    if (status == Status::kOk) {
      status = mul(queue, half.view, half.view, view(abs));
    }
    if (status != Status::kOk) return done(status);
  }
  return diopiSuccess;
}

}  // extern "C"
