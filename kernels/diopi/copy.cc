// SPDX-License-Identifier: Apache-2.0
//
// DIOPI copies between layouts and dtypes.
#include <diopi/functions.h>

#include "kernels/compute/elementwise.h"
#include "kernels/diopi/tensor_args.h"

namespace dipu::kernels::diopi {
namespace {

// Complex numbers are moved as pairs of their halves.
constexpr int kComplex64 = 15;
constexpr int kComplex128 = 16;
constexpr int32_t kMaxComplexDims = 16;

bool isComplex(DType dtype) {
  const auto code = static_cast<int>(dtype);
  return code == kComplex64 || code == kComplex128;
}

// A complex view seen as real, with a last dimension of size 2.
struct RealView {
  int64_t sizes[kMaxComplexDims + 1];
  int64_t strides[kMaxComplexDims + 1];

  TensorView of(TensorView complex) {
    for (int32_t i = 0; i < complex.ndim; ++i) {
      sizes[i] = complex.sizes[i];
      strides[i] = 2 * complex.strides[i];
    }
    sizes[complex.ndim] = 2;
    strides[complex.ndim] = 1;
    complex.sizes = sizes;
    complex.strides = strides;
    complex.numel *= 2;
    complex.ndim += 1;
    complex.dtype = static_cast<int>(complex.dtype) == kComplex64
                        ? DType::kFloat32
                        : DType::kFloat64;
    return complex;
  }
};

Status copy(const Queue& queue, const TensorView& to, const TensorView& from) {
  const bool complex = isComplex(to.dtype) && isComplex(from.dtype) &&
                       to.ndim <= kMaxComplexDims &&
                       from.ndim <= kMaxComplexDims;
  if (!complex) return convertTensor(queue, to, from);
  RealView real_to;
  RealView real_from;
  return convertTensor(queue, real_to.of(to), real_from.of(from));
}

}  // namespace
}  // namespace dipu::kernels::diopi

using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiCopyInp(diopiContextHandle_t ctx,
                          diopiConstTensorHandle_t src,
                          diopiTensorHandle_t dest) {
  return done(copy(queueOf(ctx), view(dest), view(src)));
}

diopiError_t diopiCastDtype(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
  return done(copy(queueOf(ctx), view(out), view(input)));
}

}  // extern "C"
