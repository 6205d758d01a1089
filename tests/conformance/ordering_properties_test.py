# SPDX-License-Identifier: Apache-2.0
"""Sorting, running and distinct elements of random tensors.

Where several orders of equal elements are right, the result has to have the
property that makes it right; elsewhere it equals that of the CPU.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.conformance.comparing import EXACT, assert_same
from tests.conformance.inputs import FLOATS
from tests.conformance.properties import (
    ALL,
    NUMBERS,
    dims,
    long_tensors,
    memory,
    properties,
    same,
    shapes,
    tensors,
    there,
    writable,
)


@st.composite
def lines(draw: st.DrawFn, dtypes: Any = ALL, finite: bool = False) -> Any:
    """A tensor and one of its dimensions."""
    shape = draw(shapes())
    x = draw(tensors(draw(st.sampled_from(dtypes)), shape, finite))
    return x, draw(dims(shape))


def picks(x: Tensor, dim: int, values: Tensor, indices: Tensor) -> bool:
    """Whether `values` are the elements of `x` at distinct `indices`."""
    if x.dim() and not indices.sort(dim)[0].diff(dim=dim).ne(0).all():
        return False
    return same(torch.gather(x, dim, indices), values)


@properties
@given(line=lines(), descending=st.booleans())
def test_stable_sort(native, line: Any, descending: bool) -> None:
    x, dim = line
    options = {"dim": dim, "descending": descending, "stable": True}
    with native("sort.stable"):
        got = torch.sort(there(x), **options)
    assert_same(got, torch.sort(x, **options), EXACT)


@properties
@given(line=lines(), descending=st.booleans())
def test_sort(native, line: Any, descending: bool) -> None:
    x, dim = line
    with native("sort.stable"):
        values, indices = torch.sort(there(x), dim, descending)
    assert_same(values, torch.sort(x, dim, descending)[0], EXACT)
    assert picks(x, dim, values.cpu(), indices.cpu())


@properties
@given(line=lines(NUMBERS), largest=st.booleans(), ranked=st.booleans(), data=st.data())
def test_topk(native, line: Any, largest: bool, ranked: bool, data: Any) -> None:
    x, dim = line
    k = data.draw(st.integers(0, x.shape[dim] if x.dim() else 1))
    with native("topk"):
        values, indices = torch.topk(there(x), k, dim, largest, ranked)
    got, expected = values.cpu(), torch.topk(x, k, dim, largest)[0]
    assert picks(x, dim, got, indices.cpu())
    if not ranked:
        got, expected = got.sort(dim)[0], expected.sort(dim)[0]
    assert same(got, expected)


@properties
@given(line=lines())
def test_unique(native, line: Any) -> None:
    x, _ = line
    # Of nothing there is nothing to compute.
    with native(*(["_unique2"] if x.numel() else [])):
        got = torch.unique(there(x), return_inverse=True, return_counts=True)
    values, inverse, counts = (t.cpu() for t in got)
    assert same(values, values.sort()[0])
    numbers = values[values == values]
    assert bool((numbers[1:] != numbers[:-1]).all())
    assert inverse.shape == x.shape
    assert same(values[inverse], x.contiguous())
    assert same(counts, torch.bincount(inverse.flatten(), minlength=len(values)))
    assert bool((counts > 0).all())


@properties
@given(line=lines())
def test_unique_consecutive(native, line: Any) -> None:
    x, _ = line
    options = {"return_inverse": True, "return_counts": True}
    with native(*(["unique_consecutive"] if x.numel() else [])):
        got = torch.unique_consecutive(there(x), **options)
    assert_same(got, torch.unique_consecutive(x, **options), EXACT)


@properties
@given(line=lines())
def test_unique_along_a_dimension(native, line: Any) -> None:
    x, dim = line
    if not x.numel() or not x.dim():
        return
    with native("unique_dim"):
        values, inverse, counts = torch.ops.aten.unique_dim(
            there(x), dim, True, True, True
        )
    values = values.cpu()
    assert same(values.index_select(dim, inverse.cpu()), x.contiguous())
    # A slice with a NaN differs from all.
    slices = values.movedim(dim, 0).flatten().view(values.shape[dim], -1).tolist()
    numbers = [tuple(s) for s in slices if all(v == v for v in s)]
    assert len(set(numbers)) == len(numbers)
    assert same(counts.cpu(), torch.bincount(inverse.cpu()))


# The dispatcher's name of each, and the types that the CPU computes it in.
RUNNING = {
    "cumsum": ("cumsum", ALL),
    "cumprod": ("cumprod", ALL),
    "logcumsumexp": ("_logcumsumexp", FLOATS),
    "cummax": ("_cummax_helper", ALL),
    "cummin": ("_cummin_helper", ALL),
}


@pytest.mark.parametrize("function", RUNNING)
@properties
@given(data=st.data())
def test_running(native, function: str, data: Any) -> None:
    operator, dtypes = RUNNING[function]
    x, dim = data.draw(lines(dtypes))
    expected = getattr(torch, function)(x, dim)
    # Extremes of a number are copied and those of nothing are empty.
    trivial = operator.endswith("_helper") and (not x.dim() or not x.numel())
    with native(*([] if trivial else [operator])):
        got = getattr(torch, function)(there(x), dim)
    assert_same(got, expected)


@pytest.mark.parametrize("function", ["cumsum_", "cumprod_"])
@properties
@given(line=lines(NUMBERS))
def test_running_in_place(native, function: str, line: Any) -> None:
    x, dim = line
    here = writable(x)
    y = there(here)
    getattr(here, function)(dim)
    with native(function):
        getattr(y, function)(dim)
    assert_same(memory(y), memory(here))


@pytest.mark.parametrize("function", ["cumsum", "cumprod"])
@properties
@given(line=lines(finite=True), dtype=st.sampled_from(NUMBERS))
def test_running_in_another_type(
    native, function: str, line: Any, dtype: torch.dtype
) -> None:
    x, dim = line
    expected = getattr(torch, function)(x, dim, dtype=dtype)
    with native(function):
        got = getattr(torch, function)(there(x), dim, dtype=dtype)
    assert_same(got, expected)


@properties
@given(line=lines(finite=True))
def test_a_running_sum_ends_at_the_sum(native, line: Any) -> None:
    x, dim = line
    if not x.dim() or not x.shape[dim]:
        return
    with native("cumsum"):
        got = torch.cumsum(there(x), dim).select(dim, -1)
    assert_same(got, x.sum(dim))


@properties
@given(data=st.data(), dtype=st.sampled_from(NUMBERS), descending=st.booleans())
def test_long_lines(native, data: Any, dtype: torch.dtype, descending: bool) -> None:
    x = data.draw(long_tensors(dtype))
    k = data.draw(st.integers(1, x.shape[1]))
    y = there(x)
    options = {"stable": True, "descending": descending}
    with native("sort.stable", "topk", "_cummax_helper", "_unique2"):
        in_order = torch.sort(y, **options)
        first = torch.topk(y, k, 1, descending)
        running = torch.cummax(y, 1)
        values, inverse = torch.unique(y, return_inverse=True)
    assert_same(in_order, torch.sort(x, **options), EXACT)
    assert_same(first[0], torch.topk(x, k, 1, descending)[0], EXACT)
    assert picks(x, 1, first[0].cpu(), first[1].cpu())
    assert_same(running, torch.cummax(x, 1), EXACT)
    assert same(values.cpu()[inverse.cpu()], x.contiguous())
