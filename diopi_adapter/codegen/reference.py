# SPDX-License-Identifier: Apache-2.0
"""What an operator computes for a sample, by torch on the CPU."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from diopi_adapter.codegen import aten, model, sample


@dataclasses.dataclass(frozen=True)
class Argument:
    """A tensor of a call.

    Attributes:
      before: its elements before the call; None for a new one.
      after: its elements after the call; None when the call only reads it.
    """

    before: torch.Tensor | None
    after: torch.Tensor | None

    @property
    def tensor(self) -> torch.Tensor:
        """What tells type, sizes and strides."""
        either = self.after if self.before is None else self.before
        assert either is not None
        return either


Value = Argument | bool | int | float | str | None | tuple["Value", ...]


@dataclasses.dataclass(frozen=True)
class Computed:
    """Values of arguments and results by name.

    Attributes:
      values: the given ones, the defaults of others, and the results.
      has_number: whether a number stands in place of a tensor.
    """

    values: dict[str, Value]
    has_number: bool


def compute(entry: model.Entry, given: model.Sample) -> Computed:
    """Runs the operator of `entry` on the CPU.

    Raises:
      model.SpecError: torch refuses the sample.
    """
    schema = aten.find(entry.op)
    assert schema is not None, "checked before"
    maker = _Maker()
    before = {name: maker.value(value) for name, value in given.arguments}
    after = {name: _copy(value) for name, value in before.items()}
    try:
        results = _operator(entry.op)(**_unwrapped(after, schema))
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise entry.error(f"torch refuses the sample: {reason}", given.line) from error
    types = {a.name: a.type for a in schema.arguments}
    values = {name: _default(entry.op, name) for name in types}
    written = {a.name for a in schema.arguments if a.mutable} | {*entry.mutates}
    written |= {name for name in schema.outputs if name in before}
    for name, value in before.items():
        values[name] = _pair(value, after[name] if name in written else None)
    listed = (results,) if isinstance(results, torch.Tensor) else (results or ())
    for name, result in zip(schema.outputs, listed, strict=False):
        if name not in before:
            values[name] = Argument(None, result.contiguous())
    for name, target in entry.cast:
        values[name] = _cast(values[name], values[target])
    numbers = [n for n, v in before.items() if _is_number(v, types.get(n))]
    return Computed(values, bool(numbers))


def _is_number(value: Any, type_: str | None) -> bool:
    return type_ == "Tensor" and isinstance(value, (bool, int, float))


def _operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _unwrapped(values: dict[str, Any], schema: aten.Schema) -> dict[str, Any]:
    """Arguments as torch takes them."""
    types = {a.name: a.type for a in schema.arguments}
    result = {}
    for name, value in values.items():
        if _is_number(value, types.get(name)):
            kind = torch.float64 if isinstance(value, float) else torch.int64
            value = torch.scalar_tensor(value, dtype=kind)
        result[name] = list(value) if isinstance(value, tuple) else value
    return result


def _default(op: str, name: str) -> Value:
    for argument in _operator(op)._schema.arguments:
        if argument.name == name and argument.has_default_value():
            value = argument.default_value
            return tuple(value) if isinstance(value, list) else value
    return None


def _copy(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_copy(v) for v in value)
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype
        ).copy_(value)
    return value


def _pair(before: Any, after: Any) -> Value:
    if isinstance(before, torch.Tensor):
        return Argument(before, after)
    if isinstance(before, tuple):
        others = after if isinstance(after, tuple) else [None] * len(before)
        return tuple(_pair(b, a) for b, a in zip(before, others, strict=True))
    return before


def _cast(value: Value, target: Value) -> Value:
    assert isinstance(target, Argument)
    if isinstance(value, tuple):
        return tuple(_cast(v, target) for v in value)
    if isinstance(value, Argument) and value.before is not None:
        return Argument(value.before.to(target.tensor.dtype), value.after)
    return value


class _Maker:
    """Makes tensors whose elements depend on nothing but the sample."""

    def __init__(self) -> None:
        self._made = 0

    def value(self, value: sample.Value) -> Any:
        if isinstance(value, tuple):
            return tuple(self.value(v) for v in value)
        return self._tensor(value) if isinstance(value, sample.Tensor) else value

    def _tensor(self, wanted: sample.Tensor) -> torch.Tensor:
        self._made += 1
        dtype = getattr(torch, wanted.dtype)
        count = math.prod(wanted.sizes)
        given = wanted.elements
        spread = _spread(dtype, count, wanted.limits, self._made)
        numbers = spread if given is None else list(given)
        if not dtype.is_floating_point:
            numbers = [int(number) for number in numbers]
        tensor = torch.tensor(numbers, dtype=dtype).reshape(wanted.sizes)
        if wanted.transposed and tensor.dim() > 1:
            tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1)
        return tensor


def _spread(
    dtype: torch.dtype, count: int, limits: tuple[float, float] | None, seed: int
) -> list[float]:
    """Numbers between the limits without an order that a kernel could profit from."""
    low, high = limits or _limits(dtype)
    steps = [((i + seed) ** 2 * 7919 + i) % 997 / 997 for i in range(count)]
    numbers = [low + (high - low) * step for step in steps]
    return numbers if dtype.is_floating_point else [math.floor(n) for n in numbers]


def _limits(dtype: torch.dtype) -> tuple[float, float]:
    if dtype is torch.bool:
        return 0, 2
    if dtype.is_floating_point:
        return -2, 2
    return (0, 10) if dtype is torch.uint8 else (-9, 10)
