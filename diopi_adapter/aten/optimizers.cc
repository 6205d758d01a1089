// SPDX-License-Identifier: Apache-2.0
//
// Fused optimizers that DIOPI has no function of the same kind for, and the
// operators of torch.amp.GradScaler. The _foreach_* operators need no kernels:
// PyTorch decomposes them into operators on single tensors, which are native.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale_ops.h>
#include <ATen/ops/_amp_update_scale_ops.h>
#include <ATen/ops/_fused_adagrad_ops.h>
#include <ATen/ops/_fused_adam_ops.h>
#include <ATen/ops/_fused_adamw_ops.h>
#include <ATen/ops/_fused_sgd_ops.h>

#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::In;
using adapter::noteRefusal;
using adapter::Out;
using adapter::symbols;
using adapter::TensorArray;
using OptionalTensor = std::optional<at::Tensor>;

// The tensor lists of Adam, in the order of the schema.
struct AdamState {
  at::TensorList parameters;
  at::TensorList exp_avgs;
  at::TensorList exp_avg_sqs;
  at::TensorList max_exp_avg_sqs;
  at::TensorList steps;
};

struct AdamOptions {
  double lr;
  double beta1;
  double beta2;
  double weight_decay;
  double eps;
  bool amsgrad;
  bool maximize;
};

bool isGiven(const OptionalTensor& tensor) {
  return tensor && tensor->defined();
}

// DIOPI's optimizers know nothing of GradScaler's tensors.
bool isUnscaled(const OptionalTensor& grad_scale,
                const OptionalTensor& found_inf) {
  return (!isGiven(grad_scale) && !isGiven(found_inf)) ||
         noteRefusal("gradient scaling inside the optimizer is not native");
}

// One step of AdamW with decoupled weight decay.
bool stepNatively(const char* label, const AdamState& state,
                  at::TensorList gradients, const AdamOptions& options) {
  const auto function = symbols().diopiFusedAdamW;
  if (function == nullptr) {
    return noteRefusal("the vendor's operator library lacks diopiFusedAdamW");
  }
  if (state.parameters.empty()) return true;
  CallContext context(state.parameters[0].device().index());
  TensorArray maxima(state.max_exp_avg_sqs, true);
  const diopiError_t status = function(
      context, TensorArray(state.parameters, true),
      TensorArray(gradients, false), TensorArray(state.exp_avgs, true),
      TensorArray(state.exp_avg_sqs, true),
      options.amsgrad ? static_cast<diopiTensorHandle_t*>(maxima) : nullptr,
      TensorArray(state.steps, false),
      static_cast<int64_t>(state.parameters.size()), options.lr, options.beta1,
      options.beta2, options.eps, options.weight_decay, options.amsgrad,
      options.maximize);
  if (!context.accept(status, label, {&state.parameters[0]})) return false;
  fallback::countNative(label);
  return true;
}

// Adam's weight decay is a part of the gradient.
std::vector<at::Tensor> decayedGradients(const AdamState& state,
                                         at::TensorList gradients,
                                         const AdamOptions& options) {
  std::vector<at::Tensor> result;
  result.reserve(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor gradient =
        options.maximize ? gradients[i].neg() : gradients[i];
    result.push_back(gradient.add(state.parameters[i], options.weight_decay));
  }
  return result;
}

void fusedAdam(at::TensorList self, at::TensorList grads,
               at::TensorList exp_avgs, at::TensorList exp_avg_sqs,
               at::TensorList max_exp_avg_sqs, at::TensorList state_steps,
               double lr, double beta1, double beta2, double weight_decay,
               double eps, bool amsgrad, bool maximize,
               const OptionalTensor& grad_scale,
               const OptionalTensor& found_inf) {
  const AdamState state{self, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                        state_steps};
  AdamOptions options{lr, beta1, beta2, weight_decay, eps, amsgrad, maximize};
  std::vector<at::Tensor> decayed;
  at::TensorList gradients = grads;
  if (isUnscaled(grad_scale, found_inf) &&
      symbols().diopiFusedAdamW != nullptr && weight_decay != 0) {
    decayed = decayedGradients(state, grads, options);
    gradients = decayed;
    options.maximize = false;
    options.weight_decay = 0;
  }
  if (isUnscaled(grad_scale, found_inf) &&
      stepNatively("_fused_adam_", state, gradients, options)) {
    return;
  }
  onCpu<at::_ops::_fused_adam_>(self, grads, exp_avgs, exp_avg_sqs,
                                max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                                weight_decay, eps, amsgrad, maximize,
                                grad_scale, found_inf);
}

// One step for one parameter, in native operators. `buffer` is undefined
// without momentum.
void stepSgd(const at::Tensor& parameter, at::Tensor gradient,
             const at::Tensor& buffer, double weight_decay, double momentum,
             double lr, double dampening, bool nesterov, bool maximize,
             bool is_first_step) {
  if (maximize) gradient = gradient.neg();
  if (weight_decay != 0) gradient = gradient.add(parameter, weight_decay);
  if (buffer.defined()) {
    if (is_first_step) {
      buffer.copy_(gradient);
    } else {
      buffer.mul_(momentum).add_(gradient, 1 - dampening);
    }
    gradient = nesterov ? gradient.add(buffer, momentum) : buffer;
  }
  parameter.add_(gradient, -lr);
}

void fusedSgd(at::TensorList self, at::TensorList grads,
              at::TensorList momentum_buffer_list, double weight_decay,
              double momentum, double lr, double dampening, bool nesterov,
              bool maximize, bool is_first_step,
              const OptionalTensor& grad_scale,
              const OptionalTensor& found_inf) {
  if (!isUnscaled(grad_scale, found_inf)) {
    onCpu<at::_ops::_fused_sgd_>(
        self, grads, momentum_buffer_list, weight_decay, momentum, lr,
        dampening, nesterov, maximize, is_first_step, grad_scale, found_inf);
    return;
  }
  for (std::size_t i = 0; i < self.size(); ++i) {
    const at::Tensor buffer =
        momentum == 0 ? at::Tensor() : momentum_buffer_list[i];
    stepSgd(self[i], grads[i], buffer, weight_decay, momentum, lr, dampening,
            nesterov, maximize, is_first_step);
  }
}

// Learning rates in tensors. DIOPI takes numbers, so one on the device is
// waited for.
void fusedAdamTensorRate(at::TensorList self, at::TensorList grads,
                         at::TensorList exp_avgs, at::TensorList exp_avg_sqs,
                         at::TensorList max_exp_avg_sqs,
                         at::TensorList state_steps, const at::Tensor& lr,
                         double beta1, double beta2, double weight_decay,
                         double eps, bool amsgrad, bool maximize,
                         const OptionalTensor& grad_scale,
                         const OptionalTensor& found_inf) {
  at::_ops::_fused_adam_::call(self, grads, exp_avgs, exp_avg_sqs,
                               max_exp_avg_sqs, state_steps, lr.item<double>(),
                               beta1, beta2, weight_decay, eps, amsgrad,
                               maximize, grad_scale, found_inf);
  fallback::countNative("_fused_adam_.tensor_lr");
}

void fusedAdamWTensorRate(at::TensorList self, at::TensorList grads,
                          at::TensorList exp_avgs, at::TensorList exp_avg_sqs,
                          at::TensorList max_exp_avg_sqs,
                          at::TensorList state_steps, const at::Tensor& lr,
                          double beta1, double beta2, double weight_decay,
                          double eps, bool amsgrad, bool maximize,
                          const OptionalTensor& grad_scale,
                          const OptionalTensor& found_inf) {
  at::_ops::_fused_adamw_::call(self, grads, exp_avgs, exp_avg_sqs,
                                max_exp_avg_sqs, state_steps, lr.item<double>(),
                                beta1, beta2, weight_decay, eps, amsgrad,
                                maximize, grad_scale, found_inf);
  fallback::countNative("_fused_adamw_.tensor_lr");
}

void fusedSgdTensorRate(at::TensorList self, at::TensorList grads,
                        at::TensorList momentum_buffer_list,
                        double weight_decay, double momentum,
                        const at::Tensor& lr, double dampening, bool nesterov,
                        bool maximize, bool is_first_step,
                        const OptionalTensor& grad_scale,
                        const OptionalTensor& found_inf) {
  at::_ops::_fused_sgd_::call(self, grads, momentum_buffer_list, weight_decay,
                              momentum, lr.item<double>(), dampening, nesterov,
                              maximize, is_first_step, grad_scale, found_inf);
  fallback::countNative("_fused_sgd_.tensor_lr");
}

void fusedAdagradTensorRate(at::TensorList self, at::TensorList grads,
                            at::TensorList state_sums,
                            at::TensorList state_steps, const at::Tensor& lr,
                            double lr_decay, double weight_decay, double eps,
                            bool maximize, const OptionalTensor& grad_scale,
                            const OptionalTensor& found_inf) {
  at::_ops::_fused_adagrad_::call(self, grads, state_sums, state_steps,
                                  lr.item<double>(), lr_decay, weight_decay,
                                  eps, maximize, grad_scale, found_inf);
  fallback::countNative("_fused_adagrad_.tensor_lr");
}

void ampUnscale(at::TensorList self, at::Tensor& found_inf,
                const at::Tensor& inv_scale) {
  const auto function = symbols().diopiAmpForeachNonFiniteCheckAndUnscaleInp;
  constexpr char kLabel[] = "_amp_foreach_non_finite_check_and_unscale_";
  if (self.empty()) return;
  if (function == nullptr) {
    noteRefusal(kLacksFunction);
  } else {
    CallContext context(found_inf.device().index());
    if (context.accept(function(context, TensorArray(self, true),
                                static_cast<int64_t>(self.size()),
                                Out(found_inf), In(inv_scale)),
                       kLabel, {&found_inf})) {
      fallback::countNative(kLabel);
      return;
    }
  }
  onCpu<at::_ops::_amp_foreach_non_finite_check_and_unscale_>(self, found_inf,
                                                              inv_scale);
}

at::Tensor& ampUpdateScale(at::Tensor& self, at::Tensor& growth_tracker,
                           const at::Tensor& found_inf, double growth_factor,
                           double backoff_factor, int64_t growth_interval) {
  const auto function = symbols().diopiAmpUpdateScaleInp;
  constexpr char kLabel[] = "_amp_update_scale_";
  if (function == nullptr) {
    noteRefusal(kLacksFunction);
  } else {
    CallContext context(self.device().index());
    if (context.accept(function(context, Out(self), Out(growth_tracker),
                                In(found_inf), growth_factor, backoff_factor,
                                static_cast<int32_t>(growth_interval)),
                       kLabel, {&self})) {
      fallback::countNative(kLabel);
      return self;
    }
  }
  onCpu<at::_ops::_amp_update_scale_>(self, growth_tracker, found_inf,
                                      growth_factor, backoff_factor,
                                      growth_interval);
  return self;
}

}  // namespace

void registerOptimizers(torch::Library& library) {
  bind<"_fused_adam_", fusedAdam>(library);
  bind<"_fused_sgd_", fusedSgd>(library);
  bind<"_fused_adam_.tensor_lr", fusedAdamTensorRate>(library);
  bind<"_fused_adamw_.tensor_lr", fusedAdamWTensorRate>(library);
  bind<"_fused_sgd_.tensor_lr", fusedSgdTensorRate>(library);
  bind<"_fused_adagrad_.tensor_lr", fusedAdagradTensorRate>(library);
  bind<"_amp_foreach_non_finite_check_and_unscale_", ampUnscale>(library);
  bind<"_amp_update_scale_", ampUpdateScale>(library);
}

}  // namespace dipu::aten
