# SPDX-License-Identifier: Apache-2.0
"""Random tensors and the settings of the property tests.

Elements come from a few values, so that equal ones, NaN and infinities meet in
the small tensors that hypothesis finds its counterexamples with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis
import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.conformance.comparing import DEVICE
from tests.conformance.inputs import FLOATS, INTEGERS, transposed

ALL = (*FLOATS, *INTEGERS, torch.bool)
NUMBERS = (*FLOATS, *INTEGERS)

# The same examples in every run. `native` is a function without state, so it may
# serve all examples of a test.
properties = hypothesis.settings(
    max_examples=80,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[
        hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.too_slow,
    ],
)

_FINITE = (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0)
_SPECIAL = (math.nan, math.inf, -math.inf)


def _elements(dtype: torch.dtype, finite: bool) -> Sequence[Any]:
    if dtype is torch.bool:
        return (False, True)
    if dtype.is_floating_point:
        return _FINITE if finite else _FINITE + _SPECIAL
    low = 0 if dtype is torch.uint8 else -3
    limits = torch.iinfo(dtype)
    return (*range(low, 4), *(() if finite else (limits.min, limits.max)))


def _spaced(x: Tensor) -> Tensor:
    return torch.stack([x, x], -1)[..., 1]


def _expanded(x: Tensor) -> Tensor:
    return x[:1].expand(x.shape) if x.dim() and x.shape[0] else x


# Views with other strides; the last one repeats its first line.
LAYOUTS: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda x: x,
    transposed,
    _spaced,
    _expanded,
)


def shapes(min_dims: int = 0, max_dims: int = 3) -> st.SearchStrategy[list[int]]:
    """Sizes, among them zero."""
    return st.lists(st.integers(0, 4), min_size=min_dims, max_size=max_dims)


@st.composite
def tensors(
    draw: st.DrawFn,
    dtype: torch.dtype,
    shape: Sequence[int],
    finite: bool = False,
) -> Tensor:
    """A tensor of `shape` in one of LAYOUTS.

    Args:
      draw: given by hypothesis.
      dtype: of the elements.
      shape: sizes.
      finite: whether NaN, infinities and the limits of integers are left out.
    """
    count = math.prod(shape)
    element = st.sampled_from(_elements(dtype, finite))
    values = draw(st.lists(element, min_size=count, max_size=count))
    layout = draw(st.sampled_from(LAYOUTS))
    return layout(torch.tensor(values, dtype=dtype).reshape(list(shape)))


@st.composite
def long_tensors(draw: st.DrawFn, dtype: torch.dtype, finite: bool = False) -> Tensor:
    """A few lines, longer than what kernels work on at a time."""
    sizes = (draw(st.integers(1, 3)), draw(st.integers(200, 1200)))
    random = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    pool = torch.tensor(_elements(dtype, finite), dtype=dtype)
    x = pool[torch.randint(len(pool), sizes, generator=random)]
    return draw(st.sampled_from((x, transposed(x), _spaced(x))))


def dims(shape: Sequence[int]) -> st.SearchStrategy[int]:
    """A dimension, counted from either end; a number has one."""
    count = max(len(shape), 1)
    return st.integers(-count, count - 1)


@st.composite
def positions(draw: st.DrawFn, shape: Sequence[int], size: int, low: int = 0) -> Tensor:
    """An int64 tensor of elements from `low` to below `size`, in some layout."""
    count = math.prod(shape)
    values = [draw(st.integers(low, size - 1)) for _ in range(count)]
    layout = draw(st.sampled_from(LAYOUTS))
    return layout(torch.tensor(values, dtype=torch.int64).reshape(list(shape)))


def memory(x: Tensor) -> Tensor:
    """All of the memory that `x` is a part of."""
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())


def there(x: Tensor) -> Tensor:
    """`x` on the device: the same strides over a copy of its memory."""
    return memory(x).to(DEVICE).as_strided(x.shape, x.stride(), x.storage_offset())


def writable(x: Tensor) -> Tensor:
    """`x`, or a copy when its elements share memory."""
    steps = zip(x.shape, x.stride(), strict=True)
    shared = any(size > 1 and stride == 0 for size, stride in steps)
    return x.contiguous() if shared else x


def same(a: Tensor, b: Tensor) -> bool:
    """Equal in type, sizes and elements; NaN equals NaN, and -0 equals 0."""
    return (
        a.dtype is b.dtype
        and a.shape == b.shape
        and bool(((a == b) | ((a != a) & (b != b))).all())
    )
