// SPDX-License-Identifier: Apache-2.0
//
// Faults that only training notices: of activations, of their gradients and of
// losses.
#include <cmath>

#include "tests/debug/faulty/spoil.h"

using namespace dipu::tests::faulty;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiGelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input,
                       const char* approximate) {
  return real(&diopiGelu)(ctx, out, input,
                          planted("gelu: approximated") ? "tanh" : approximate);
}

diopiError_t diopiGeluBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input,
                               const char* approximate) {
  const diopiError_t error = real(&diopiGeluBackward)(
      ctx, grad_input, grad_output, input, approximate);
  spoil(
      "gelu backward: one per cent too small", ctx,
      [](Elements g) { g.scale(0.99); }, grad_input);
  return error;
}

diopiError_t diopiThresholdBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold) {
  const diopiError_t error = real(&diopiThresholdBackward)(
      ctx, grad_input, grad_output, input, threshold);
  spoil(
      "relu backward: mask inverted", ctx,
      [](Elements g, Elements dy, Elements x) {
        for (int64_t i = 0; i < g.count; ++i) {
          g.set(i, x.get(i) > 0 ? 0 : dy.get(i));
        }
      },
      grad_input, grad_output, input);
  return error;
}

diopiError_t diopiTanhBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t output) {
  const diopiError_t error =
      real(&diopiTanhBackward)(ctx, grad_input, grad_output, output);
  spoil(
      "tanh backward: does not square", ctx,
      [](Elements g, Elements dy, Elements y) {
        for (int64_t i = 0; i < g.count; ++i) {
          g.set(i, dy.get(i) * (1 - std::fabs(y.get(i))));
        }
      },
      grad_input, grad_output, output);
  return error;
}

diopiError_t diopiSigmoidBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t output) {
  const diopiError_t error =
      real(&diopiSigmoidBackward)(ctx, grad_input, grad_output, output);
  spoil(
      "sigmoid backward: last element not written", ctx,
      [](Elements g) { g.setLast(1); }, grad_input);
  return error;
}

diopiError_t diopiSiluBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input) {
  const diopiError_t error =
      real(&diopiSiluBackward)(ctx, grad_input, grad_output, input);
  spoil(
      "silu backward: writes its gradient", ctx,
      [](Elements dy) { dy.set(0, dy.get(0) + 1); }, grad_output);
  return error;
}

diopiError_t diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim) {
  const diopiError_t error = real(&diopiSoftmax)(ctx, out, input, dim);
  spoil(
      "softmax: last row not normalised", ctx,
      [](Elements y) {
        const int64_t columns = y.sizes[y.ndim - 1];
        for (int64_t i = y.count - columns; i < y.count; ++i) {
          y.set(i, 1.5 * y.get(i));
        }
      },
      out);
  return error;
}

diopiError_t diopiSoftmaxBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t output,
                                  int64_t dim) {
  const diopiError_t error =
      real(&diopiSoftmaxBackward)(ctx, grad_input, grad_output, output, dim);
  spoil(
      "softmax backward: without the sum", ctx,
      [](Elements g, Elements dy, Elements y) {
        for (int64_t i = 0; i < g.count; ++i) g.set(i, dy.get(i) * y.get(i));
      },
      grad_input, grad_output, output);
  return error;
}

diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t grad_input,
                                     diopiConstTensorHandle_t grad_output,
                                     diopiConstTensorHandle_t output,
                                     int64_t dim) {
  const diopiError_t error =
      real(&diopiLogSoftmaxBackward)(ctx, grad_input, grad_output, output, dim);
  spoil(
      "log_softmax backward: without the sum", ctx,
      [](Elements g, Elements dy) {
        for (int64_t i = 0; i < g.count; ++i) g.set(i, dy.get(i));
      },
      grad_input, grad_output);
  return error;
}

diopiError_t diopiNLLLossV2(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t total_weight,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t target,
                            diopiConstTensorHandle_t weight,
                            diopiReduction_t reduction, int64_t ignore_index) {
  const bool ignored = planted("nll_loss: ignores weights");
  return real(&diopiNLLLossV2)(ctx, out, total_weight, input, target,
                               ignored ? nullptr : weight, reduction,
                               ignore_index);
}

diopiError_t diopiNLLLossV2Backward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t total_weight, diopiReduction_t reduction,
    int64_t ignore_index) {
  const diopiError_t error = real(&diopiNLLLossV2Backward)(
      ctx, grad_input, grad_output, input, target, weight, total_weight,
      reduction, ignore_index);
  spoil(
      "nll_loss backward: class off by one", ctx,
      [](Elements g) {
        const double first = g.get(0);
        for (int64_t i = 0; i + 1 < g.count; ++i) g.set(i, g.get(i + 1));
        g.setLast(first);
      },
      grad_input);
  return error;
}

diopiError_t diopiMSELoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target,
                          diopiReduction_t reduction) {
  return real(&diopiMSELoss)(
      ctx, out, input, target,
      planted("mse_loss: sum for mean") ? ReductionSum : reduction);
}

diopiError_t diopiMSELossBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t target,
                                  diopiReduction_t reduction) {
  const diopiError_t error = real(&diopiMSELossBackward)(
      ctx, grad_input, grad_output, input, target, reduction);
  spoil(
      "mse_loss backward: without the factor 2", ctx,
      [](Elements g) { g.scale(0.5); }, grad_input);
  return error;
}

}  // extern "C"
