# SPDX-License-Identifier: Apache-2.0
"""Sample arguments from PyTorch's databases, made on the CPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import torch
from torch.testing._internal.opinfo import core

T = TypeVar("T")

# How many samples are looked at to choose from; some entries have thousands.
_LOOK = 60


def spread(items: Iterable[T], count: int) -> list[T]:
    """`count` of the items, evenly spread, the first among them; 0 means all.

    Looks at the first `_LOOK` items only, so that a choice costs little.
    """
    if count == 0:
        return list(items)
    seen = list(itertools.islice(items, _LOOK))
    count = min(count, len(seen))
    return [seen[i * len(seen) // count] for i in range(count)]


def _unary_extremal(info: Any, dtype: torch.dtype) -> Iterator[core.SampleInput]:
    common = {"device": "cpu", "dtype": dtype}
    yield from core.generate_elementwise_unary_extremal_value_tensors(info, **common)
    yield from core.generate_elementwise_unary_small_value_tensors(info, **common)
    if info.handles_large_floats:
        yield from core.generate_elementwise_unary_large_value_tensors(info, **common)


def _binary_extremal(info: Any, dtype: torch.dtype) -> Iterator[core.SampleInput]:
    common = {"device": "cpu", "dtype": dtype}
    yield from core.generate_elementwise_binary_extremal_value_tensors(info, **common)
    yield from core.generate_elementwise_binary_small_value_tensors(info, **common)
    if info.supports_rhs_python_scalar:
        yield from core.generate_elementwise_binary_large_value_tensors(info, **common)


def _sprinkled(sample: core.SampleInput, value: float) -> core.SampleInput:
    """The sample with every third element of its input replaced."""

    def put(item: Any) -> Any:
        if item is not sample.input:
            return item
        changed = item.clone()
        changed.view(-1)[::3] = value
        return changed

    return sample.transform(put)


def _reduction_extremal(info: Any, dtype: torch.dtype) -> Iterator[core.SampleInput]:
    samples = info.sample_inputs("cpu", dtype)
    for sample, value in zip(
        samples, itertools.cycle((torch.nan, torch.inf, -torch.inf)), strict=False
    ):
        yield _sprinkled(sample, value)


def extremal(info: Any, dtype: torch.dtype) -> Iterator[core.SampleInput]:
    """Samples with NaN, infinities, tiny and huge values, where they are defined."""
    if not dtype.is_floating_point:
        return iter(())
    if isinstance(info, core.UnaryUfuncInfo):
        return _unary_extremal(info, dtype)
    if isinstance(info, core.BinaryUfuncInfo):
        return _binary_extremal(info, dtype)
    if isinstance(info, core.ReductionOpInfo):
        return _reduction_extremal(info, dtype)
    return iter(())


def ordinary(
    info: Any, dtype: torch.dtype, gradients: bool
) -> Iterator[core.SampleInput]:
    """The database's samples; with gradients, some of the inputs require them."""
    return info.sample_inputs("cpu", dtype, requires_grad=gradients)
