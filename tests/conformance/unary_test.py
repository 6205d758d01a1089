# SPDX-License-Identifier: Apache-2.0
"""Functions of one tensor, and special functions: values, types, layouts, gradients.

Every case is compared with the CPU and must not fall back.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tests.conformance.comparing import assert_near
from tests.conformance.inputs import FLOATS, INTEGERS, WIDE, values

SPECIAL = torch.special
NAN, INF = math.nan, math.inf

Function = Callable[..., torch.Tensor]

# Functions of one tensor, by the operator that must be native.
ROUNDING: dict[str, Function] = {
    "round": torch.round,
    "trunc": torch.trunc,
}

UNARY: dict[str, Function] = {
    **ROUNDING,
    "frac": torch.frac,
    "digamma": torch.digamma,
    "lgamma": torch.lgamma,
    "erfc": torch.erfc,
    "exp2": torch.exp2,
    "i0": torch.i0,
    "sinc": torch.sinc,
    "angle": torch.angle,
    "logit": torch.logit,
    "nan_to_num": torch.nan_to_num,
    "special_entr": SPECIAL.entr,
    "special_i0e": SPECIAL.i0e,
    "special_i1": SPECIAL.i1,
    "special_i1e": SPECIAL.i1e,
}

# PyTorch computes these in float32 and float64 only.
UNARY_WIDE: dict[str, Function] = {
    "special_airy_ai": SPECIAL.airy_ai,
    "special_bessel_j0": SPECIAL.bessel_j0,
    "special_bessel_j1": SPECIAL.bessel_j1,
    "special_bessel_y0": SPECIAL.bessel_y0,
    "special_bessel_y1": SPECIAL.bessel_y1,
    "special_erfcx": SPECIAL.erfcx,
    "special_log_ndtr": SPECIAL.log_ndtr,
    "special_modified_bessel_i0": SPECIAL.modified_bessel_i0,
    "special_modified_bessel_i1": SPECIAL.modified_bessel_i1,
    "special_modified_bessel_k0": SPECIAL.modified_bessel_k0,
    "special_modified_bessel_k1": SPECIAL.modified_bessel_k1,
    "special_ndtri": SPECIAL.ndtri,
    "special_scaled_modified_bessel_k0": SPECIAL.scaled_modified_bessel_k0,
    "special_scaled_modified_bessel_k1": SPECIAL.scaled_modified_bessel_k1,
    "special_spherical_bessel_j0": SPECIAL.spherical_bessel_j0,
    "polygamma": lambda x, **out: torch.polygamma(2, x, **out),
}

# The CPU's functions differ from the true ones by as much.
ROUGH = {
    op: 1e-5 for op in UNARY_WIDE if op.startswith(("special_airy", "special_bessel"))
}


def arrangements(x: torch.Tensor) -> list[torch.Tensor]:
    """`x` as a vector, a transposed matrix, a part, an empty one, a number."""
    matrix = x[: x.numel() // 12 * 12].reshape(-1, 12)
    return [x, matrix.t(), matrix[::2, 1::3], x[:0].reshape(0, 3), x[3]]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", [*UNARY, *UNARY_WIDE])
def test_unary(native, device: str, op: str, dtype: torch.dtype) -> None:
    if op in UNARY_WIDE and dtype not in WIDE:
        pytest.skip("no reference")
    function = {**UNARY, **UNARY_WIDE}[op]
    for x in arrangements(values(dtype)):
        there = x.to(device)
        with native(op):
            got = function(there)
        assert_near(got, function(x), ROUGH.get(op, 0.0))


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("op", [*UNARY, *UNARY_WIDE])
def test_unary_of_what_is_not_finite(
    native, device: str, op: str, dtype: torch.dtype
) -> None:
    function = {**UNARY, **UNARY_WIDE}[op]
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, 0.5, 1.5, 2.5], dtype=dtype)
    there = x.to(device)
    with native(op):
        got = function(there)
    assert_near(got, function(x))


@pytest.mark.parametrize("op", [*UNARY, *UNARY_WIDE])
def test_unary_of_integers(native, device: str, op: str) -> None:
    if op == "frac":
        pytest.skip("PyTorch has no such function")
    function = {**UNARY, **UNARY_WIDE}[op]
    x = torch.tensor([1, 2, 5, 11])
    there = x.to(device)
    with native(op):
        got = function(there)
    assert_near(got, function(x), ROUGH.get(op, 0.0))


@pytest.mark.parametrize("op", [*UNARY, *UNARY_WIDE])
def test_unary_into_an_output(native, device: str, op: str) -> None:
    function = {**UNARY, **UNARY_WIDE}[op]
    x = torch.linspace(0.1, 0.9, 12)
    there, out = x.to(device), torch.zeros(3, 8, device=device)[:, ::2]
    there = there.reshape(3, 4)
    function(there, out=out)
    assert_near(out, function(x).reshape(3, 4))
    empty = torch.empty(0, device=device)
    function(there, out=empty)
    assert_near(empty, function(x).reshape(3, 4))


INPLACE = ["round", "trunc", "frac", "digamma", "lgamma", "erfc", "exp2", "sinc", "i0"]


@pytest.mark.parametrize("name", [*INPLACE, "nan_to_num", "logit"])
def test_unary_in_place(native, device: str, name: str) -> None:
    host = torch.linspace(0.1, 0.9, 24).reshape(4, 6)
    base = host.to(device)
    with native(f"{name}_"):
        getattr(base[:, ::2], f"{name}_")()
    getattr(host[:, ::2], f"{name}_")()
    assert_near(base, host)


POLYNOMIALS = [
    f"{kind}_polynomial_{letter}"
    for kind, letters in {
        "chebyshev": "tuvw",
        "shifted_chebyshev": "tuvw",
        "hermite": ["h", "he"],
        "laguerre": "l",
        "legendre": "p",
    }.items()
    for letter in letters
]


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(native, device: str, name: str, dtype: torch.dtype) -> None:
    function = getattr(SPECIAL, name)
    x = torch.linspace(-1.5, 1.5, 25, dtype=dtype)[:, None]
    n = torch.arange(-1, 14)
    there = x.to(device), n.to(device)
    with native(f"special_{name}"):
        got = function(*there)
    assert_near(got, function(x, n))
    assert_near(function(there[0], 7), function(x, 7))
    assert_near(function(0.25, there[1]), function(0.25, n))
    out = torch.empty(0, device=device, dtype=dtype)
    assert_near(function(*there, out=out), function(x, n))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(native, device: str, n: int) -> None:
    for dtype in WIDE:
        x = torch.linspace(-4.3, 30, 100, dtype=dtype)
        there = x.to(device)
        with native("polygamma"):
            got = torch.polygamma(n, there)
        assert_near(got, torch.polygamma(n, x))


def test_incomplete_gamma_of_large_arguments(native, device: str) -> None:
    a = torch.tensor([0.1, 1.0, 25.0, 150.0, 300.0, 1e4, 1e6, 1e8, 0.0, INF])
    a = a.double()[:, None]
    x = torch.cat([a.t() * r for r in (0.5, 0.999, 1.0, 1.001, 2.0)], dim=1)
    there = a.to(device), x.to(device)
    with native("igamma", "igammac"):
        got = torch.igamma(*there), torch.igammac(*there)
    assert_near(got[0], torch.igamma(a, x))
    assert_near(got[1], torch.igammac(a, x))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [*ROUNDING, "nan_to_num"])
def test_whole_numbers_stay(native, device: str, op: str, dtype: torch.dtype) -> None:
    x = values(dtype)
    there = x.to(device)
    with native(op):
        got = UNARY[op](there)
    assert_near(got, x)


def test_nan_to_num_takes_replacements(native, device: str) -> None:
    for dtype in FLOATS:
        x = torch.tensor([NAN, INF, -INF, 1.5], dtype=dtype)
        there = x.to(device)
        for options in ({}, {"nan": 2.0}, {"posinf": 3.0, "neginf": -1e9}):
            with native("nan_to_num"):
                got = torch.nan_to_num(there, **options)
            assert torch.equal(got.cpu(), torch.nan_to_num(x, **options))


@pytest.mark.parametrize("eps", [None, 0.0, 1e-6, 0.2])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_logit(native, device: str, dtype: torch.dtype, eps: float | None) -> None:
    x = torch.linspace(-0.1, 1.1, 25, dtype=torch.float64).to(dtype)
    there = x.to(device).requires_grad_()
    host = x.clone().requires_grad_()
    with native("logit", "logit_backward"):
        got = torch.logit(there, eps)
        got.backward(torch.ones_like(got))
    expected = torch.logit(host, eps)
    expected.backward(torch.ones_like(expected))
    assert_near(got.detach(), expected.detach())
    assert_near(there.grad, host.grad)


def test_mvlgamma(no_fallback, device: str) -> None:
    x = torch.linspace(3, 9, 7, dtype=torch.float64)
    there = x.to(device)
    out = torch.empty(0, dtype=torch.float64, device=device)
    with no_fallback():
        got = torch.mvlgamma(there, 3)
        torch.special.multigammaln(there, 3, out=out)
    assert_near(got, torch.mvlgamma(x, 3))
    assert_near(out, torch.mvlgamma(x, 3))


GRADIENTS: dict[str, Function] = {
    name: {**UNARY, **UNARY_WIDE}[name]
    for name in (
        "frac",
        "digamma",
        "lgamma",
        "erfc",
        "exp2",
        "i0",
        "sinc",
        "nan_to_num",
        "special_entr",
        "special_i0e",
        "special_i1",
        "special_i1e",
        "special_erfcx",
        "special_log_ndtr",
        "special_ndtri",
        "polygamma",
        "round",
        "trunc",
    )
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_one_tensor(device: str, name: str) -> None:
    x = torch.rand(5, 7, dtype=torch.float64) * 0.8 + 0.1
    weights = torch.randn(5, 7, dtype=torch.float64)
    host, there = x.clone().requires_grad_(), x.to(device).requires_grad_()
    GRADIENTS[name](host).backward(weights)
    GRADIENTS[name](there).backward(weights.to(device))
    assert_near(there.grad, host.grad)


@pytest.mark.parametrize("decimals", [0, 2, -1])
@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_round_to_decimals(
    native, device: str, dtype: torch.dtype, decimals: int
) -> None:
    x = torch.linspace(-77, 77, 101, dtype=dtype)
    there = x.to(device)
    with native("round.decimals"):
        got = torch.round(there, decimals=decimals)
    assert_near(got, torch.round(x, decimals=decimals))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_signbit(native, device: str, dtype: torch.dtype) -> None:
    x = values(dtype)
    if dtype.is_floating_point:
        x = torch.cat([x, torch.tensor([0.0, -0.0, NAN, -NAN, -INF], dtype=dtype)])
    for host in arrangements(x):
        there = host.to(device)
        with native("signbit"):
            got = torch.signbit(there)
        assert_near(got, torch.signbit(host))


@pytest.mark.parametrize("dtype", [*WIDE, torch.float16], ids=str)
def test_frexp(native, device: str, dtype: torch.dtype) -> None:
    for x in arrangements(values(dtype)):
        there = x.to(device)
        with native("frexp.Tensor"):
            mantissa, exponent = torch.frexp(there)
        assert_near(mantissa, torch.frexp(x).mantissa)
        assert_near(exponent, torch.frexp(x).exponent)


def test_angle_of_complex_numbers_falls_back(falls_back, device: str) -> None:
    x = torch.tensor([1 + 1j, -2j])
    with falls_back("angle"):
        assert_near(torch.angle(x.to(device)), torch.angle(x))
    out = torch.empty(2, device=device)
    with falls_back("angle.out"):
        torch.angle(x.to(device), out=out)
    assert_near(out, torch.angle(x))


def test_conj_physical(native, falls_back, device: str) -> None:
    x = torch.randn(3, 4)
    out = torch.empty(3, 4, device=device)
    there = x.to(device)
    with native("conj_physical.out"):
        torch.conj_physical(there, out=out)
    assert_near(out, x)
    y = torch.randn(3, dtype=torch.complex64)
    there, out = y.to(device), torch.empty(3, dtype=y.dtype, device=device)
    with falls_back("conj_physical.out"):
        torch.conj_physical(there, out=out)
    assert torch.equal(out.cpu(), torch.conj_physical(y))
