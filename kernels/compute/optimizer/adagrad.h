// SPDX-License-Identifier: Apache-2.0
//
// One step of Adagrad (Duchi et al., 2011) for many parameters; otherwise as
// optimizer.h.
#pragma once

#include <cstddef>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct AdagradOptions {
  double lr;
  double lr_decay;
  double weight_decay;
  double eps;
  bool maximize;
};

struct AdagradParameter {
  TensorView parameter;
  TensorView gradient;
  TensorView state_sum;
  TensorView step;  // scalar: number of this step, from 1
};

// Steps are read when the work runs.
Status adagrad(const Queue& queue, const AdagradParameter* parameters,
               std::size_t count, const AdagradOptions& options);

}  // namespace dipu::kernels
