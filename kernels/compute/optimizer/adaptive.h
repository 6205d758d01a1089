// SPDX-License-Identifier: Apache-2.0
//
// One step of RMSprop (Hinton, 2012) or Adadelta (Zeiler, 2012) for one
// parameter; otherwise as optimizer.h.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct RmspropOptions {
  double lr;
  double alpha;
  double eps;
  double weight_decay;
  double momentum;
  bool centered;
};

// `average` may be undefined unless the step is centered, and `buffer` without
// momentum.
Status rmsprop(const Queue& queue, const TensorView& parameter,
               const TensorView& gradient, const TensorView& square,
               const TensorView& average, const TensorView& buffer,
               const RmspropOptions& options);

struct AdadeltaOptions {
  double lr;
  double rho;
  double eps;
  double weight_decay;
};

// `square` and `change` are the running means of the squares of gradients and
// of steps.
Status adadelta(const Queue& queue, const TensorView& parameter,
                const TensorView& gradient, const TensorView& square,
                const TensorView& change, const AdadeltaOptions& options);

}  // namespace dipu::kernels
