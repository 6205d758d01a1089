# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU, whole and as single cells, forward and backward.

In float64, so that the tolerance leaves no room for a wrong term in a gradient.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 5, 6
TOLERANCE = 1e-9

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU}
CELLS = {"lstm": nn.LSTMCell, "gru": nn.GRUCell}
SHAPES = {
    "one_layer": {},
    "two_layers": {"num_layers": 2},
    "bidirectional": {"bidirectional": True},
    "two_layers_bidirectional": {"num_layers": 2, "bidirectional": True},
}

Tensors = list[torch.Tensor]


def random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, dtype=torch.float64)


def flatten(value: torch.Tensor | tuple) -> Tensors:
    """Output, h and, of an LSTM, c: however the module nests them."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flatten(part)]


def states(kind: str, *sizes: int) -> Tensors:
    return [random(*sizes) for _ in range(2 if kind == "lstm" else 1)]


def run(module: nn.Module, inputs: Tensors, weights: Tensors | None) -> Tensors:
    """Results of the module and every gradient of their weighted sum.

    Each result has weights of its own, so that no gradient hides another; those
    whose weights are None do not take part.
    """
    x, *state = (tensor.detach().requires_grad_() for tensor in inputs)
    results = flatten(module(x, tuple(state) if len(state) == 2 else state[0]))
    pairs = zip(results, weights, strict=True)
    torch.stack([(r * w).sum() for r, w in pairs if w is not None]).sum().backward()
    wanted = [x, *state, *module.parameters()]
    return [*(r.detach() for r in results), *(tensor.grad for tensor in wanted)]


def to(tensors: list[torch.Tensor | None], device: str) -> list[torch.Tensor | None]:
    return [tensor if tensor is None else tensor.to(device) for tensor in tensors]


def check(
    no_fallback, device: str, module: nn.Module, inputs: Tensors, skip: tuple = ()
) -> None:
    with torch.no_grad():
        x, *state = inputs
        results = flatten(module(x, tuple(state) if len(state) == 2 else state[0]))
    weights = [None if i in skip else random(*r.shape) for i, r in enumerate(results)]
    there = copy.deepcopy(module).to(device)
    expected = run(module, inputs, weights)
    inputs, weights = to(inputs, device), to(weights, device)
    with no_fallback():
        got = run(there, inputs, weights)
    for a, b in zip(got, expected, strict=True):
        assert a.device.type == device
        torch.testing.assert_close(a.cpu(), b, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", LAYERS)
def test_layers(no_fallback, device: str, kind: str, shape: str, bias: bool) -> None:
    options = SHAPES[shape]
    module = LAYERS[kind](INPUTS, HIDDEN, bias=bias, **options).double()
    count = options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)
    inputs = [random(STEPS, BATCH, INPUTS), *states(kind, count, BATCH, HIDDEN)]
    check(no_fallback, device, module, inputs)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("kind", CELLS)
def test_cells(no_fallback, device: str, kind: str, bias: bool) -> None:
    module = CELLS[kind](INPUTS, HIDDEN, bias=bias).double()
    inputs = [random(BATCH, INPUTS), *states(kind, BATCH, HIDDEN)]
    check(no_fallback, device, module, inputs)


@pytest.mark.parametrize("unused", [0, 1], ids=["hidden", "cell"])
def test_lstm_state_without_a_gradient(no_fallback, device: str, unused: int) -> None:
    module = nn.LSTMCell(INPUTS, HIDDEN).double()
    inputs = [random(BATCH, INPUTS), *states("lstm", BATCH, HIDDEN)]
    check(no_fallback, device, module, inputs, skip=(unused,))


@pytest.mark.parametrize("kind", LAYERS)
def test_batch_first_without_an_initial_state(
    no_fallback, device: str, kind: str
) -> None:
    module = LAYERS[kind](INPUTS, HIDDEN, batch_first=True).double()
    x = random(BATCH, STEPS, INPUTS)
    expected, _ = module(x)
    there, y = module.to(device), x.to(device)
    with no_fallback(), torch.no_grad():
        got, _ = there(y)
    torch.testing.assert_close(
        got.cpu(), expected.detach(), rtol=TOLERANCE, atol=TOLERANCE
    )


def test_gates_of_another_size_than_the_state_are_refused(device: str) -> None:
    gates = torch.zeros(BATCH, 4 * HIDDEN, device=device)
    state = torch.zeros(BATCH, HIDDEN + 1, device=device)
    with pytest.raises(RuntimeError, match="the gates must have the size"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, state)


def test_one_bias_without_the_other_is_refused(device: str) -> None:
    gates = torch.zeros(BATCH, 3 * HIDDEN, device=device)
    state = torch.zeros(BATCH, HIDDEN, device=device)
    with pytest.raises(RuntimeError, match="both input_bias and hidden_bias"):
        torch.ops.aten._thnn_fused_gru_cell(gates, gates, state, gates[0])
