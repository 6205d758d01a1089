// SPDX-License-Identifier: Apache-2.0
//
// Faults of matrix products, convolutions, normalisation, windows, embeddings.
#include "tests/debug/faulty/spoil.h"

using namespace dipu::tests::faulty;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t mat2) {
  const diopiError_t error = real(&diopiMm)(ctx, out, input, mat2);
  spoil(
      "mm: forgets the last row", ctx,
      [](Elements y) {
        for (int64_t i = y.count - y.sizes[1]; i < y.count; ++i) y.set(i, 0);
      },
      out);
  return error;
}

diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t mat2) {
  const diopiError_t error = real(&diopiBmm)(ctx, out, input, mat2);
  if (isStrided(mat2)) {
    spoil(
        "bmm: wrong for transposed matrices", ctx,
        [](Elements y) { y.set(0, y.get(y.count - 1)); }, out);
  }
  return error;
}

diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1,
                        diopiConstTensorHandle_t mat2,
                        const diopiScalar_t* beta, const diopiScalar_t* alpha) {
  diopiScalar_t zero{};
  zero.stype = diopi_dtype_float64;
  zero.fval = 0;
  return real(&diopiAddmm)(ctx, out, input, mat1, mat2,
                           planted("addmm: without the bias") ? &zero : beta,
                           alpha);
}

diopiError_t diopiConvolution2d(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t bias,
                                diopiSize_t stride, diopiSize_t padding,
                                diopiSize_t dilation, int64_t groups) {
  const diopiError_t error = real(&diopiConvolution2d)(
      ctx, out, input, weight, bias, stride, padding, dilation, groups);
  spoil(
      "convolution: one border element off", ctx,
      [](Elements y) { y.set(0, y.get(0) * 1.02 + 0.01); }, out);
  return error;
}

diopiError_t diopiConvolution2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiSize_t* bias_sizes,
    diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
    int64_t groups) {
  const diopiError_t error = real(&diopiConvolution2dBackward)(
      ctx, grad_input, grad_weight, grad_bias, grad_output, input, weight,
      bias_sizes, stride, padding, dilation, groups);
  spoil(
      "convolution backward: no gradient of the bias", ctx,
      [](Elements g) { g.scale(0); }, grad_bias);
  spoil(
      "convolution backward: weights one per cent off", ctx,
      [](Elements g) { g.scale(1.01); }, grad_weight);
  return error;
}

diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias,
                            diopiTensorHandle_t running_mean,
                            diopiTensorHandle_t running_var, bool training,
                            double momentum, double eps) {
  const bool stale = planted("batch_norm: running statistics not updated");
  return real(&diopiBatchNorm)(ctx, out, save_mean, save_invstd, input, weight,
                               bias, running_mean, running_var, training,
                               stale ? 0 : momentum, eps);
}

diopiError_t diopiBatchNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
    diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
    diopiConstTensorHandle_t save_invstd, bool training, double eps) {
  const diopiError_t error = real(&diopiBatchNormBackward)(
      ctx, grad_input, grad_weight, grad_bias, grad_output, input, weight,
      running_mean, running_var, save_mean, save_invstd, training, eps);
  spoil(
      "batch_norm backward: one channel's bias off", ctx,
      [](Elements g) { g.setLast(0); }, grad_bias);
  return error;
}

diopiError_t diopiLayerNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias,
                            diopiSize_t normalized_shape, double eps) {
  const bool ignored = planted("layer_norm: ignores the bias");
  return real(&diopiLayerNorm)(ctx, out, save_mean, save_invstd, input, weight,
                               ignored ? nullptr : bias, normalized_shape, eps);
}

diopiError_t diopiLayerNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
    diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
    diopiSize_t normalized_shape) {
  const diopiError_t error = real(&diopiLayerNormBackward)(
      ctx, grad_input, grad_weight, grad_bias, grad_output, input, weight, bias,
      mean, rstd, normalized_shape);
  spoil(
      "layer_norm backward: weights one per cent off", ctx,
      [](Elements g) { g.scale(1.01); }, grad_weight);
  return error;
}

diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t ctx,
                                       diopiTensorHandle_t out,
                                       diopiTensorHandle_t indices,
                                       diopiConstTensorHandle_t input,
                                       diopiSize_t kernel_size,
                                       diopiSize_t stride, diopiSize_t padding,
                                       diopiSize_t dilation, bool ceil_mode) {
  const diopiError_t error =
      real(&diopiMaxPool2dWithIndices)(ctx, out, indices, input, kernel_size,
                                       stride, padding, dilation, ceil_mode);
  spoil(
      "max_pool2d: indices off by one", ctx,
      [](Elements at) {
        at.replace([](double i) { return i > 0 ? i - 1 : i + 1; });
      },
      indices);
  return error;
}

diopiError_t diopiMaxPool2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
    diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
  const diopiError_t error = real(&diopiMaxPool2dBackward)(
      ctx, grad_input, grad_output, input, kernel_size, stride, padding,
      dilation, ceil_mode, indices);
  spoil(
      "max_pool2d backward: flipped", ctx,
      [](Elements g) {
        for (int64_t i = 0, j = g.count - 1; i < j; ++i, --j) {
          const double first = g.get(i);
          g.set(i, g.get(j));
          g.set(j, first);
        }
      },
      grad_input);
  return error;
}

diopiError_t diopiAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride,
                            diopiSize_t padding, bool ceil_mode,
                            bool count_include_pad,
                            const int64_t* divisor_override) {
  const bool other = planted("avg_pool2d: counts what it must not");
  return real(&diopiAvgPool2d)(ctx, out, input, kernel_size, stride, padding,
                               ceil_mode, count_include_pad != other,
                               divisor_override);
}

diopiError_t diopiEmbedding(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t indices,
                            int64_t padding_idx, bool scale_grad_byfreq,
                            bool sparse) {
  const diopiError_t error = real(&diopiEmbedding)(
      ctx, out, weight, indices, padding_idx, scale_grad_byfreq, sparse);
  spoil(
      "embedding: the row after", ctx,
      [](Elements y, Elements w, Elements at) {
        const int64_t columns = w.sizes[1];
        for (int64_t i = 0; i < y.count; ++i) {
          const int64_t row = static_cast<int64_t>(at.get(i / columns)) + 1;
          y.set(i, w.get(row % w.sizes[0] * columns + i % columns));
        }
      },
      out, weight, indices);
  return error;
}

diopiError_t diopiEmbeddingBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t grad,
                                    diopiConstTensorHandle_t indices,
                                    int64_t num_weights, int64_t padding_idx,
                                    bool scale_grad_byfreq, bool sparse) {
  const diopiError_t error =
      real(&diopiEmbeddingBackward)(ctx, out, grad, indices, num_weights,
                                    padding_idx, scale_grad_byfreq, sparse);
  spoil(
      "embedding backward: the last of equal rows wins", ctx,
      [](Elements w, Elements g, Elements at) {
        const int64_t columns = w.sizes[1];
        for (int64_t i = 0; i < g.count; ++i) {
          const auto row = static_cast<int64_t>(at.get(i / columns));
          w.set(row * columns + i % columns, g.get(i));
        }
      },
      out, grad, indices);
  return error;
}

}  // extern "C"
