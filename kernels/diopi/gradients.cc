// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's gradients of sums, norms and products, and what is done to
// gradients as a whole.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/compute/arrange.h"
#include "kernels/compute/binary.h"
#include "kernels/compute/norm_backward.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/product_backward.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/scan.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// The p-norm of numbers that are norms themselves.
double normOf(const std::vector<double>& values, double p) {
  double result = std::isinf(p) && p < 0 && !values.empty() ? values[0] : 0.0;
  for (const double value : values) {
    if (std::isnan(value)) return value;
    if (std::isinf(p)) {
      result = p < 0 ? std::min(result, value) : std::max(result, value);
    } else {
      result += p == 0.0 ? (value != 0 ? 1.0 : 0.0) : std::pow(value, p);
    }
  }
  return std::isinf(p) || p == 0.0 ? result : std::pow(result, 1.0 / p);
}

// The norms of tensors. Waits for the stream.
Status readNorms(const Queue& queue, diopiTensorHandle_t* tensors,
                 int64_t count, double p, std::vector<double>* norms) {
  if (count < 0) {
    return fail(Status::kInvalid, "clip_grad_norm: %ld gradients", long(count));
  }
  norms->resize(static_cast<std::size_t>(count));
  if (count == 0) return Status::kOk;
  const std::size_t bytes = norms->size() * sizeof(double);
  auto* memory = static_cast<char*>(queue.scratch(bytes));
  if (memory == nullptr) return Status::kFailed;
  TensorView result;
  result.ndim = 0;
  result.numel = 1;
  result.dtype = DType::kFloat64;
  for (int64_t i = 0; i < count; ++i) {
    result.data = memory + i * static_cast<int64_t>(sizeof(double));
    const Status status = norm(queue, result, view(tensors[i]), p, {});
    if (status != Status::kOk) return status;
  }
  return readBack(queue, norms->data(), memory, bytes);
}

}  // namespace

extern "C" {

// Running sums from the other end.
diopiError_t diopiCumsumBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 int64_t dim) {
  const Queue queue = queueOf(ctx);
  const TensorView grad = view(grad_output);
  const TensorView out = view(grad_input);
  if (out.ndim != grad.ndim ||
      !std::equal(out.sizes, out.sizes + out.ndim, grad.sizes)) {
    return done(
        fail(Status::kInvalid, "cumsum_backward: the gradients differ"));
  }
  if (grad.numel == 0) return diopiSuccess;
  const ScratchTensor turned(queue, grad, grad.dtype);
  const ScratchTensor sums(queue, grad, out.dtype);
  if (!turned.valid() || !sums.valid()) return diopiErrorOccurred;
  Status status = flip(queue, turned.view(), grad, &dim, 1);
  if (status == Status::kOk) {
    status = cumsum(queue, sums.view(), turned.view(), dim);
  }
  if (status == Status::kOk) status = flip(queue, out, sums.view(), &dim, 1);
  return done(status);
}

diopiError_t diopiNormBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t self,
                               diopiConstTensorHandle_t norm, diopiSize_t dim,
                               const diopiScalar_t* p) {
  const double power = p == nullptr ? 2.0 : scalar(p).to<double>();
  return done(normBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           view(self), view(norm), power,
                           Dims{dim.data, dim.len}));
}

diopiError_t diopiLinearBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight,
                                 diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight) {
  return done(linearBackward(queueOf(ctx), view(grad_input), view(grad_weight),
                             view(grad_bias), view(grad_output), view(input),
                             view(weight)));
}

diopiError_t diopiMatmulBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_other,
                                 diopiConstTensorHandle_t grad_out,
                                 diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t other) {
  return done(matmulBackward(queueOf(ctx), view(grad_input), view(grad_other),
                             view(grad_out), view(input), view(other)));
}

// Waits for the stream: the norm of all gradients together goes to the host.
diopiError_t diopiClipGradNorm(diopiContextHandle_t ctx, double* out,
                               diopiTensorHandle_t* grads, int64_t num_grads,
                               double max_norm, double norm_type,
                               bool error_if_nonfinite) {
  const Queue queue = queueOf(ctx);
  std::vector<double> norms;
  const Status status = readNorms(queue, grads, num_grads, norm_type, &norms);
  if (status != Status::kOk) return done(status);
  const double total = normOf(norms, norm_type);
  if (error_if_nonfinite && !std::isfinite(total)) {
    return done(fail(Status::kInvalid,
                     "clip_grad_norm: the norm of the gradients is %g", total));
  }
  *out = total;
  const double scale = max_norm / (total + 1e-6);
  if (scale >= 1.0) return diopiSuccess;
  Scalar factor;
  factor.d = scale;
  for (int64_t i = 0; i < num_grads; ++i) {
    const TensorView grad = view(grads[i]);
    const Status scaled = mulScalar(queue, grad, grad, factor);
    if (scaled != Status::kOk) return done(scaled);
  }
  return diopiSuccess;
}

}  // extern "C"
