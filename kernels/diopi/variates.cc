// SPDX-License-Identifier: Apache-2.0
//
// Random functions that DIOPI lacks.
#include "kernels/compute/random/variates.h"

#include <diopi/functions_dipu.h>

#include "kernels/diopi/draw.h"

using dipu::kernels::Queue;
using dipu::kernels::RandomSource;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::draw;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiExtCauchyInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t inout, double median,
                               double sigma, diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::cauchy(queue, view(inout), median, sigma, source);
  });
}

diopiError_t diopiExtLogNormalInp(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t inout, double mean,
                                  double std,
                                  diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::logNormal(queue, view(inout), mean, std, source);
  });
}

diopiError_t diopiExtGeometricInp(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t inout, double p,
                                  diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::geometric(queue, view(inout), p, source);
  });
}

diopiError_t diopiExtPoisson(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t rate,
                             diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::poisson(queue, view(out), view(rate), source);
  });
}

diopiError_t diopiExtBinomial(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t count,
                              diopiConstTensorHandle_t prob,
                              diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::binomial(queue, view(out), view(count), view(prob),
                                   source);
  });
}

diopiError_t diopiExtStandardGamma(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t concentration,
                                   diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::standardGamma(queue, view(out), view(concentration),
                                        source);
  });
}

diopiError_t diopiExtDirichlet(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t concentration,
                               diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::dirichlet(queue, view(out), view(concentration),
                                    source);
  });
}

diopiError_t diopiExtStandardGammaGrad(diopiContextHandle_t ctx,
                                       diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t concentration,
                                       diopiConstTensorHandle_t sample) {
  return done(dipu::kernels::standardGammaGrad(
      queueOf(ctx), view(out), view(concentration), view(sample)));
}

diopiError_t diopiExtDirichletGrad(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t sample,
                                   diopiConstTensorHandle_t concentration,
                                   diopiConstTensorHandle_t total) {
  return done(dipu::kernels::dirichletGrad(
      queueOf(ctx), view(out), view(sample), view(concentration), view(total)));
}

}  // extern "C"
