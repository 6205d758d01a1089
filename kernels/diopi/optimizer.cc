// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's optimizers, foreach operators and loss scaling.
#include "kernels/compute/optimizer/optimizer.h"

#include <diopi/functions.h>

#include <vector>

#include "kernels/compute/optimizer/foreach.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::AdamOptions;
using dipu::kernels::AdamParameter;
using dipu::kernels::ForeachOp;
using dipu::kernels::Queue;
using dipu::kernels::TensorView;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::scalar;
using dipu::kernels::diopi::view;

template <typename Handle>
std::vector<TensorView> views(Handle* handles, int64_t count) {
  std::vector<TensorView> result;
  result.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) result.push_back(view(handles[i]));
  return result;
}

diopiError_t foreachScalar(const Queue& queue, ForeachOp op,
                           const std::vector<TensorView>& outs,
                           const std::vector<TensorView>& inputs,
                           const diopiScalar_t* other) {
  return done(dipu::kernels::foreachScalar(
      queue, op, outs.data(), inputs.data(), outs.size(), scalar(other)));
}

diopiError_t adamOne(const Queue& queue, const AdamParameter& parameter,
                     const AdamOptions& options, int64_t step) {
  return done(dipu::kernels::adam(queue, &parameter, 1, options, step));
}

}  // namespace

extern "C" {

diopiError_t diopiSgd(diopiContextHandle_t ctx, diopiTensorHandle_t param,
                      diopiTensorHandle_t grad, diopiTensorHandle_t buf,
                      double lr, double momentum, double dampening,
                      double weight_decay, bool nesterov) {
  return done(
      dipu::kernels::sgd(queueOf(ctx), view(param), view(grad), view(buf),
                         {lr, momentum, dampening, weight_decay, nesterov}));
}

diopiError_t diopiAdam(diopiContextHandle_t ctx, diopiTensorHandle_t param,
                       diopiConstTensorHandle_t grad,
                       diopiTensorHandle_t exp_avg,
                       diopiTensorHandle_t exp_avg_sq,
                       diopiTensorHandle_t max_exp_avg_sq, float lr,
                       float beta1, float beta2, float eps, float weight_decay,
                       int64_t step, bool amsgrad) {
  const AdamParameter parameter{view(param),          view(grad),
                                view(exp_avg),        view(exp_avg_sq),
                                view(max_exp_avg_sq), TensorView()};
  return adamOne(queueOf(ctx), parameter,
                 {lr, beta1, beta2, eps, weight_decay, false, amsgrad, false},
                 step);
}

diopiError_t diopiAdamW(diopiContextHandle_t ctx, diopiTensorHandle_t param,
                        diopiConstTensorHandle_t grad,
                        diopiTensorHandle_t exp_avg,
                        diopiTensorHandle_t exp_avg_sq,
                        diopiTensorHandle_t max_exp_avg_sq, float lr,
                        float beta1, float beta2, float eps, float weight_decay,
                        int64_t step, bool amsgrad) {
  const AdamParameter parameter{view(param),          view(grad),
                                view(exp_avg),        view(exp_avg_sq),
                                view(max_exp_avg_sq), TensorView()};
  return adamOne(queueOf(ctx), parameter,
                 {lr, beta1, beta2, eps, weight_decay, true, amsgrad, false},
                 step);
}

diopiError_t diopiFusedAdamW(
    diopiContextHandle_t ctx, diopiTensorHandle_t* params,
    diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
    diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
    diopiConstTensorHandle_t* state_steps, int64_t nums, double lr,
    double beta1, double beta2, double eps, double weight_decay, bool amsgrad,
    bool maximize) {
  std::vector<AdamParameter> parameters;
  parameters.reserve(static_cast<std::size_t>(nums));
  for (int64_t i = 0; i < nums; ++i) {
    parameters.push_back({view(params[i]), view(grads[i]), view(exp_avgs[i]),
                          view(exp_avg_sqs[i]),
                          amsgrad ? view(max_exp_avg_sqs[i]) : TensorView(),
                          view(state_steps[i])});
  }
  return done(dipu::kernels::adam(
      queueOf(ctx), parameters.data(), parameters.size(),
      {lr, beta1, beta2, eps, weight_decay, true, amsgrad, maximize}, 0));
}

diopiError_t diopiForeachaddScalar(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t* outs,
                                   diopiConstTensorHandle_t* inputs,
                                   int64_t inputSize,
                                   const diopiScalar_t* other) {
  return foreachScalar(queueOf(ctx), ForeachOp::kAdd, views(outs, inputSize),
                       views(inputs, inputSize), other);
}

diopiError_t diopiForeachaddInpScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* inputs,
                                      int64_t inputSize,
                                      const diopiScalar_t* other) {
  const auto list = views(inputs, inputSize);
  return foreachScalar(queueOf(ctx), ForeachOp::kAdd, list, list, other);
}

diopiError_t diopiForeachmulScalar(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t* outs,
                                   diopiConstTensorHandle_t* inputs,
                                   int64_t inputSize,
                                   const diopiScalar_t* other) {
  return foreachScalar(queueOf(ctx), ForeachOp::kMul, views(outs, inputSize),
                       views(inputs, inputSize), other);
}

diopiError_t diopiForeachmulInpScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* inputs,
                                      int64_t inputSize,
                                      const diopiScalar_t* other) {
  const auto list = views(inputs, inputSize);
  return foreachScalar(queueOf(ctx), ForeachOp::kMul, list, list, other);
}

diopiError_t diopiForeachmulTensor(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t* outs,
                                   diopiConstTensorHandle_t* inputs,
                                   int64_t inputSize,
                                   const diopiConstTensorHandle_t other) {
  const auto to = views(outs, inputSize);
  const auto from = views(inputs, inputSize);
  return done(dipu::kernels::foreachMulTensor(
      queueOf(ctx), to.data(), from.data(), to.size(), view(other)));
}

diopiError_t diopiForeachmulInpTensor(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* inputs,
                                      int64_t inputSize,
                                      const diopiConstTensorHandle_t other) {
  const auto list = views(inputs, inputSize);
  return done(dipu::kernels::foreachMulTensor(
      queueOf(ctx), list.data(), list.data(), list.size(), view(other)));
}

diopiError_t diopiForeachnormScalar(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t* outs,
                                    diopiConstTensorHandle_t* inputs,
                                    int64_t inputSize,
                                    const diopiScalar_t* ord) {
  const auto to = views(outs, inputSize);
  const auto from = views(inputs, inputSize);
  return done(dipu::kernels::foreachNorm(queueOf(ctx), to.data(), from.data(),
                                         to.size(), scalar(ord).d));
}

diopiError_t diopiAmpForeachNonFiniteCheckAndUnscaleInp(
    diopiContextHandle_t ctx, diopiTensorHandle_t* scaled_grads,
    int64_t num_scaled_grads, diopiTensorHandle_t found_inf,
    diopiConstTensorHandle_t inv_scale) {
  const auto list = views(scaled_grads, num_scaled_grads);
  return done(dipu::kernels::ampUnscale(queueOf(ctx), list.data(), list.size(),
                                        view(found_inf), view(inv_scale)));
}

diopiError_t diopiAmpUpdateScaleInp(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t current_scale,
                                    diopiTensorHandle_t growth_tracker,
                                    diopiConstTensorHandle_t found_inf,
                                    double scale_growth_factor,
                                    double scale_backoff_factor,
                                    int32_t growth_interval) {
  return done(dipu::kernels::ampUpdateScale(
      queueOf(ctx), view(current_scale), view(growth_tracker), view(found_inf),
      scale_growth_factor, scale_backoff_factor, growth_interval));
}

}  // extern "C"
