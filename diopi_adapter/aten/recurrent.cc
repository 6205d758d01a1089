// SPDX-License-Identifier: Apache-2.0
//
// Cells of LSTM and GRU. For an accelerator PyTorch reaches both through these
// four operators, once per time step, after the matrix products; neither DIOPI
// nor the CPU has them, so others express them. In 16 bits each of those rounds
// its result.
//
// The formulas are those in the documentation of torch.nn.LSTM (Hochreiter and
// Schmidhuber, 1997, with forget gates) and torch.nn.GRU (Cho et al., 2014,
// with the reset gate applied after the matrix product). With s the sigmoid, W
// x `input_gates`, U h `hidden_gates`, each with its bias, and N x H a state:
//
//   LSTM, gates i f g o:  i f o = s(Wx + Uh),  g = tanh(Wx + Uh)
//                         c' = f c + i g,  h' = o tanh(c')
//   GRU, gates r z n:     r z = s(Wx + Uh),  n = tanh(Wx + r Uh)
//                         h' = (1 - z) n + z h
//
// The gradients follow by the chain rule. A workspace carries from forward to
// backward what they need; nobody else reads it.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <tuple>
#include <utility>

#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"

namespace dipu::aten {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

constexpr int64_t kLstmGates = 4;
constexpr int64_t kGruGates = 3;
// r, z, n, h and the hidden side's share of n.
constexpr int64_t kGruSaved = 5;

bool isGiven(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

// What a cell is computed from, apart from its state.
struct Gates {
  const at::Tensor& input;
  const at::Tensor& hidden;
  const OptionalTensor& input_bias;
  const OptionalTensor& hidden_bias;
};

void checkSizes(const char* name, const Gates& gates, const at::Tensor& state,
                int64_t count) {
  TORCH_CHECK(gates.input.dim() == 2 && state.dim() == 2, name,
              ": gates and state must have two dimensions, batch and features, "
              "but have the sizes ",
              gates.input.sizes(), " and ", state.sizes());
  TORCH_CHECK(
      gates.input.sizes() == gates.hidden.sizes(), name,
      ": input_gates and hidden_gates must have the same size, but have ",
      gates.input.sizes(), " and ", gates.hidden.sizes());
  TORCH_CHECK(gates.input.size(0) == state.size(0) &&
                  gates.input.size(1) == count * state.size(1),
              name, ": for a state of size ", state.sizes(),
              " the gates must have the size [", state.size(0), ", ",
              count * state.size(1), "], but have ", gates.input.sizes());
  TORCH_CHECK(isGiven(gates.input_bias) == isGiven(gates.hidden_bias), name,
              ": give both input_bias and hidden_bias or neither");
  if (!isGiven(gates.input_bias)) return;
  for (const auto* bias : {&gates.input_bias, &gates.hidden_bias}) {
    TORCH_CHECK((*bias)->dim() == 1 && (*bias)->size(0) == gates.input.size(1),
                name, ": a bias must have the size [", gates.input.size(1),
                "], but has ", (*bias)->sizes());
  }
}

at::Tensor withBias(const at::Tensor& gates, const OptionalTensor& bias) {
  return isGiven(bias) ? at::add(gates, *bias) : gates;
}

// What a bias of the gates receives; undefined if there is none.
at::Tensor biasGradient(const at::Tensor& grad_gates, bool has_bias) {
  return has_bias ? at::sum(grad_gates, 0) : at::Tensor();
}

// Returns h', c' and the activated gates.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstmCell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates,
    const at::Tensor& cx, const OptionalTensor& input_bias,
    const OptionalTensor& hidden_bias) {
  checkSizes("_thnn_fused_lstm_cell",
             {input_gates, hidden_gates, input_bias, hidden_bias}, cx,
             kLstmGates);
  const at::Tensor gates = at::add(withBias(input_gates, input_bias),
                                   withBias(hidden_gates, hidden_bias));
  // All gates at once, and then g again: cheaper than three and a cat.
  at::Tensor workspace = at::sigmoid(gates);
  const auto activated = workspace.chunk(kLstmGates, 1);
  at::Tensor g = activated[2];
  at::tanh_out(g, gates.chunk(kLstmGates, 1)[2]);
  at::Tensor cy = at::addcmul(at::mul(activated[0], g), activated[1], cx);
  at::Tensor hy = at::mul(activated[3], at::tanh(cy));
  return {std::move(hy), std::move(cy), std::move(workspace)};
}

// Returns the gradients of the gates (both sides have the same), of c and of
// each bias. Without a gradient nothing has one.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstmCellBackward(
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy,
    const at::Tensor& cx, const at::Tensor& cy, const at::Tensor& workspace,
    bool has_bias) {
  if (!isGiven(grad_hy) && !isGiven(grad_cy)) return {};
  const auto gates = workspace.chunk(kLstmGates, 1);
  const at::Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
  at::Tensor grad_c = isGiven(grad_cy) ? *grad_cy : at::Tensor();
  at::Tensor grad_o;
  if (isGiven(grad_hy)) {
    const at::Tensor squashed = at::tanh(cy);
    const at::Tensor through_h =
        at::tanh_backward(at::mul(*grad_hy, o), squashed);
    grad_c = grad_c.defined() ? at::add(grad_c, through_h) : through_h;
    grad_o = at::sigmoid_backward(at::mul(*grad_hy, squashed), o);
  } else {
    grad_o = at::zeros_like(cy);
  }
  at::Tensor grad_gates =
      at::cat({at::sigmoid_backward(at::mul(grad_c, g), i),
               at::sigmoid_backward(at::mul(grad_c, cx), f),
               at::tanh_backward(at::mul(grad_c, i), g), grad_o},
              1);
  at::Tensor grad_bias = biasGradient(grad_gates, has_bias);
  return {std::move(grad_gates), at::mul(grad_c, f), std::move(grad_bias)};
}

// As OnCpu; either of the first two may be missing.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstmCellBackwardOnCpu(
    const OptionalTensor& grad_hy, const OptionalTensor& grad_cy,
    const at::Tensor& cx, const at::Tensor& cy, const at::Tensor& workspace,
    bool has_bias) {
  const ReferenceScope account("_thnn_fused_lstm_cell_backward_impl", cx);
  const auto back = [&cx](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(cx.device()) : tensor;
  };
  const auto [gates, c, bias] =
      lstmCellBackward(toCpu(grad_hy), toCpu(grad_cy), toCpu(cx), toCpu(cy),
                       toCpu(workspace), has_bias);
  return {back(gates), back(c), back(bias)};
}

// Returns h' and what kGruSaved names.
std::tuple<at::Tensor, at::Tensor> gruCell(const at::Tensor& input_gates,
                                           const at::Tensor& hidden_gates,
                                           const at::Tensor& hx,
                                           const OptionalTensor& input_bias,
                                           const OptionalTensor& hidden_bias) {
  checkSizes("_thnn_fused_gru_cell",
             {input_gates, hidden_gates, input_bias, hidden_bias}, hx,
             kGruGates);
  const int64_t size = hx.size(1);
  const at::Tensor input = withBias(input_gates, input_bias);
  const at::Tensor hidden = withBias(hidden_gates, hidden_bias);
  const at::Tensor rz = at::sigmoid(
      at::add(input.narrow(1, 0, 2 * size), hidden.narrow(1, 0, 2 * size)));
  const at::Tensor r = rz.narrow(1, 0, size);
  const at::Tensor z = rz.narrow(1, size, size);
  const at::Tensor hidden_n = hidden.narrow(1, 2 * size, size);
  const at::Tensor n =
      at::tanh(at::addcmul(input.narrow(1, 2 * size, size), r, hidden_n));
  return {at::addcmul(n, z, at::sub(hx, n)), at::cat({rz, n, hx, hidden_n}, 1)};
}

// Returns the gradients of the input gates, the hidden gates, h, the input bias
// and the hidden bias.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>
gruCellBackward(const at::Tensor& grad_hy, const at::Tensor& workspace,
                bool has_bias) {
  const auto saved = workspace.chunk(kGruSaved, 1);
  const at::Tensor &r = saved[0], &z = saved[1], &n = saved[2], &hx = saved[3],
                   &hidden_n = saved[4];
  at::Tensor grad_hx = at::mul(grad_hy, z);
  // grad_hy (1 - z) reaches n.
  const at::Tensor grad_n = at::tanh_backward(at::sub(grad_hy, grad_hx), n);
  const at::Tensor grad_r = at::sigmoid_backward(at::mul(grad_n, hidden_n), r);
  const at::Tensor grad_z =
      at::sigmoid_backward(at::mul(grad_hy, at::sub(hx, n)), z);
  at::Tensor grad_input = at::cat({grad_r, grad_z, grad_n}, 1);
  at::Tensor grad_hidden = at::cat({grad_r, grad_z, at::mul(grad_n, r)}, 1);
  at::Tensor grad_input_bias = biasGradient(grad_input, has_bias);
  at::Tensor grad_hidden_bias = biasGradient(grad_hidden, has_bias);
  return {std::move(grad_input), std::move(grad_hidden), std::move(grad_hx),
          std::move(grad_input_bias), std::move(grad_hidden_bias)};
}

}  // namespace

void registerRecurrent(torch::Library& library) {
  bindWithCpu<"_thnn_fused_lstm_cell", lstmCell>(library);
  bind<"_thnn_fused_lstm_cell_backward_impl", lstmCellBackward,
       lstmCellBackwardOnCpu>(library);
  bindWithCpu<"_thnn_fused_gru_cell", gruCell>(library);
  bindWithCpu<"_thnn_fused_gru_cell_backward", gruCellBackward>(library);
}

}  // namespace dipu::aten
