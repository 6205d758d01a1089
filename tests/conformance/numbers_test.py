# SPDX-License-Identifier: Apache-2.0
"""Numbers at the border of a type, and those that it cannot hold.

The CPU is the reference. Nothing may fall back.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.conformance.comparing import assert_near
from tests.conformance.conftest import Expectation

NAN, INF = math.nan, math.inf
SMALL = [torch.uint8, torch.int8, torch.int16, torch.int32]
HALVES = [torch.float16, torch.bfloat16]

# Of a tensor and a number, which becomes an element first.
STORED: dict[str, Callable[[Tensor, float], Tensor]] = {
    "add": lambda x, n: x + n,
    "sub": lambda x, n: x - n,
    "rsub": lambda x, n: n - x,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
}
DIVISIONS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "floor": lambda x, n: torch.div(x, n, rounding_mode="floor"),
    "trunc": lambda x, n: torch.div(x, n, rounding_mode="trunc"),
}
REFUSED: dict[str, Callable[[Tensor, float], Tensor]] = {
    "fill": lambda x, n: x.clone().fill_(n),
    "full_like": torch.full_like,
    "masked_fill": lambda x, n: x.masked_fill(x > 1, n),
    "clamp_max": lambda x, n: x.clamp(max=n),
    "clamp": lambda x, n: x.clamp(1, n),
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "pow": torch.pow,
    "threshold": lambda x, n: F.threshold(x, n, 1),
}


def same_bits(got: Tensor, expected: Tensor) -> None:
    """Signs of zero count, too."""
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[expected.itemsize]
    assert got.cpu().view(integer).equal(expected.view(integer))


def ends(dtype: torch.dtype) -> Tensor:
    info = torch.iinfo(dtype)
    values = {info.min, info.min + 1, info.max - 1, info.max, 0, 1, 3, 64, 100}
    return torch.tensor(sorted(values), dtype=dtype)


@pytest.mark.parametrize("number", [-1, -3, 128, 200, 255, 300, 70000, 2**31, 2**40])
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_whole_numbers_wrap(
    no_fallback: Expectation, dtype: torch.dtype, number: int
) -> None:
    x = ends(dtype)
    there = x.to("dipu")
    wraps_to_zero = number % (torch.iinfo(dtype).max + 1) == 0
    for name, function in (STORED | DIVISIONS).items():
        divides = name in ("remainder", "fmod", "floor", "trunc")
        if divides and (wraps_to_zero or dtype is torch.int32):
            continue  # an error, and a crash of the CPU
        with no_fallback():
            got = function(there, number)
        assert_near(got, function(x, number))
    if dtype in (torch.uint8, torch.int8):
        assert_near(torch.pow(number, there), torch.pow(number, x))


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (torch.uint8, 300),
        (torch.int8, 200),
        (torch.int16, 70000),
        (torch.int32, 2**40),
        (torch.float16, 1e6),
    ],
)
@pytest.mark.parametrize("name", REFUSED)
def test_numbers_out_of_range_are_refused(
    no_fallback: Expectation, name: str, dtype: torch.dtype, number: float
) -> None:
    if dtype is torch.float16 and name in ("fill", "full_like", "threshold"):
        pytest.skip("infinity, or compared in float32")
    x = torch.tensor([1, 2], dtype=dtype)
    for tensor in (x, x.to("dipu")):
        with no_fallback(), pytest.raises(RuntimeError, match="without overflow"):
            REFUSED[name](tensor, number)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_choose_numbers_out_of_range(
    no_fallback: Expectation, dtype: torch.dtype
) -> None:
    x = torch.tensor([1.0, 2.0], dtype=dtype)
    there = x.to("dipu")
    for number in (-1e9, 1e39):
        with no_fallback():
            got = torch.where(there > 1, there, number)
        assert_near(got, torch.where(x > 1, x, number))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_take_infinity_and_nan(
    no_fallback: Expectation, dtype: torch.dtype
) -> None:
    x = torch.tensor([1.0, NAN, -INF, 3.0], dtype=dtype)
    there = x.to("dipu")
    for number in (INF, -INF, NAN, 65504.0):
        with no_fallback():
            got = [torch.full_like(there, number), there.clamp(max=number)]
        assert_near(got[0], torch.full_like(x, number))
        assert_near(got[1], x.clamp(max=number))


@pytest.mark.parametrize("number", [0.1, 1 / 3, 3.3, -2.7, 70000.0])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_round_numbers(
    no_fallback: Expectation, dtype: torch.dtype, number: float
) -> None:
    x = torch.linspace(-60, 60, 1001).to(dtype)
    there = x.to("dipu")
    for function in (STORED | DIVISIONS).values():
        with no_fallback():
            got = function(there, number)
        assert got.cpu().equal(function(x, number))
    if number < 5:
        with no_fallback():
            powers = [there.abs().pow(number), torch.pow(abs(number), there)]
            terms = torch.add(there, there, alpha=number)
        assert_near(powers[0], x.abs().pow(number))
        assert_near(powers[1], torch.pow(abs(number), x))
        assert_near(terms, torch.add(x, x, alpha=number))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_cut_the_stored_quotient(
    native: Expectation, dtype: torch.dtype
) -> None:
    a, b = torch.randn(2, 5000).to(dtype)
    there = a.to("dipu"), b.to("dipu")
    with native("div.Tensor_mode"):
        got = torch.div(*there, rounding_mode="trunc")
    assert got.cpu().equal(torch.div(a, b, rounding_mode="trunc"))


@pytest.mark.parametrize("exponent", [0.5, -0.5, 2, -1, 3])
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32, torch.float64], ids=str)
def test_powers_of_what_is_not_finite(
    native: Expectation, dtype: torch.dtype, exponent: float
) -> None:
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 4.0, -4.0], dtype=dtype)
    there = x.to("dipu")
    with native("pow.Tensor_Scalar"):
        got = there.pow(exponent)
    assert_near(got, x.pow(exponent))
    assert_near(1 / got, 1 / x.pow(exponent))  # tells the signs of zero


@pytest.mark.parametrize("function", [torch.fmax, torch.fmin])
def test_the_first_of_two_zeros(
    no_fallback: Expectation, function: Callable[..., Tensor]
) -> None:
    a, b = torch.tensor([[0.0, -0.0, 0.0, NAN], [-0.0, 0.0, NAN, -0.0]])
    with no_fallback():
        got = function(a.to("dipu"), b.to("dipu"))
    same_bits(got, function(a, b))


def test_zero_times_a_subtrahend(native: Expectation) -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -1.0])
    there = x.to("dipu")
    with native("sub.Tensor"):
        got = torch.sub(there, there, alpha=0)
    same_bits(got, torch.sub(x, x, alpha=0))


@pytest.mark.parametrize("dtype", [*SMALL[1:], torch.int64], ids=str)
def test_the_least_integer_divided_by_minus_one(
    no_fallback: Expectation, dtype: torch.dtype
) -> None:
    least = torch.iinfo(dtype).min
    x = torch.tensor([least, 5], dtype=dtype, device="dipu")
    minus_one = torch.full_like(x, -1)
    for divisor in (-1, minus_one):
        with no_fallback():
            quotients = [
                x // divisor,
                torch.div(x, divisor, rounding_mode="trunc"),
            ]
            rests = [x % divisor, torch.fmod(x, divisor)]
        assert all(q.tolist() == [least, -5] for q in quotients)
        assert all(r.tolist() == [0, 0] for r in rests)
