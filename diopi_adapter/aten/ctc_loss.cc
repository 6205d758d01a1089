// SPDX-License-Identifier: Apache-2.0
//
// Connectionist temporal classification. DIOPI takes the lengths as tensors of
// the device, torch mostly as numbers.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_ctc_loss_backward_ops.h>
#include <ATen/ops/_ctc_loss_ops.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

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

constexpr char kForward[] = "_ctc_loss";
constexpr char kBackward[] = "_ctc_loss_backward";

std::vector<int64_t> onHost(const at::Tensor& lengths) {
  TORCH_CHECK(at::isIntegralType(lengths.scalar_type(), /*includeBool=*/false),
              "ctc_loss: lengths must be of integral type, but are ",
              lengths.scalar_type());
  const at::Tensor copy = lengths.to(at::kCPU, at::kLong).contiguous();
  const auto* data = copy.const_data_ptr<int64_t>();
  return {data, data + copy.numel()};
}

int64_t longest(at::IntArrayRef lengths) {
  return lengths.empty() ? 0
                         : *std::max_element(lengths.begin(), lengths.end());
}

// What the device cannot check without being waited for.
void checkArguments(const at::Tensor& log_probs, const at::Tensor& targets,
                    at::IntArrayRef input_lengths,
                    at::IntArrayRef target_lengths, int64_t blank) {
  TORCH_CHECK(log_probs.dim() == 3,
              "ctc_loss: log_probs must be of time, batch and class, but have "
              "the sizes ",
              log_probs.sizes());
  const int64_t batch = log_probs.size(1);
  TORCH_CHECK(
      targets.scalar_type() == at::kLong || targets.scalar_type() == at::kInt,
      "ctc_loss: targets must be int64 or int32, but are ",
      targets.scalar_type());
  TORCH_CHECK(0 <= blank && blank < log_probs.size(2),
              "blank must be in label range");
  TORCH_CHECK(static_cast<int64_t>(input_lengths.size()) == batch,
              "input_lengths must be of size batch_size");
  TORCH_CHECK(static_cast<int64_t>(target_lengths.size()) == batch,
              "target_lengths must be of size batch_size");
  TORCH_CHECK(longest(input_lengths) <= log_probs.size(0),
              "Expected input_lengths to have value at most ",
              log_probs.size(0), ", but got value ", longest(input_lengths));
  for (const auto& lengths : {input_lengths, target_lengths}) {
    for (const int64_t length : lengths) {
      TORCH_CHECK(length >= 0,
                  "ctc_loss: expected lengths of at least 0, but "
                  "got ",
                  length);
    }
  }
  if (targets.dim() == 1) {
    const int64_t labels = std::accumulate(target_lengths.begin(),
                                           target_lengths.end(), int64_t{0});
    TORCH_CHECK(targets.size(0) == labels, "ctc_loss: expected ", labels,
                " joined targets, but got ", targets.size(0));
    return;
  }
  TORCH_CHECK(targets.dim() == 2 && targets.size(0) == batch &&
                  targets.size(1) >= longest(target_lengths),
              "ctc_loss: expected targets of at least the sizes [", batch, ", ",
              longest(target_lengths), "], but got ", targets.sizes());
}

using Losses = std::tuple<at::Tensor, at::Tensor>;

bool loseNatively(const char* label, const Losses& losses,
                  const at::Tensor& log_probs, const at::Tensor& targets,
                  at::IntArrayRef input_lengths, at::IntArrayRef target_lengths,
                  int64_t blank) {
  const auto function = symbols().diopiCTCLoss;
  if (function == nullptr) {
    return noteRefusal("the vendor's operator library lacks diopiCTCLoss");
  }
  const at::Device device = log_probs.device();
  const at::Tensor inputs = at::tensor(input_lengths).to(device);
  const at::Tensor labels = at::tensor(target_lengths).to(device);
  const auto& [loss, alpha] = losses;
  // DIOPI reduces too; without reduction that is a copy.
  const at::Tensor copy = at::empty_like(loss);
  CallContext context(device.index());
  if (!context.accept(
          function(context, Out(copy), Out(loss), Out(alpha), In(log_probs),
                   In(targets), In(inputs), In(labels), blank, ReductionNone,
                   /*zero_infinity=*/false),
          label, {&log_probs, &targets})) {
    return false;
  }
  fallback::countNative(label);
  return true;
}

Losses ctcLoss(const char* label, const at::Tensor& log_probs,
               const at::Tensor& targets, at::IntArrayRef input_lengths,
               at::IntArrayRef target_lengths, int64_t blank,
               bool zero_infinity) {
  checkArguments(log_probs, targets, input_lengths, target_lengths, blank);
  const int64_t batch = log_probs.size(1);
  const Losses losses{
      at::empty({batch}, log_probs.options()),
      at::empty({batch, log_probs.size(0), 2 * longest(target_lengths) + 1},
                log_probs.options())};
  if (loseNatively(label, losses, log_probs, targets, input_lengths,
                   target_lengths, blank)) {
    return losses;
  }
  return onCpu<at::_ops::_ctc_loss>(log_probs, targets, input_lengths,
                                    target_lengths, blank, zero_infinity);
}

Losses ctcLossOfNumbers(const at::Tensor& log_probs, const at::Tensor& targets,
                        at::IntArrayRef input_lengths,
                        at::IntArrayRef target_lengths, int64_t blank,
                        bool zero_infinity) {
  return ctcLoss(kForward, log_probs, targets, input_lengths, target_lengths,
                 blank, zero_infinity);
}

Losses ctcLossOfTensors(const at::Tensor& log_probs, const at::Tensor& targets,
                        const at::Tensor& input_lengths,
                        const at::Tensor& target_lengths, int64_t blank,
                        bool zero_infinity) {
  return ctcLoss("_ctc_loss.Tensor", log_probs, targets, onHost(input_lengths),
                 onHost(target_lengths), blank, zero_infinity);
}

// The arguments of the gradient that both forms share.
struct Saved {
  const at::Tensor& grad;
  const at::Tensor& log_probs;
  const at::Tensor& targets;
  const at::Tensor& losses;
  const at::Tensor& alphas;
};

bool deriveNatively(const char* label, const at::Tensor& grad_input,
                    const Saved& saved, at::IntArrayRef input_lengths,
                    at::IntArrayRef target_lengths, int64_t blank,
                    bool zero_infinity) {
  const auto function = symbols().diopiCTCLossBackward;
  if (function == nullptr) {
    return noteRefusal(
        "the vendor's operator library lacks diopiCTCLossBackward");
  }
  const at::Device device = saved.log_probs.device();
  const at::Tensor inputs = at::tensor(input_lengths).to(device);
  const at::Tensor labels = at::tensor(target_lengths).to(device);
  CallContext context(device.index());
  if (!context.accept(
          function(context, Out(grad_input), In(saved.grad),
                   In(saved.log_probs), In(saved.targets), In(inputs),
                   In(labels), In(saved.losses), In(saved.alphas), blank,
                   ReductionNone, zero_infinity),
          label, {&saved.grad, &saved.log_probs})) {
    return false;
  }
  fallback::countNative(label);
  return true;
}

at::Tensor ctcLossBackward(const char* label, const Saved& saved,
                           at::IntArrayRef input_lengths,
                           at::IntArrayRef target_lengths, int64_t blank,
                           bool zero_infinity) {
  checkArguments(saved.log_probs, saved.targets, input_lengths, target_lengths,
                 blank);
  at::Tensor grad_input =
      at::empty_like(saved.log_probs, at::MemoryFormat::Contiguous);
  if (deriveNatively(label, grad_input, saved, input_lengths, target_lengths,
                     blank, zero_infinity)) {
    return grad_input;
  }
  return onCpu<at::_ops::_ctc_loss_backward>(
      saved.grad, saved.log_probs, saved.targets, input_lengths, target_lengths,
      saved.losses, saved.alphas, blank, zero_infinity);
}

at::Tensor ctcBackwardOfNumbers(
    const at::Tensor& grad, const at::Tensor& log_probs,
    const at::Tensor& targets, at::IntArrayRef input_lengths,
    at::IntArrayRef target_lengths, const at::Tensor& neg_log_likelihood,
    const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return ctcLossBackward(
      kBackward, {grad, log_probs, targets, neg_log_likelihood, log_alpha},
      input_lengths, target_lengths, blank, zero_infinity);
}

at::Tensor ctcBackwardOfTensors(
    const at::Tensor& grad, const at::Tensor& log_probs,
    const at::Tensor& targets, const at::Tensor& input_lengths,
    const at::Tensor& target_lengths, const at::Tensor& neg_log_likelihood,
    const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return ctcLossBackward(
      "_ctc_loss_backward.Tensor",
      {grad, log_probs, targets, neg_log_likelihood, log_alpha},
      onHost(input_lengths), onHost(target_lengths), blank, zero_infinity);
}

}  // namespace

void registerCtcLoss(torch::Library& library) {
  bind<"_ctc_loss", ctcLossOfNumbers>(library);
  bind<"_ctc_loss.Tensor", ctcLossOfTensors>(library);
  bind<"_ctc_loss_backward", ctcBackwardOfNumbers>(library);
  bind<"_ctc_loss_backward.Tensor", ctcBackwardOfTensors>(library);
}

}  // namespace dipu::aten
