# SPDX-License-Identifier: Apache-2.0
"""Reading, writing and combining elements at random positions.

Of several elements written to one position any may stay; that is tested as a
property. Everything else equals what the CPU computes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.conformance.comparing import EXACT, assert_same
from tests.conformance.properties import (
    ALL,
    NUMBERS,
    dims,
    long_tensors,
    memory,
    positions,
    properties,
    shapes,
    tensors,
    there,
    writable,
)

aten = torch.ops.aten


def broken(a: Tensor, b: Tensor) -> Tensor:
    """Where two tensors differ; NaN equals NaN."""
    return (a != b) & ~((a != a) & (b != b))


def written(place: Tensor, before: Tensor, after: Tensor, source: Tensor) -> bool:
    """Whether `after` is `before` with `source` written to `place`.

    Args:
      place: flat positions, several of which may be equal.
      before: the tensor before.
      after: the tensor after.
      source: an element for each position.
    """
    old, new = before.flatten(), after.flatten()
    place, source = place.flatten(), source.flatten()
    left = torch.ones(old.numel(), dtype=torch.bool)
    left[place] = False
    if broken(old, new)[left].any():
        return False
    stays = torch.zeros(old.numel(), dtype=torch.int64)
    stays.index_add_(0, place, (~broken(new[place], source)).long())
    return bool((stays[place] > 0).all())


@st.composite
def broadcastable(draw: st.DrawFn, shape: Sequence[int]) -> list[int]:
    """Sizes that broadcast to `shape`."""
    cut = draw(st.integers(0, len(shape)))
    return [1 if draw(st.booleans()) else size for size in shape[cut:]]


@st.composite
def index_lists(draw: st.DrawFn, shape: Sequence[int]) -> list[Tensor | None]:
    """Tensors to index a tensor of `shape` with, at least one of them."""
    common = draw(shapes(max_dims=2))
    result: list[Tensor | None] = []
    for size in shape:
        if not size or draw(st.booleans()):
            result.append(None)
        else:
            sizes = draw(broadcastable(common))
            result.append(draw(positions(sizes, size, low=-size)))
    return result


@dataclasses.dataclass(frozen=True)
class Indexed:
    """A tensor and what to index it with."""

    x: Tensor
    indices: list[Tensor | None]

    def indices_there(self) -> list[Tensor | None]:
        return [None if i is None else there(i) for i in self.indices]

    def place(self) -> Tensor:
        """Flat positions of what is indexed."""
        flat = torch.arange(self.x.numel()).reshape(self.x.shape)
        return aten.index(flat, self.indices)


@st.composite
def indexed(draw: st.DrawFn, finite: bool = False) -> Indexed:
    shape = draw(shapes(min_dims=1))
    lists = index_lists(shape).filter(lambda list_: any(i is not None for i in list_))
    if 0 in shape and not any(shape):
        shape = [*shape[:-1], 1]
        lists = index_lists(shape).filter(lambda list_: list_[-1] is not None)
    x = draw(tensors(draw(st.sampled_from(ALL)), shape, finite))
    return Indexed(x, draw(lists))


@properties
@given(case=indexed())
def test_index(native, case: Indexed) -> None:
    expected = aten.index(case.x, case.indices)
    with native("index.Tensor"):
        got = aten.index(there(case.x), case.indices_there())
    assert_same(got, expected, EXACT)


@properties
@given(data=st.data())
def test_index_with_masks(native, data: Any) -> None:
    shape = data.draw(shapes(min_dims=1))
    x = data.draw(tensors(data.draw(st.sampled_from(ALL)), shape))
    first = data.draw(st.integers(0, len(shape) - 1))
    last = data.draw(st.integers(first + 1, len(shape)))
    mask = data.draw(tensors(torch.bool, shape[first:last]))
    with native("index.Tensor"):
        got = aten.index(there(x), [None] * first + [there(mask)])
    assert_same(got, aten.index(x, [None] * first + [mask]), EXACT)


@properties
@given(case=indexed(), data=st.data())
def test_index_put(native, case: Indexed, data: Any) -> None:
    place = case.place()
    sizes = data.draw(broadcastable(place.shape))
    values = data.draw(tensors(case.x.dtype, sizes))
    with native("_index_put_impl_"):
        got = aten.index_put(there(case.x), case.indices_there(), there(values))
    assert written(place, case.x, got.cpu(), values.expand(place.shape))


@properties
@given(case=indexed(finite=True), data=st.data())
def test_index_put_that_adds(native, case: Indexed, data: Any) -> None:
    sizes = data.draw(broadcastable(case.place().shape))
    values = data.draw(tensors(case.x.dtype, sizes, finite=True))
    expected = aten.index_put(case.x, case.indices, values, True)
    with native("_index_put_impl_"):
        got = aten.index_put(
            there(case.x), case.indices_there(), there(values), accumulate=True
        )
    assert_same(got, expected)


@properties
@given(case=indexed(finite=True), data=st.data())
def test_index_put_in_place(native, case: Indexed, data: Any) -> None:
    here = writable(case.x)
    y = there(here)
    values = data.draw(tensors(here.dtype, case.place().shape, finite=True))
    aten.index_put_(here, case.indices, values, True)
    with native("_index_put_impl_"):
        aten.index_put_(y, case.indices_there(), there(values), True)
    assert_same(memory(y), memory(here))


@dataclasses.dataclass(frozen=True)
class Lines:
    """Arguments of gather and scatter."""

    x: Tensor
    dim: int
    index: Tensor
    source: Tensor

    def place(self) -> Tensor:
        """Flat positions in `x` that the index names."""
        flat = torch.arange(self.x.numel()).reshape(self.x.shape)
        return flat.gather(self.dim, self.index)

    def chosen(self) -> Tensor:
        """The elements of the source that go there."""
        return self.source[tuple(slice(0, size) for size in self.index.shape)]


@st.composite
def lines(
    draw: st.DrawFn, dtypes: Sequence[torch.dtype] = ALL, finite: bool = False
) -> Lines:
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes())
    dim = draw(dims(shape))
    sizes = [draw(st.integers(0, size)) for size in shape]
    if shape:
        sizes[dim] = draw(st.integers(0, 4)) if shape[dim] else 0
    index = draw(positions(sizes, shape[dim] if shape else 1))
    source_sizes = [size + draw(st.integers(0, 2)) for size in sizes]
    return Lines(
        draw(tensors(dtype, shape, finite)),
        dim,
        index,
        draw(tensors(dtype, source_sizes, finite)),
    )


@properties
@given(case=lines())
def test_gather(native, case: Lines) -> None:
    with native("gather"):
        got = torch.gather(there(case.x), case.dim, there(case.index))
    assert_same(got, torch.gather(case.x, case.dim, case.index), EXACT)


@properties
@given(case=lines())
def test_scatter(native, case: Lines) -> None:
    with native("scatter.src"):
        got = torch.scatter(
            there(case.x), case.dim, there(case.index), there(case.source)
        )
    assert written(case.place(), case.x, got.cpu(), case.chosen())


@properties
@given(case=lines(), value=st.sampled_from([0, 1, 2]))
def test_scatter_of_a_number(native, case: Lines, value: int) -> None:
    with native("scatter.value"):
        got = torch.scatter(there(case.x), case.dim, there(case.index), value)
    assert_same(got, torch.scatter(case.x, case.dim, case.index, value), EXACT)


@properties
@given(case=lines(finite=True))
def test_scatter_add(native, case: Lines) -> None:
    arguments = (case.x, case.dim, case.index, case.source)
    with native("scatter_add"):
        got = torch.scatter_add(
            there(case.x), case.dim, there(case.index), there(case.source)
        )
    assert_same(got, torch.scatter_add(*arguments))


@properties
@given(case=lines(finite=True))
def test_scatter_add_in_place(native, case: Lines) -> None:
    here = writable(case.x)
    y = there(here)
    here.scatter_add_(case.dim, case.index, case.source)
    with native("scatter_add_"):
        y.scatter_add_(case.dim, there(case.index), there(case.source))
    assert_same(memory(y), memory(here))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@properties
@given(case=lines(NUMBERS, finite=True), include_self=st.booleans())
def test_scatter_reduce(native, reduce: str, case: Lines, include_self: bool) -> None:
    options = {"reduce": reduce, "include_self": include_self}
    expected = torch.scatter_reduce(
        case.x, case.dim, case.index, case.source, **options
    )
    with native("scatter_reduce.two"):
        got = torch.scatter_reduce(
            there(case.x), case.dim, there(case.index), there(case.source), **options
        )
    assert_same(got, expected)


@st.composite
def selections(draw: st.DrawFn) -> tuple[Tensor, int, Tensor]:
    shape = draw(shapes())
    x = draw(tensors(draw(st.sampled_from(ALL)), shape))
    dim = draw(dims(shape))
    size = shape[dim] if shape else 1
    count = draw(st.integers(0, 4)) if size else 0
    return x, dim, draw(positions([count] if shape else [1], size))


@properties
@given(case=selections())
def test_index_select(native, case: tuple[Tensor, int, Tensor]) -> None:
    x, dim, index = case
    with native("index_select"):
        got = torch.index_select(there(x), dim, there(index))
    assert_same(got, torch.index_select(x, dim, index), EXACT)


@properties
@given(case=selections(), value=st.sampled_from([0, 1, 2]))
def test_index_fill(native, case: tuple[Tensor, int, Tensor], value: int) -> None:
    x, dim, index = case
    with native("index_fill_.int_Scalar"):
        got = torch.index_fill(there(x), dim, there(index), value)
    assert_same(got, torch.index_fill(x, dim, index, value), EXACT)


@properties
@given(case=selections(), data=st.data())
def test_index_copy(native, case: tuple[Tensor, int, Tensor], data: Any) -> None:
    x, dim, index = case
    place = torch.arange(x.numel()).reshape(x.shape).index_select(dim, index)
    source = data.draw(tensors(x.dtype, place.shape))
    with native("index_copy"):
        got = torch.index_copy(there(x), dim, there(index), there(source))
    assert written(place, x, got.cpu(), source)


@properties
@given(data=st.data())
def test_take(native, data: Any) -> None:
    x = data.draw(tensors(data.draw(st.sampled_from(ALL)), data.draw(shapes())))
    sizes = data.draw(shapes(max_dims=2)) if x.numel() else [0]
    index = data.draw(positions(sizes, x.numel(), low=-x.numel()))
    with native("take"):
        got = torch.take(there(x), there(index))
    assert_same(got, torch.take(x, index), EXACT)


@properties
@given(data=st.data(), seed=st.integers(0, 2**31), slots=st.integers(1, 300))
def test_many_elements_of_few_positions(
    native, data: Any, seed: int, slots: int
) -> None:
    dtype = data.draw(st.sampled_from((torch.float64, torch.int64, torch.int32)))
    source = data.draw(long_tensors(dtype, finite=True))
    random = torch.Generator().manual_seed(seed)
    index = torch.randint(slots, source.shape, generator=random)
    x = torch.zeros(len(source), slots, dtype=dtype)
    y, i, s = there(x), there(index), there(source)
    expected = x.scatter_add(1, index, source)
    with native("scatter_add", "scatter_reduce.two", "gather", "_index_put_impl_"):
        assert_same(y.scatter_add(1, i, s), expected)
        assert_same(
            y.scatter_reduce(1, i, s, "amax", include_self=False),
            x.scatter_reduce(1, index, source, "amax", include_self=False),
        )
        assert_same(y.gather(1, i), x.gather(1, index))
        rows = torch.arange(len(source)).unsqueeze(1)
        assert_same(aten.index_put(y, [there(rows), i], s, True), expected)
