// SPDX-License-Identifier: Apache-2.0
//
// Optimizers whose step depends on the gradients before, apart from Adam.
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include <vector>

#include "kernels/compute/optimizer/adagrad.h"
#include "kernels/compute/optimizer/adaptive.h"
#include "kernels/diopi/tensor_args.h"

using dipu::kernels::AdagradParameter;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiAdadelta(diopiContextHandle_t ctx, diopiTensorHandle_t param,
                           diopiConstTensorHandle_t grad,
                           diopiTensorHandle_t square_avg,
                           diopiTensorHandle_t acc_delta, float lr, float rho,
                           float eps, float weight_decay) {
  return done(dipu::kernels::adadelta(queueOf(ctx), view(param), view(grad),
                                      view(square_avg), view(acc_delta),
                                      {lr, rho, eps, weight_decay}));
}

diopiError_t diopiRmsprop(diopiContextHandle_t ctx, diopiTensorHandle_t param,
                          diopiConstTensorHandle_t grad,
                          diopiTensorHandle_t square_avg,
                          diopiTensorHandle_t grad_avg,
                          diopiTensorHandle_t momentum_buf, float lr,
                          float alpha, float eps, float weight_decay,
                          float momentum, bool centered) {
  return done(dipu::kernels::rmsprop(
      queueOf(ctx), view(param), view(grad), view(square_avg), view(grad_avg),
      view(momentum_buf), {lr, alpha, eps, weight_decay, momentum, centered}));
}

diopiError_t diopiExtFusedAdagrad(
    diopiContextHandle_t ctx, diopiTensorHandle_t* params,
    diopiConstTensorHandle_t* grads, diopiTensorHandle_t* state_sums,
    diopiConstTensorHandle_t* state_steps, int64_t nums, double lr,
    double lr_decay, double weight_decay, double eps, bool maximize) {
  std::vector<AdagradParameter> parameters;
  parameters.reserve(static_cast<std::size_t>(nums));
  for (int64_t i = 0; i < nums; ++i) {
    parameters.push_back({view(params[i]), view(grads[i]), view(state_sums[i]),
                          view(state_steps[i])});
  }
  return done(
      dipu::kernels::adagrad(queueOf(ctx), parameters.data(), parameters.size(),
                             {lr, lr_decay, weight_decay, eps, maximize}));
}

}  // extern "C"
