// SPDX-License-Identifier: Apache-2.0
//
// Activation functions that bend at a point, hard or smooth, with their
// derivatives. Floating tensors of any strides; float16 and bfloat16 are
// computed in float32. Inputs broadcast to the output, which may be one of
// them. Each call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// scale * (x < 0 ? alpha * (exp(input_scale * x) - 1) : x).
struct EluOptions {
  double alpha;
  double scale;
  double input_scale;
};
Status elu(const Queue& queue, const TensorView& out, const TensorView& input,
           const EluOptions& options);
// `saved` is the result of the forward function if `is_result`, else its input.
Status eluBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output, const TensorView& saved,
                   const EluOptions& options, bool is_result);

// Zero where |x| <= bound; elsewhere x, or x moved towards zero by the bound.
Status hardshrink(const Queue& queue, const TensorView& out,
                  const TensorView& input, double bound);
Status softshrink(const Queue& queue, const TensorView& out,
                  const TensorView& input, double bound);
// The derivative of both.
Status shrinkBackward(const Queue& queue, const TensorView& grad_input,
                      const TensorView& grad_output, const TensorView& input,
                      double bound);

// min(max(x + 3, 0), 6) / 6.
Status hardsigmoid(const Queue& queue, const TensorView& out,
                   const TensorView& input);
Status hardsigmoidBackward(const Queue& queue, const TensorView& grad_input,
                           const TensorView& grad_output,
                           const TensorView& input);

// log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.
Status softplus(const Queue& queue, const TensorView& out,
                const TensorView& input, double beta, double threshold);
Status softplusBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output, const TensorView& input,
                        double beta, double threshold);

// x tanh(log(1 + exp(x))).
Status mish(const Queue& queue, const TensorView& out, const TensorView& input);
Status mishBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input);

// log(sigmoid(x)). `buffer` receives exp(-|x|).
Status logSigmoid(const Queue& queue, const TensorView& out,
                  const TensorView& buffer, const TensorView& input);
// Computes what the buffer holds anew.
Status logSigmoidBackward(const Queue& queue, const TensorView& grad_input,
                          const TensorView& grad_output,
                          const TensorView& input);

// x > 0 ? x : weight * x, with a weight per element.
Status prelu(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& weight);
// `grad_weight` has the shape of the input, too.
Status preluBackward(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad_weight,
                     const TensorView& grad_output, const TensorView& input,
                     const TensorView& weight);

}  // namespace dipu::kernels
