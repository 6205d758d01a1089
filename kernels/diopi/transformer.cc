// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions around attention: root-mean-square normalization, rotary
// embedding and the softmax of scores.
#include <diopi/functions_ext.h>

#include <algorithm>

#include "kernels/compute/attention/rotary.h"
#include "kernels/compute/normalization/rms_norm.h"
#include "kernels/compute/shaped_view.h"
#include "kernels/compute/softmax/masked_softmax.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// Turns `tensor` in place. Features of all heads that lie in one dimension,
// [tokens, heads * dim], are cut into heads.
Status turnInPlace(const Queue& queue, const TensorView& tensor,
                   const TensorView& cos, const TensorView& sin, int64_t dim) {
  if (tensor.ndim != 2) {
    return rotary(queue, tensor, tensor, cos, sin, RotaryPairs::kHalves,
                  /*inverse=*/false);
  }
  if (dim <= 0 || tensor.sizes[1] % dim != 0) {
    return fail(Status::kInvalid, "rotary: %ld features in heads of %ld",
                long(tensor.sizes[1]), long(dim));
  }
  const int64_t step = tensor.strides[1];
  ShapedView heads(tensor);
  heads.append(tensor.sizes[0], tensor.strides[0])
      .append(tensor.sizes[1] / dim, dim * step)
      .append(dim, step);
  return rotary(queue, heads.view, heads.view, cos, sin, RotaryPairs::kHalves,
                /*inverse=*/false);
}

// The first half of the angles, where both features of a pair have their own
// entry; leading dimensions of size 1 are left out down to `ndim`.
struct HalfAngles : ShapedView {
  HalfAngles(const TensorView& angles, int64_t dim, int32_t ndim)
      : ShapedView(angles) {
    for (int32_t d = 0; d < angles.ndim; ++d) {
      const bool last = d == angles.ndim - 1;
      if (angles.ndim - d > ndim && angles.sizes[d] == 1) continue;
      append(last && angles.sizes[d] == dim ? dim / 2 : angles.sizes[d],
             angles.strides[d]);
    }
  }
};

}  // namespace

extern "C" {

diopiError_t diopiRMSNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiTensorHandle_t inv_rms,
                          diopiConstTensorHandle_t input,
                          diopiSize_t normalized_shape,
                          diopiConstTensorHandle_t weight,
                          diopiConstTensorHandle_t bias, double eps) {
  return done(rmsNorm(queueOf(ctx), view(out), view(inv_rms), view(input),
                      view(weight), view(bias), normalized_shape.len, eps));
}

// `bias` and `eps` are in DIOPI's signature; the gradients do not depend on
// them but through inv_rms.
diopiError_t diopiRMSNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t /*bias*/,
    diopiConstTensorHandle_t inv_rms, diopiSize_t normalized_shape,
    double /*eps*/) {
  return done(rmsNormBackward(queueOf(ctx), view(grad_input), view(grad_weight),
                              view(grad_bias), view(grad_output), view(input),
                              view(weight), view(inv_rms),
                              normalized_shape.len));
}

diopiError_t diopiRotaryEmbedding(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t x,
                                  diopiConstTensorHandle_t cos,
                                  diopiConstTensorHandle_t sin, const bool conj,
                                  const bool interleaved) {
  const RotaryPairs pairs =
      interleaved ? RotaryPairs::kNeighbours : RotaryPairs::kHalves;
  return done(rotary(queueOf(ctx), view(out), view(x), view(cos), view(sin),
                     pairs, conj));
}

// Query and key are turned in place; `dim` is the width of a head, and cos and
// sin have it, or half of it, as their last size.
diopiError_t diopiRotaryEmbeddingV2(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t query,
                                    diopiTensorHandle_t key,
                                    diopiConstTensorHandle_t cos,
                                    diopiConstTensorHandle_t sin, int64_t dim) {
  const Queue queue = queueOf(ctx);
  const TensorView cosines = view(cos);
  const TensorView sines = view(sin);
  if (std::max(cosines.ndim, sines.ndim) > kMaxDims) {
    return done(fail(Status::kUnsupported,
                     "rotary: cos and sin of %d and %d dimensions",
                     cosines.ndim, sines.ndim));
  }
  for (diopiTensorHandle_t handle : {query, key}) {
    const TensorView tensor = view(handle);
    const int32_t ndim = tensor.ndim == 2 ? 3 : tensor.ndim;
    const HalfAngles c(cosines, dim, ndim);
    const HalfAngles s(sines, dim, ndim);
    const Status status = turnInPlace(queue, tensor, c.view, s.view, dim);
    if (status != Status::kOk) return done(status);
  }
  return diopiSuccess;
}

diopiError_t diopiScaledMaskedSoftmax(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t output,
                                      diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t mask,
                                      double scale, bool fixed_triu_mask) {
  return done(maskedSoftmax(queueOf(ctx), view(output), view(input),
                            {view(mask), fixed_triu_mask}, scale));
}

diopiError_t diopiScaledMaskedSoftmaxBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
    diopiConstTensorHandle_t mask, double scale, bool fixed_triu_mask) {
  return done(maskedSoftmaxBackward(queueOf(ctx), view(grad_input),
                                    view(grad_output), view(output),
                                    {view(mask), fixed_triu_mask}, scale));
}

}  // extern "C"
