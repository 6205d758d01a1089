// SPDX-License-Identifier: Apache-2.0
//
// What `cpu_reference:` names in ops.yaml: functions that compute operators on
// the CPU which the CPU has no kernel for. Each has the arguments and results
// of its operator. With tensors of the device it is a counted fallback that
// waits for the device; with tensors of the CPU nothing is counted.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace dipu::reference {

using OptionalTensor = std::optional<at::Tensor>;

// The parts of a batch normalization over several devices. Inputs have their
// channels in dimension 1; statistics of 16-bit inputs are float32.

// Mean and 1 / deviation of each channel.
std::tuple<at::Tensor, at::Tensor> batchNormStats(const at::Tensor& input,
                                                  double eps);

// (input - mean) * invstd * weight + bias. `invstd` holds eps already.
at::Tensor batchNormElemt(const at::Tensor& input, const OptionalTensor& weight,
                          const OptionalTensor& bias, const at::Tensor& mean,
                          const at::Tensor& invstd, double eps);

// Statistics of all devices from those of each, [devices, channels], and the
// numbers of elements per channel that each has. Updates the running ones.
std::tuple<at::Tensor, at::Tensor> batchNormGatherStatsWithCounts(
    const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const OptionalTensor& running_mean, const OptionalTensor& running_var,
    double momentum, double eps, const at::Tensor& counts);

// The sums of grad_out and of grad_out * (input - mean), and the gradients of
// weight and bias. All are computed, wanted or not.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>
batchNormBackwardReduce(const at::Tensor& grad_out, const at::Tensor& input,
                        const at::Tensor& mean, const at::Tensor& invstd,
                        const OptionalTensor& weight, bool input_g,
                        bool weight_g, bool bias_g);

// The gradient of the input, from the sums over all devices and the numbers of
// elements per channel that each has.
at::Tensor batchNormBackwardElemt(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
    const at::Tensor& invstd, const OptionalTensor& weight,
    const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
    const at::Tensor& count);

}  // namespace dipu::reference
