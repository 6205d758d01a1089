# SPDX-License-Identifier: Apache-2.0
"""Activation functions: values and gradients are those of the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.conformance.both_sides import compare, gradients
from tests.conformance.comparing import DEVICE, assert_near
from tests.conformance.conftest import Expectation
from tests.conformance.inputs import FLOATS, LAYOUTS

aten = torch.ops.aten

# By name of the operator: a call and the operator of its gradient.
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "elu": (lambda x: F.elu(x, 1.3), "elu_backward"),
    "hardshrink": (lambda x: F.hardshrink(x, 0.6), "hardshrink_backward"),
    "hardsigmoid": (F.hardsigmoid, "hardsigmoid_backward"),
    "softshrink": (lambda x: F.softshrink(x, 0.6), "softshrink_backward"),
    "softplus": (lambda x: F.softplus(x, 1.5, 4.0), "softplus_backward"),
    "mish": (F.mish, "mish_backward"),
    "log_sigmoid_forward": (F.logsigmoid, "log_sigmoid_backward"),
    "glu": (lambda x: F.glu(x, -1), "glu_backward"),
}
INPLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "elu_": lambda x: F.elu_(x, 1.3),
    "hardsigmoid_": lambda x: F.hardsigmoid(x, inplace=True),
    "mish_": lambda x: F.mish(x, inplace=True),
}
# Others that bend at a point.
BENDS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.6, 3.0),
    "hardswish": F.hardswish,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "threshold": lambda x: F.threshold(x, 0.6, 2.0),
    "celu": F.celu,
    "selu": F.selu,
    "silu": F.silu,
    "rrelu": F.rrelu,
}
SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.6, -0.6, 3.0, -3.0]


def _values(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return (torch.randn(*shape) * 3).to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(
    native: Expectation, name: str, dtype: torch.dtype, layout: str
) -> None:
    function, backward = FUNCTIONS[name]
    x = _values(5, 3, 8, dtype=dtype)
    compare(native(name), function, [x], LAYOUTS[layout])
    compare(native(name, backward), gradients(function), [x], LAYOUTS[layout])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(native: Expectation, name: str) -> None:
    function, _ = FUNCTIONS[name]
    values = [*SPECIAL, 0.5] if name == "glu" else SPECIAL
    compare(native(name), function, [torch.tensor(values)])


# Few elements, for the CPU's vector loops differ from its scalar ones in the
# gradients at NaN.
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*BENDS, *(n for n in FUNCTIONS if n != "glu")])
def test_gradients_of_special_values(
    no_fallback: Expectation, name: str, dtype: torch.dtype
) -> None:
    function = BENDS[name] if name in BENDS else FUNCTIONS[name][0]
    for values in (SPECIAL[:5], SPECIAL[4:]):
        x = torch.tensor(values, dtype=dtype)
        compare(no_fallback(), function, [x])
        compare(no_fallback(), gradients(function), [x])


def test_elu_of_numbers_with_tiny_powers(native: Expectation) -> None:
    x = torch.tensor([-16.0, -20.0, -87.0, -95.0, -100.0, -103.0])
    for function in (F.elu, F.selu, F.celu):
        compare(native("elu"), function, [x])


@pytest.mark.parametrize("shape", [(0,), (3, 0, 4), (2,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_few_elements(
    no_fallback: Expectation, name: str, shape: tuple[int, ...]
) -> None:
    function, _ = FUNCTIONS[name]
    compare(no_fallback(), function, [_values(*shape)])
    if name != "glu":
        compare(no_fallback(), function, [torch.tensor(-0.7)])


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(native: Expectation, name: str) -> None:
    x = _values(4, 5)
    compare(native(name), lambda t: INPLACE[name](t.clone()), [x])


def test_out_arguments(native: Expectation) -> None:
    x = _values(4, 6)

    def into_empty(t: Tensor) -> list[Tensor]:
        def new() -> Tensor:
            return t.new_empty(0)

        return [
            aten.elu.out(t, out=new()),
            aten.softplus.out(t, 2, out=new()),
            aten.glu.out(t, 0, out=new()),
            *aten.log_sigmoid_forward.output(t, output=new(), buffer=new()),
            aten.glu_backward.grad_input(t[:2], t, 0, grad_input=new()),
            aten.softshrink_backward.grad_input(t, t, 0.5, grad_input=new()),
            aten.hardshrink_backward.grad_input(t, t, 0.5, grad_input=new()),
        ]

    compare(native("elu.out", "glu.out", "glu_backward.grad_input"), into_empty, [x])


def test_elu_gradient_from_the_result(native: Expectation) -> None:
    def backward(grad: Tensor, result: Tensor) -> Tensor:
        return aten.elu_backward(grad, 1.5, 0.75, 2.0, True, result)

    compare(native("elu_backward"), backward, [_values(3, 4), _values(3, 4)])
    x = _values(2).to(DEVICE)
    with pytest.raises(RuntimeError, match="negative slope"):
        aten.elu_backward(x, -1.0, 1.0, 1.0, True, x)


def test_softshrink_refuses_a_negative_bound() -> None:
    with pytest.raises(RuntimeError, match="greater or equal to 0"):
        F.softshrink(torch.ones(2, device=DEVICE), -1.0)


def test_glu_refuses_odd_sizes() -> None:
    with pytest.raises(RuntimeError, match="must be even"):
        F.glu(torch.ones(3, device=DEVICE))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weights", [1, 3])
def test_prelu(native: Expectation, dtype: torch.dtype, weights: int) -> None:
    x = _values(4, 3, 5, dtype=dtype)
    weight = _values(weights, dtype=dtype)
    compare(native("_prelu_kernel"), F.prelu, [x, weight])
    if dtype in (torch.float32, torch.float64):
        backward = native("_prelu_kernel", "_prelu_kernel_backward")
        compare(backward, gradients(F.prelu), [x, weight])


def test_glu_tangents(native: Expectation) -> None:
    x, dx = _values(3, 8).double(), _values(3, 8).double()
    grad, dgrad = _values(3, 4).double(), _values(3, 4).double()
    compare(
        native("glu_jvp"),
        lambda x, dx: aten.glu_jvp(F.glu(x, 1), x, dx, 1),
        [x, dx],
    )
    compare(
        native("glu_backward_jvp"),
        lambda x, dx, grad, dgrad: aten.glu_backward_jvp(
            aten.glu_backward(grad, x, 1), grad, x, dgrad, dx, 1
        ),
        [x, dx, grad, dgrad],
    )


def test_rrelu_draws_slopes(native: Expectation) -> None:
    x = torch.linspace(-2, 2, 4001, device=DEVICE)
    noise = torch.empty_like(x)
    with native("rrelu_with_noise"):
        y = aten.rrelu_with_noise(x, noise, 0.2, 0.4, True)
    slopes = noise.cpu()
    negative = x.cpu() <= 0
    torch.testing.assert_close(y.cpu(), x.cpu() * slopes)
    assert torch.all(slopes[~negative] == 1)
    drawn = slopes[negative]
    assert torch.all((drawn >= 0.2) & (drawn <= 0.4))
    assert abs(float(drawn.mean()) - 0.3) < 0.01
    again = x.clone()
    with native("rrelu_with_noise"):
        aten.rrelu_with_noise_(again, noise, 0.2, 0.4, True)
    assert not torch.equal(again.cpu(), y.cpu())
    with pytest.raises(RuntimeError, match="must match"):
        aten.rrelu_with_noise(x, noise[1:], 0.2, 0.4, True)


def test_rrelu_takes_the_mean_slope_when_not_training(native: Expectation) -> None:
    expectation = native("rrelu_with_noise")
    compare(expectation, lambda x: F.rrelu(x, 0.2, 0.4, False), [_values(20)])
    out = torch.empty(0, device=DEVICE)
    x = _values(6)
    aten.rrelu_with_noise.out(x.to(DEVICE), x.to(DEVICE), 0.2, 0.4, False, out=out)
    assert_near(out, F.leaky_relu(x, 0.3))


MASKS = {0: (4, 4), 1: (2, 4), 2: (2, 3, 4, 4)}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("dim", [-1, 1])
def test_masked_softmax(native: Expectation, kind: int, dim: int) -> None:
    x = _values(2, 3, 4, 4)
    mask = torch.rand(MASKS[kind]) > 0.5
    compare(
        native("_masked_softmax"),
        lambda x, mask: torch._masked_softmax(x, mask, dim, kind),
        [x, mask],
    )


def test_masked_softmax_gradient(native: Expectation) -> None:
    mask = torch.rand(3, 5) > 0.5
    mask[0] = True
    compare(
        native("_masked_softmax_backward"),
        gradients(lambda x, mask: torch._masked_softmax(x, mask, -1, 2)),
        [_values(3, 5), mask],
    )
    with pytest.raises(RuntimeError, match="should match"):
        x = torch.ones(2, 2, device=DEVICE)
        torch._masked_softmax(x, torch.ones(2, device=DEVICE).bool(), -1, 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [0, 2])
def test_weight_norm(native: Expectation, dtype: torch.dtype, dim: int) -> None:
    v = _values(3, 2, 4, dtype=dtype)
    g = _values(*(3, 1, 1) if dim == 0 else (1, 1, 4), dtype=dtype)
    compare(
        native("_weight_norm_interface"),
        lambda v, g: torch._weight_norm_interface(v, g, dim),
        [v, g],
    )
    compare(
        native("_weight_norm_interface_backward"),
        gradients(lambda v, g: torch._weight_norm_interface(v, g, dim)[0]),
        [v, g],
    )


def test_weight_norm_of_a_vector(native: Expectation) -> None:
    v, g = _values(5), _values(5)
    expectation = native("_weight_norm_interface")
    compare(expectation, lambda v, g: torch._weight_norm_interface(v, g, 0), [v, g])
    with pytest.raises(RuntimeError, match="first or the last"):
        m = torch.ones(2, 2, 2, device=DEVICE)
        torch._weight_norm_interface(m, m, 1)
