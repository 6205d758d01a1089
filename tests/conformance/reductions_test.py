# SPDX-License-Identifier: Apache-2.0
"""Reductions, elements by rank, and running results."""

from __future__ import annotations

import itertools

import pytest
import torch

from tests.conformance.both_sides import (
    check,
    check_gradients,
    check_inplace,
    check_out,
)
from tests.conformance.comparing import assert_same
from tests.conformance.inputs import FLOATS, INTEGERS, layouts, make, name

DIMS = [(), (1,), (0, -1)]
NAN, INF = float("nan"), float("inf")


def spiked(dtype: torch.dtype) -> torch.Tensor:
    """With NaN, infinities and a zero without sign."""
    x = make(dtype, 4, 5)
    x[0, 1] = NAN
    x[1, 2], x[1, 4], x[2, 3] = INF, -INF, -0.0
    x[3] = NAN
    return x


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=name)
def test_amin(native, dtype: torch.dtype, dim: tuple) -> None:
    for x in layouts(make(dtype, 3, 40, 5)):
        check(native, "amin", torch.amin, x, dim)
        check(native, "amin", torch.amin, x, dim, keepdim=True)
    check_out(native, "amin.out", lambda x, **kw: torch.amin(x, dim, **kw), x)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=name)
def test_aminmax(native, dtype: torch.dtype) -> None:
    for x in layouts(make(dtype, 3, 40, 5)):
        check(native, "aminmax", torch.aminmax, x)
        check(native, "aminmax", torch.aminmax, x, dim=1, keepdim=True)
    check_out(native, "aminmax.out", lambda x, **kw: torch.aminmax(x, dim=0, **kw), x)


def test_extremes_of_nan_and_nothing(native, device: str) -> None:
    for dtype in FLOATS:
        check(native, "amin", torch.amin, spiked(dtype), 1)
        check(native, "aminmax", torch.aminmax, spiked(dtype), dim=0)
    check(native, "amin", torch.amin, torch.zeros(0, 3), 1)
    with pytest.raises(IndexError, match="non-zero size"):
        torch.amin(torch.zeros(0, 3, device=device), 0)


@pytest.mark.parametrize("place", [0, 31, 32, 95, 96, 99])
def test_an_extreme_finds_nan_anywhere(no_fallback, place: int, device: str) -> None:
    """Rows are compared in lanes, NaN apart from them, and the rest one by one."""
    x = torch.randn(4, 100)
    x[1, place] = NAN
    y = x.to(device)
    with no_fallback():
        largest, smallest = y.amax(1).cpu(), y.amin(1).cpu()
        values, indices = y.max(1)
    assert torch.equal(largest.isnan(), torch.tensor([False, True, False, False]))
    assert torch.equal(smallest.isnan(), largest.isnan())
    assert indices.cpu()[1] == place
    assert torch.equal(largest[2:], x[2:].amax(1))
    assert torch.equal(smallest[2:], x[2:].amin(1))
    assert torch.equal(values.cpu()[2:], x[2:].amax(1))


@pytest.mark.filterwarnings("ignore:_aminmax is deprecated")
def test_old_aminmax(native) -> None:
    x = make(torch.float32, 4, 6)
    check(native, "_aminmax", torch._aminmax, x)
    check(native, "_aminmax.dim", torch._aminmax, x, 1, True)


@pytest.mark.parametrize("correction", [None, 0, 2, 1.5])
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("operator", ["var", "std_mean", "var_mean"])
def test_moments(native, operator: str, dtype: torch.dtype, correction) -> None:
    function = getattr(torch, operator)
    for x, dim in itertools.product(layouts(make(dtype, 3, 50, 5)), DIMS):
        for keepdim in (False, True):
            options = {"dim": dim, "correction": correction, "keepdim": keepdim}
            check(native, operator + ".correction", function, x, **options)


def test_moments_of_few_elements(native, device: str) -> None:
    for x in (torch.zeros(0), torch.ones(1), torch.tensor(3.0), spiked(torch.float64)):
        for operator in ("var", "std_mean", "var_mean"):
            function = getattr(torch, operator)
            check(native, operator + ".correction", function, x, correction=1)
            check(native, operator + ".correction", function, x, correction=7)
    with pytest.raises(RuntimeError, match="floating"):
        torch.var(torch.ones(3, dtype=torch.int64, device=device))


def test_moments_into_given_tensors_and_backward(native, no_fallback) -> None:
    x = make(torch.float64, 3, 4)
    check_out(native, "var.correction_out", lambda x, **kw: torch.var(x, 1, **kw), x)
    for operator in ("var", "std_mean", "var_mean"):
        check_gradients(no_fallback, getattr(torch, operator), x, dim=1)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=name)
def test_nansum(native, dtype: torch.dtype) -> None:
    x = spiked(dtype) if dtype.is_floating_point else make(dtype, 4, 5)
    for y, dim in itertools.product(layouts(x), (None, 0, (0, 1))):
        check(native, "nansum", torch.nansum, y, dim)
        check(native, "nansum", torch.nansum, y, dim, dtype=torch.float64)
    check_out(native, "nansum.out", lambda x, **kw: torch.nansum(x, 1, **kw), x)


def test_nansum_into_another_type_and_backward(native, no_fallback) -> None:
    x = spiked(torch.float32)
    out = torch.empty(5, dtype=torch.float64, device="dipu")
    with native("nansum.out"):
        torch.nansum(x.to("dipu"), 0, out=out)
    assert_same(out, torch.nansum(x, 0, out=torch.empty(5, dtype=torch.float64)))
    check_gradients(no_fallback, torch.nansum, spiked(torch.float64), 1)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=name)
def test_count_nonzero(native, dtype: torch.dtype) -> None:
    x = make(dtype, 3, 40, 5)
    x[:, ::2] = 0
    for y in layouts(x):
        for dim in (0, (0, 2), None):
            check(native, "count_nonzero.dim_IntList", torch.count_nonzero, y, dim=dim)
    check(native, "count_nonzero.dim_IntList", torch.count_nonzero, x[:0], dim=0)


@pytest.mark.parametrize("p", [None, 2, 1, 0, 3, INF, -INF])
def test_norm(native, p) -> None:
    norm = torch.ops.aten.norm
    for dtype in FLOATS:
        for x in layouts(make(dtype, 6, 7)):
            check(native, "norm.ScalarOpt_dim", norm.ScalarOpt_dim, x, p, [1])
    x = make(torch.float32, 6, 7)
    dtype = torch.float64
    dim_dtype = norm.ScalarOpt_dim_dtype
    check(native, "norm.ScalarOpt_dim_dtype", dim_dtype, x, p, [0], True, dtype=dtype)


def test_norm_into_given_tensors(native) -> None:
    x = make(torch.float32, 6, 7)

    def plain(x: torch.Tensor, **out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.norm(x, 2, [1], False, **out)

    def typed(x: torch.Tensor, **out: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.norm(x, 2, [1], False, dtype=torch.float64, **out)

    check_out(native, "norm.out", plain, x)
    check_out(native, "norm.dtype_out", typed, x)


RANKS = {
    "kthvalue": lambda x, *a, **kw: torch.kthvalue(x, 2, *a, **kw),
    "median": torch.median,
    "nanmedian": torch.nanmedian,
    "mode": torch.mode,
}
OUT_NAMES = {"kthvalue": "values", "mode": "values"}


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=name)
@pytest.mark.parametrize("operator", RANKS)
def test_ranks(native, operator: str, dtype: torch.dtype) -> None:
    x = spiked(dtype) if dtype.is_floating_point else make(dtype, 6, 5, 4)
    if operator == "mode":
        x = make(dtype, 6, 5, 4, low=0, high=3).round()
    label = operator if operator in OUT_NAMES else operator + ".dim"
    for y in layouts(x):
        for dim, keepdim in itertools.product((0, -1), (False, True)):
            expected = RANKS[operator](y, dim, keepdim)
            there = y.to("dipu")
            with native(label):
                values, indices = RANKS[operator](there, dim, keepdim)
            assert_same(values, expected[0])
            # Which of several equal elements is taken is not specified.
            taken = there.gather(dim, indices if keepdim else indices.unsqueeze(dim))
            kept = values if keepdim else values.unsqueeze(dim)
            assert_same(taken, kept.cpu())


@pytest.mark.parametrize("operator", ["median", "nanmedian"])
def test_medians_of_all_elements(native, operator: str) -> None:
    function = getattr(torch, operator)
    for dtype in (*FLOATS, *INTEGERS):
        for x in layouts(make(dtype, 5, 6)):
            check(native, operator, function, x)
    check(native, operator, function, spiked(torch.float32))
    check(native, operator, function, torch.full((3,), NAN))
    check(native, operator, function, torch.tensor(3.0))


@pytest.mark.parametrize("operator", RANKS)
def test_ranks_into_given_tensors_and_backward(
    native, no_fallback, operator: str
) -> None:
    x = torch.randperm(20).reshape(4, 5).double()
    label = f"{operator}.{OUT_NAMES.get(operator, 'dim_values')}"
    check_out(native, label, lambda x, **kw: RANKS[operator](x, 1, **kw), x)
    check_gradients(no_fallback, RANKS[operator], x, 0)


@pytest.mark.parametrize("operator", RANKS)
def test_ranks_of_scalars_and_nothing(native, device: str, operator: str) -> None:
    if operator != "kthvalue":
        label = operator if operator in OUT_NAMES else operator + ".dim"
        check(native, label, RANKS[operator], torch.tensor(4.0), 0)
    with pytest.raises((IndexError, RuntimeError), match=r"size|dimension"):
        RANKS[operator](torch.zeros(3, 0, device=device), 1)


def test_kthvalue_beyond_the_line(device: str) -> None:
    with pytest.raises(RuntimeError, match="kthvalue"):
        torch.kthvalue(torch.zeros(3, device=device), 4)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=name)
def test_cumprod(native, dtype: torch.dtype) -> None:
    x = make(dtype, 3, 9, 4, low=-2, high=3)
    for y, dim in itertools.product(layouts(x), (0, 1, -1)):
        check(native, "cumprod", torch.cumprod, y, dim)
    check(native, "cumprod", torch.cumprod, x, 1, dtype=torch.float64)
    check_out(native, "cumprod.out", lambda x, **kw: torch.cumprod(x, 1, **kw), x)


def test_cumprod_in_place_and_backward(native, no_fallback) -> None:
    x = make(torch.float64, 3, 5)
    check_inplace(native, "cumprod_", "cumprod_", x, 1)
    check_gradients(no_fallback, torch.cumprod, x, 1)
    check(native, "cumprod", torch.cumprod, torch.tensor(3.0), 0)
    check(native, "cumprod", torch.cumprod, torch.zeros(0, 2), 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_logcumsumexp(native, dtype: torch.dtype) -> None:
    for x, dim in itertools.product((make(dtype, 4, 300), spiked(dtype)), (0, 1)):
        for y in layouts(x):
            check(native, "_logcumsumexp", torch.logcumsumexp, y, dim)
    check_out(
        native,
        "_logcumsumexp.out",
        lambda x, **kw: torch.logcumsumexp(x, 1, **kw),
        make(dtype, 4, 30),
    )


def test_logcumsumexp_backward(no_fallback) -> None:
    check_gradients(no_fallback, torch.logcumsumexp, make(torch.float64, 3, 5), 1)


@pytest.mark.parametrize("operator", ["cummax", "cummin"])
def test_running_extremes(native, no_fallback, operator: str) -> None:
    function, label = getattr(torch, operator), f"_{operator}_helper"
    for dtype in (*FLOATS, *INTEGERS, torch.bool):
        for x, dim in itertools.product(layouts(make(dtype, 3, 20, 4)), (0, 1, 2)):
            check(native, label, function, x, dim)
    for dtype in FLOATS:
        check(native, label, function, spiked(dtype), 1)
    check_out(native, label, lambda x, **kw: function(x, 1, **kw), x)
    check_gradients(no_fallback, function, make(torch.float64, 3, 5), 1)
