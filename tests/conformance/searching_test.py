# SPDX-License-Identifier: Apache-2.0
"""Places in sorted tensors, distinct elements and histograms."""

from __future__ import annotations

import itertools

import pytest
import torch

from tests.conformance.both_sides import check, check_out
from tests.conformance.comparing import assert_same
from tests.conformance.inputs import FLOATS, INTEGERS, layouts, make, name

NAN = float("nan")
SEARCH = "searchsorted.Tensor_out"
BOOLS = (False, True)


def few(dtype: torch.dtype, *sizes: int) -> torch.Tensor:
    """Elements that repeat."""
    return torch.randint(0, 3, sizes).to(dtype)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=name)
def test_searchsorted(native, dtype: torch.dtype) -> None:
    line = make(dtype, 20).sort()[0]
    lines = make(dtype, 3, 20).sort()[0]
    for right, out_int32 in itertools.product(BOOLS, BOOLS):
        options = {"right": right, "out_int32": out_int32}
        for values in layouts(make(dtype, 3, 7)):
            check(native, SEARCH, torch.searchsorted, line, values, **options)
            check(native, SEARCH, torch.searchsorted, lines, values, **options)
            check(native, SEARCH, torch.bucketize, values, line, **options)
        check(native, SEARCH, torch.searchsorted, line, line[3], **options)
        check(native, SEARCH, torch.searchsorted, line, 2, **options)
        check(native, SEARCH, torch.searchsorted, line, 1.5, **options)
        check(native, SEARCH, torch.bucketize, 2, line, **options)


@pytest.mark.filterwarnings("ignore:torch.searchsorted")
def test_searchsorted_with_sides_sorters_and_types(native) -> None:
    x = make(torch.float32, 3, 9)
    sorter = x.argsort()
    values = make(torch.float64, 3, 4)
    for side in ("left", "right"):
        options = {"side": side, "sorter": sorter}
        check(native, SEARCH, torch.searchsorted, x, values, **options)
    numbers = torch.tensor([1, 3, 3, 5])
    check(native, SEARCH, torch.searchsorted, numbers, values[0])
    check(native, SEARCH, torch.searchsorted, numbers[::2], values[0])
    odd = torch.tensor([0.0, 1.0, NAN])
    check(native, SEARCH, torch.searchsorted, odd, torch.tensor([NAN, 2.0]))


def test_searchsorted_into_given_tensors(native) -> None:
    line, values = make(torch.float32, 9).sort()[0], make(torch.float32, 3, 4)
    check_out(native, SEARCH, torch.searchsorted, line, values)
    check_out(native, SEARCH, torch.searchsorted, line, 1.5)
    check_out(native, SEARCH, torch.bucketize, values, line)
    empty = torch.zeros(0, 2).to("dipu")
    assert torch.searchsorted(line.to("dipu"), empty).shape == (0, 2)


def test_searchsorted_refuses(device: str) -> None:
    line = torch.arange(3.0, device=device)
    with pytest.raises(RuntimeError, match="sorter index out of range"):
        torch.searchsorted(line, line, sorter=torch.tensor([0, 1, 3]).to(device))
    with pytest.raises(RuntimeError, match="side can only be"):
        torch.searchsorted(line, line, side="top")
    with pytest.raises(RuntimeError, match="1 dimension"):
        torch.bucketize(line, line.reshape(1, 3))
    with pytest.raises(RuntimeError, match="dtype is wrong"):
        torch.searchsorted(line, line, out=line.clone())


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=name)
def test_unique(native, dtype: torch.dtype) -> None:
    for x in layouts(few(dtype, 6, 40)):
        for inverse, counts in itertools.product(BOOLS, BOOLS):
            options = {"return_inverse": inverse, "return_counts": counts}
            check(native, "_unique2", torch.unique, x, **options)
            check(native, "unique_consecutive", torch.unique_consecutive, x, **options)
        check(native, "_unique", torch.ops.aten._unique, x, True, True)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS, torch.bool), ids=name)
def test_unique_along_a_dimension(native, dtype: torch.dtype) -> None:
    options = {"return_inverse": True, "return_counts": True}
    x = few(dtype, 9, 2, 1)
    consecutive = torch.ops.aten.unique_dim_consecutive
    for y, dim in itertools.product(layouts(x), (0, 1, -1)):
        check(native, "unique_dim", torch.unique, y, dim=dim, **options)
        check(native, "unique_dim_consecutive", consecutive, y, dim, True, True)
        check(
            native,
            "unique_consecutive",
            torch.unique_consecutive,
            y,
            dim=dim,
            **options,
        )


def test_unique_of_nan_zeros_and_scalars(native) -> None:
    options = {"return_inverse": True, "return_counts": True}
    x = torch.tensor([NAN, 1.0, NAN, -0.0, 0.0, 1.0])
    check(native, "unique_consecutive", torch.unique_consecutive, x, **options)
    values, inverse, counts = torch.unique(x.to("dipu"), **options)
    assert_same(values, torch.tensor([0.0, 1.0, NAN, NAN]))
    assert_same(counts, torch.tensor([2, 2, 1, 1]))
    assert_same(inverse[[1, 3, 4, 5]], torch.tensor([1, 0, 0, 1]))
    check(native, "_unique2", torch.unique, torch.tensor(3), **options)
    rows = torch.tensor([[1.0, NAN], [1.0, NAN], [0.0, 2.0]])
    check(native, "unique_dim", torch.unique, rows, dim=0, return_counts=True)


def test_unique_of_nothing(no_fallback) -> None:
    aten = torch.ops.aten
    for sizes in ((0,), (0, 3)):
        x = torch.zeros(sizes)
        with no_fallback():
            for function in (
                lambda t: aten._unique2(t, True, True, True),
                lambda t: aten.unique_consecutive(t, True, True),
                lambda t: aten.unique_dim(t, 0),
                lambda t: aten.unique_dim_consecutive(t, 0),
            ):
                assert_same(function(x.to("dipu")), function(x))
    with pytest.raises(RuntimeError, match="0 sized dimensions"):
        torch.unique(torch.zeros(3, 0, device="dipu"), dim=0)
    with pytest.raises(IndexError, match="no dimensions"):
        torch.unique(torch.zeros((), device="dipu"), dim=0)


@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_bincount(native, dtype: torch.dtype) -> None:
    x = torch.randint(0, 9, (50,)).to(dtype)
    for y in (x, x[::3]):
        check(native, "bincount", torch.bincount, y)
        check(native, "bincount", torch.bincount, y, minlength=20)
        for weight in (torch.float32, torch.float64, torch.float16, torch.int64):
            check(native, "bincount", torch.bincount, y, make(weight, len(y)))
    check(native, "bincount", torch.bincount, x[:0], torch.zeros(0), 3)


def test_bincount_refuses(device: str) -> None:
    x = torch.tensor([1, -1], device=device)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(x)
    with pytest.raises(RuntimeError, match="1-d"):
        torch.bincount(x.abs().reshape(1, 2))
    with pytest.raises(RuntimeError, match="same length"):
        torch.bincount(x.abs(), torch.ones(3, device=device))
    with pytest.raises(RuntimeError, match="minlength should be >= 0"):
        torch.bincount(x.abs(), minlength=-1)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_histc(native, dtype: torch.dtype) -> None:
    for x in layouts(make(dtype, 20, 30)):
        check(native, "histc", torch.histc, x)
        check(native, "histc", torch.histc, x, 7, -1, 1.5)
    check(native, "histc", torch.histc, x[:0], 4)
    check(native, "histc", torch.histc, torch.full((5,), 3.0, dtype=dtype), 4)
    check(native, "histc", torch.histc, torch.tensor([NAN, 0.0], dtype=dtype), 4, 0, 1)
    check_out(native, "histc.out", torch.histc, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name)
def test_histc_counts_exactly(native, device: str, dtype: torch.dtype) -> None:
    """Adding one changes no large number of these types: the CPU stops there."""
    x = torch.zeros(5001, dtype=dtype, device=device)
    with native("histc"):
        got = torch.histc(x, 2, 0, 1)
    assert_same(got, torch.tensor([5001, 0], dtype=dtype))
    x = torch.arange(4096, dtype=torch.float16, device=device) / 8
    with native("histc"):
        got = torch.histc(x, 4096, 0, 512)
    assert got.cpu().tolist() == torch.histc(x.float().cpu(), 4096, 0, 512).tolist()


@pytest.mark.parametrize("density", BOOLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=name)
def test_histogram(native, dtype: torch.dtype, density: bool) -> None:
    label = "histogram.bins_tensor_out"
    edges = torch.tensor([-1.0, -0.25, 0.0, 2.0], dtype=dtype)
    for x in layouts(make(dtype, 8, 9)):
        for weight in (None, make(dtype, 8, 9).abs()):
            options = {"weight": weight, "density": density}
            check(native, label, torch.histogram, x, edges, **options)
            check(native, label, torch.histogram, x, 6, **options)
            check(native, label, torch.histogram, x, 6, range=(-1.0, 1.5), **options)
    check_out(native, label, torch.histogram, x, edges)
    check_out(native, label, torch.histogram, x, 5)


def test_histogram_of_nothing_has_edges(device: str) -> None:
    empty = torch.empty(5, 0)
    for got, expected in zip(
        torch.histogram(empty.to(device), 2), torch.histogram(empty, 2), strict=True
    ):
        assert_same(got, expected)


def test_histogram_refuses(device: str) -> None:
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.histogram(x, torch.ones(2, dtype=torch.float64, device=device))
    with pytest.raises(RuntimeError, match="not finite"):
        torch.histogram(x * float("inf"), 3)
    with pytest.raises(RuntimeError, match="should be positive"):
        torch.histogram(x, 0)
