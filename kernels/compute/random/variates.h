// SPDX-License-Identifier: Apache-2.0
//
// Random numbers of further distributions, and derivatives of gamma and
// Dirichlet variates by their parameters.
//
// Computed in float64, rounded once. Tensors of a call have the same sizes,
// any strides, and float32, float64, float16 or bfloat16 where nothing else is
// said. Functions with a RandomSource draw as Note [Who advances the generator]
// in random.h says. Every function enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/random/random.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// By inversion; two numbers per element. geometric() counts trials up to the
// first success, from 1 on, in any dtype but bool.
Status cauchy(const Queue& queue, const TensorView& out, double median,
              double sigma, RandomSource* source);
Status logNormal(const Queue& queue, const TensorView& out, double mean,
                 double deviation, RandomSource* source);
Status geometric(const Queue& queue, const TensorView& out, double probability,
                 RandomSource* source);

// One element of the parameters each. They take a fixed quantity of numbers,
// see Note [Numbers by element]. A rate that is negative or not finite fails on
// the device, and so does an infinite count; other counts and probabilities
// without a distribution are replaced by the nearest with one.
Status poisson(const Queue& queue, const TensorView& out,
               const TensorView& rate, RandomSource* source);
Status binomial(const Queue& queue, const TensorView& out,
                const TensorView& count, const TensorView& probability,
                RandomSource* source);
// Never less than the smallest normal number of the dtype.
Status standardGamma(const Queue& queue, const TensorView& out,
                     const TensorView& concentration, RandomSource* source);
// Gamma variates divided by their sum along the last dimension.
Status dirichlet(const Queue& queue, const TensorView& out,
                 const TensorView& concentration, RandomSource* source);

// The derivative of a gamma variate `sample` by its concentration:
// -(dF/da) / (dF/dx), F being the distribution function.
Status standardGammaGrad(const Queue& queue, const TensorView& out,
                         const TensorView& concentration,
                         const TensorView& sample);
// The same of a beta variate with parameters concentration and total -
// concentration, divided by 1 - sample.
Status dirichletGrad(const Queue& queue, const TensorView& out,
                     const TensorView& sample, const TensorView& concentration,
                     const TensorView& total);

}  // namespace dipu::kernels
