// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's random functions. See Note [Who advances the generator] in
// kernels/compute/random/random.h.
#include "kernels/compute/random/random.h"

#include <diopi/functions.h>

#include "kernels/diopi/draw.h"

using dipu::kernels::Queue;
using dipu::kernels::RandomSource;
using dipu::kernels::diopi::draw;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiUniformInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t inout, double from, double to,
                             diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::uniform(queue, view(inout), from, to, source);
  });
}

diopiError_t diopiNormal(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         double mean, double std,
                         diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::normal(queue, view(out), mean, std, source);
  });
}

diopiError_t diopiNormalInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout,
                            double mean, double std,
                            diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::normal(queue, view(inout), mean, std, source);
  });
}

diopiError_t diopiNormalTensor(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t mean,
                               diopiConstTensorHandle_t std,
                               diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::normalOf(queue, view(out), view(mean), view(std),
                                   source);
  });
}

diopiError_t diopiNormalTensorScalar(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t mean, double std,
                                     diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::normalAround(queue, view(out), view(mean), std,
                                       source);
  });
}

diopiError_t diopiNormalScalarTensor(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t out, double mean,
                                     diopiConstTensorHandle_t std,
                                     diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::normalSpread(queue, view(out), mean, view(std),
                                       source);
  });
}

diopiError_t diopiBernoulli(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::bernoulliOf(queue, view(out), view(input), source);
  });
}

diopiError_t diopiBernoulliInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t inout,
                               diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::bernoulliOf(queue, view(inout), view(inout), source);
  });
}

diopiError_t diopiBernoulliScalar(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out, double p,
                                  diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::bernoulli(queue, view(out), p, source);
  });
}

// Without `to`, all integers from `from` on that int64 holds.
diopiError_t diopiRandomInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout,
                            int64_t from, const int64_t* to,
                            diopiGeneratorHandle_t generator) {
  const auto start = static_cast<uint64_t>(from);
  const uint64_t end =
      to == nullptr ? uint64_t{1} << 63 : static_cast<uint64_t>(*to);
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::randomIntegers(queue, view(inout), from, end - start,
                                         source);
  });
}

diopiError_t diopiRandperm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           int64_t /*n*/, diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::randomPermutation(queue, view(out), source);
  });
}

diopiError_t diopiMultinomial(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input,
                              int64_t /*num_samples*/, bool replacement,
                              diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::multinomial(queue, view(out), view(input),
                                      replacement, source);
  });
}

// Outside training nothing is dropped.
diopiError_t diopiDropout(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiTensorHandle_t mask,
                          diopiConstTensorHandle_t input, double p, bool train,
                          diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::dropout(queue, view(out), view(mask), view(input),
                                  train ? p : 0.0, source);
  });
}

diopiError_t diopiDropoutInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t input,
                             diopiTensorHandle_t mask, double p, bool train,
                             diopiGeneratorHandle_t generator) {
  const Queue queue = queueOf(ctx);
  return draw(generator, [&](RandomSource* source) {
    return dipu::kernels::dropout(queue, view(input), view(mask), view(input),
                                  train ? p : 0.0, source);
  });
}

}  // extern "C"
