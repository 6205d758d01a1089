// SPDX-License-Identifier: Apache-2.0
//
// Faults of optimizers, of operators on many tensors and of random numbers.
#include "tests/debug/faulty/spoil.h"

using namespace dipu::tests::faulty;  // NOLINT(build/namespaces)

namespace {

// More steps than any correction of the bias notices, and exact in float32.
constexpr double kManySteps = 1e6;

void addToSteps(diopiContextHandle_t ctx, diopiConstTensorHandle_t* steps,
                int64_t count, double addend) {
  for (int64_t i = 0; i < count; ++i) {
    spoil(
        "adamw: bias not corrected", ctx,
        [addend](Elements step) { step.set(0, step.get(0) + addend); },
        steps[i]);
  }
}

}  // namespace

extern "C" {

diopiError_t diopiFusedAdamW(
    diopiContextHandle_t ctx, diopiTensorHandle_t* params,
    diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
    diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
    diopiConstTensorHandle_t* state_steps, int64_t nums, double lr,
    double beta1, double beta2, double eps, double weight_decay, bool amsgrad,
    bool maximize) {
  addToSteps(ctx, state_steps, nums, kManySteps);
  const bool no_decay = planted("adamw: ignores weight decay");
  const diopiError_t error = real(&diopiFusedAdamW)(
      ctx, params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
      nums, lr, beta1, beta2, eps, no_decay ? 0 : weight_decay, amsgrad,
      maximize);
  addToSteps(ctx, state_steps, nums, -kManySteps);
  spoil(
      "adamw: second moments one per cent off", ctx,
      [](Elements v) { v.scale(1.01); }, exp_avg_sqs[0]);
  return error;
}

diopiError_t diopiExtFusedAdagrad(
    diopiContextHandle_t ctx, diopiTensorHandle_t* params,
    diopiConstTensorHandle_t* grads, diopiTensorHandle_t* state_sums,
    diopiConstTensorHandle_t* state_steps, int64_t nums, double lr,
    double lr_decay, double weight_decay, double eps, bool maximize) {
  const bool upwards = planted("adagrad: maximises");
  return real(&diopiExtFusedAdagrad)(ctx, params, grads, state_sums,
                                     state_steps, nums, lr, lr_decay,
                                     weight_decay, eps, maximize != upwards);
}

diopiError_t diopiForeachaddInpScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* inputs,
                                      int64_t count,
                                      const diopiScalar_t* other) {
  const bool short_list = planted("foreach add: forgets the last tensor");
  return real(&diopiForeachaddInpScalar)(ctx, inputs,
                                         count - (short_list ? 1 : 0), other);
}

diopiError_t diopiForeachmulInpScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t* inputs,
                                      int64_t count,
                                      const diopiScalar_t* other) {
  const diopiError_t error =
      real(&diopiForeachmulInpScalar)(ctx, inputs, count, other);
  spoil(
      "foreach mul: last tensor one per cent off", ctx,
      [](Elements x) { x.scale(1.01); }, inputs[count - 1]);
  return error;
}

diopiError_t diopiDropout(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiTensorHandle_t mask,
                          diopiConstTensorHandle_t input, double p, bool train,
                          diopiGeneratorHandle_t generator) {
  const bool rarer = planted("dropout: half the probability");
  const diopiError_t error = real(&diopiDropout)(
      ctx, out, mask, input, rarer ? p / 2 : p, train, generator);
  spoil(
      "dropout: does not scale", ctx, [p](Elements y) { y.scale(1 - p); }, out);
  return error;
}

diopiError_t diopiNormalInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout,
                            double mean, double std,
                            diopiGeneratorHandle_t generator) {
  const bool wider = planted("normal: variance for deviation");
  return real(&diopiNormalInp)(ctx, inout, mean, wider ? std * std : std,
                               generator);
}

diopiError_t diopiUniformInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t inout, double from, double to,
                             diopiGeneratorHandle_t generator) {
  const bool shifted = planted("uniform: starts at zero");
  return real(&diopiUniformInp)(ctx, inout, shifted ? 0 : from, to, generator);
}

diopiError_t diopiBernoulli(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiGeneratorHandle_t generator) {
  const diopiError_t error = real(&diopiBernoulli)(ctx, out, input, generator);
  spoil(
      "bernoulli: inverted", ctx,
      [](Elements y) { y.replace([](double v) { return 1 - v; }); }, out);
  return error;
}

}  // extern "C"
