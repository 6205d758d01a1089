# SPDX-License-Identifier: Apache-2.0
"""Distributions beside those of generators_test.py, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

N = 20_000

Draw = Callable[[torch.Tensor, torch.Generator | None], torch.Tensor]


def tensor(value: float, device: str, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((N,), value, dtype=dtype, device=device)


# Operator, how to draw, mean, variance.
DRAWS: dict[str, tuple[str, Draw, float, float]] = {
    "bernoulli": (
        "bernoulli.out",
        lambda t, g: torch.bernoulli(t * 0 + 0.3, generator=g, out=torch.empty_like(t)),
        0.3,
        0.21,
    ),
    "log_normal": (
        "log_normal_",
        lambda t, g: t.log_normal_(0.5, 0.25, generator=g),
        math.exp(0.5 + 0.03125),
        math.exp(1 + 0.0625) * (math.exp(0.0625) - 1),
    ),
    "geometric": (
        "geometric_",
        lambda t, g: t.geometric_(0.4, generator=g),
        2.5,
        0.6 / 0.16,
    ),
    "normal_tensors": (
        "normal.Tensor_Tensor",
        lambda t, g: torch.normal(t * 0 + 1, t * 0 + 2, generator=g),
        1.0,
        4.0,
    ),
    "normal_mean": (
        "normal.Tensor_float",
        lambda t, g: torch.normal(t * 0 + 1, 2.0, generator=g),
        1.0,
        4.0,
    ),
    "normal_deviation": (
        "normal.float_Tensor",
        lambda t, g: torch.normal(1.0, t * 0 + 2, generator=g),
        1.0,
        4.0,
    ),
    "poisson_small": ("poisson", lambda t, g: torch.poisson(t * 0 + 3, g), 3.0, 3.0),
    "poisson_large": (
        "poisson",
        lambda t, g: torch.poisson(t * 0 + 40, g),
        40.0,
        40.0,
    ),
    "binomial_small": (
        "binomial",
        lambda t, g: torch.binomial(t * 0 + 10, t * 0 + 0.3, g),
        3.0,
        2.1,
    ),
    "binomial_large": (
        "binomial",
        lambda t, g: torch.binomial(t * 0 + 100, t * 0 + 0.7, g),
        70.0,
        21.0,
    ),
    "gamma_small": (
        "_standard_gamma",
        lambda t, g: torch._standard_gamma(t * 0 + 0.5, g),
        0.5,
        0.5,
    ),
    "gamma_large": (
        "_standard_gamma",
        lambda t, g: torch._standard_gamma(t * 0 + 7, g),
        7.0,
        7.0,
    ),
    "dirichlet": (
        "_sample_dirichlet",
        lambda t, g: torch._sample_dirichlet((t * 0 + 1.5).reshape(-1, 2), g),
        0.5,
        0.0625,
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_moments(native, device: str, name: str, dtype: torch.dtype) -> None:
    operator, draw, mean, variance = DRAWS[name]
    with native(operator):
        x = draw(tensor(0.0, device, dtype), None).cpu()
    assert x.dtype == dtype
    x = x.double()
    error = 5 * math.sqrt(variance / N)
    assert abs(x.mean() - mean) < error
    assert abs(x.var() - variance) < 0.12 * variance


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_with_the_seed(device: str, name: str) -> None:
    draw = DRAWS[name][1]
    generator = torch.Generator(device).manual_seed(5)
    first = draw(tensor(0.0, device, torch.float32), generator).cpu()
    second = draw(tensor(0.0, device, torch.float32), generator).cpu()
    assert not torch.equal(first, second)
    generator.manual_seed(5)
    again = draw(tensor(0.0, device, torch.float32), generator).cpu()
    assert torch.equal(again, first)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", DRAWS)
def test_narrow_types(native, device: str, name: str, dtype: torch.dtype) -> None:
    operator, draw, mean, variance = DRAWS[name]
    with native(operator):
        x = draw(tensor(0.0, device, dtype), None).cpu()
    assert x.dtype == dtype
    assert abs(x.double().mean() - mean) < 5 * math.sqrt(variance / N) + 0.01 * mean


def test_cauchy_quartiles(native, device: str) -> None:
    with native("cauchy_"):
        x = torch.empty(N, device=device).cauchy_(1.0, 2.0).cpu()
    quartiles = torch.quantile(x, torch.tensor([0.25, 0.5, 0.75]))
    torch.testing.assert_close(
        quartiles, torch.tensor([-1.0, 1.0, 3.0]), atol=0.15, rtol=0
    )


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_geometric_integers(native, device: str, dtype: torch.dtype) -> None:
    with native("geometric_"):
        x = torch.empty(N, dtype=dtype, device=device).geometric_(0.5).cpu()
    assert x.min() == 1
    assert abs((x == 1).double().mean() - 0.5) < 0.02
    assert abs((x == 2).double().mean() - 0.25) < 0.02


def test_shapes_of_distributions_of_tensors(native, device: str) -> None:
    mean = torch.zeros(3, 1, device=device)
    std = torch.ones(4, device=device)
    out = torch.empty(0, device=device)
    with native("normal.Tensor_Tensor"):
        assert torch.normal(mean, std).shape == (3, 4)
        torch.normal(mean, std, out=out)
    assert out.shape == (3, 4)
    assert torch.poisson(torch.zeros(0, 2, device=device)).shape == (0, 2)
    assert torch.poisson(torch.tensor(0.0, device=device)).item() == 0
    with pytest.raises(RuntimeError, match="std >= 0"):
        torch.normal(mean, -std)


def test_multinomial_into_a_given_tensor(native, device: str) -> None:
    out = torch.empty(0, dtype=torch.int64, device=device)
    weights = torch.tensor([0.0, 1.0, 0.0], device=device)
    with native("multinomial"):
        torch.multinomial(weights, 5, replacement=True, out=out)
    assert out.cpu().tolist() == [1] * 5


def test_edges_of_the_binomial(device: str) -> None:
    count = torch.tensor([5.0, 5.0, 0.0], device=device)
    chance = torch.tensor([0.0, 1.0, 0.5], device=device)
    assert torch.binomial(count, chance).cpu().tolist() == [0.0, 5.0, 0.0]


# The derivatives are integrals of the density's derivative. This is the double
# exponential rule for them: nodes of [0, 1], as logarithms and as factors of the
# interval's length, and weights. The CPU's approximations are off by up to 6 % in
# the tails, so they are no reference.
_NODES = torch.linspace(-6, 6, 2401, dtype=torch.float64)
_LOG = functional.logsigmoid(math.pi * _NODES.sinh())
_LOG_REST = functional.logsigmoid(-math.pi * _NODES.sinh())
_WEIGHT = 0.005 * math.pi * _NODES.cosh()
EXACT = {torch.float32: 1e-6, torch.float64: 1e-9}


def gamma_derivative(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """How a gamma variate moves with its parameter, from the nearer tail."""
    a, x = a.double()[..., None], x.double()[..., None]
    center = torch.digamma(a)
    t = x * _LOG.exp()
    density = torch.exp((a - 1) * _LOG + x - t)
    below = density * (x.log() + _LOG - center) * t * _LOG_REST.exp()
    t = torch.exp(_LOG - _LOG_REST)  # from 0 to infinity
    density = torch.exp((a - 1) * torch.log1p(t / x) - t)
    above = density * (torch.log(x + t) - center) * t
    return (_WEIGHT * torch.where(x <= a, -below, above)).sum(-1)


def beta_derivative(
    x: torch.Tensor, a: torch.Tensor, total: torch.Tensor
) -> torch.Tensor:
    """The same for a beta variate, divided by 1 - x."""
    x, a, total = (t.double()[..., None] for t in (x, a, total))
    b = total - a
    center = torch.digamma(a) - torch.digamma(total)
    t = x * _LOG.exp()
    density = torch.exp((a - 1) * _LOG + (b - 1) * (torch.log1p(-t) - torch.log1p(-x)))
    below = density * (x.log() + _LOG - center) * t * _LOG_REST.exp()
    t = (1 - x) * _LOG.exp()
    density = torch.exp((b - 1) * _LOG + (a - 1) * (torch.log1p(-t) - x.log()))
    above = density * (torch.log1p(-t) - center) * t * _LOG_REST.exp()
    slope = torch.where(x <= a / total, -below, above) / (1 - x)
    return (_WEIGHT * slope).sum(-1)


@pytest.mark.parametrize("dtype", EXACT)
def test_derivative_of_gamma(native, device: str, dtype: torch.dtype) -> None:
    a = torch.tensor([0.05, 0.5, 1.0, 3.0, 9.0, 50.0, 2000.0], dtype=dtype)
    scale = torch.tensor([0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 4.0], dtype=dtype)
    a, x = torch.broadcast_tensors(a[:, None], a[:, None] * scale)
    expected = gamma_derivative(a, x).to(dtype)
    with native("_standard_gamma_grad"):
        got = torch._standard_gamma_grad(a.to(device), x.to(device))
    torch.testing.assert_close(got.cpu(), expected, rtol=EXACT[dtype], atol=0)


@pytest.mark.parametrize("dtype", EXACT)
def test_derivative_of_dirichlet(native, device: str, dtype: torch.dtype) -> None:
    a = torch.tensor([0.3, 1.0, 4.0, 30.0], dtype=dtype)[:, None, None]
    b = torch.tensor([0.5, 2.0, 8.0, 40.0], dtype=dtype)[None, :, None]
    x = torch.tensor([0.05, 0.3, 0.5, 0.7, 0.95], dtype=dtype)
    x, a, total = (t.contiguous() for t in torch.broadcast_tensors(x, a, a + b))
    expected = beta_derivative(x, a, total).to(dtype)
    with native("_dirichlet_grad"):
        got = torch._dirichlet_grad(x.to(device), a.to(device), total.to(device))
    torch.testing.assert_close(got.cpu(), expected, rtol=EXACT[dtype], atol=0)


def test_gamma_is_differentiable(native, device: str) -> None:
    concentration = torch.full((8,), 2.0, device=device, requires_grad=True)
    with native("_standard_gamma", "_standard_gamma_grad"):
        torch.distributions.Gamma(concentration, 1.0).rsample().sum().backward()
    assert (concentration.grad > 0).all()


def test_arguments_on_two_devices_are_refused(device: str) -> None:
    one = torch.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        torch.normal(one, one.to(device))
    with pytest.raises(RuntimeError, match="same device"):
        torch.binomial(one, (one / 2).to(device))
