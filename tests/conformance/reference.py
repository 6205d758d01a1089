# SPDX-License-Identifier: Apache-2.0
"""Comparing an operator on the device with the same operator on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
# What rounding once instead of at every step may change.
TOLERANCES = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.float16: 4e-3,
    torch.bfloat16: 3e-2,
}


def name(value: object) -> str:
    """Identifies a parameter of a test."""
    return str(value).removeprefix("torch.")


def make(dtype: torch.dtype, *sizes: int, low: int = -9, high: int = 9) -> torch.Tensor:
    """Random elements: small integers, or numbers that few types round."""
    if dtype is torch.bool:
        return torch.randint(0, 2, sizes).bool()
    if not dtype.is_floating_point:
        low = 0 if dtype is torch.uint8 else low
        return torch.randint(low, high, sizes).to(dtype)
    return torch.randn(sizes, dtype=torch.float64).to(dtype)


def layouts(tensor: torch.Tensor) -> Iterable[torch.Tensor]:
    """The tensor itself, and its elements in memory of other strides."""
    yield tensor
    if tensor.dim() > 1:
        yield tensor.transpose(0, -1).contiguous().transpose(0, -1)
    if tensor.dim() > 0:
        wide = tensor.new_zeros(*tensor.shape[:-1], 2 * tensor.shape[-1])
        wide[..., ::2] = tensor
        yield wide[..., ::2]


def to_device(value: Any, device: str) -> Any:
    """Tensors in nested lists and tuples on the device, with their strides."""
    if isinstance(value, torch.Tensor):
        there = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=device
        )
        return there.copy_(value) if value.numel() else there
    if isinstance(value, (list, tuple)):
        return type(value)(to_device(v, device) for v in value)
    return value


def tensors(result: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return [result] if isinstance(result, torch.Tensor) else list(result)


def assert_same(got: Any, expected: Any, tolerance: float | None = None) -> None:
    """Same types, sizes and values; NaN is the same as NaN."""
    for a, b in zip(tensors(got), tensors(expected), strict=True):
        assert a.device.type == "dipu"
        assert a.dtype is b.dtype
        bound = TOLERANCES.get(b.dtype, 0) if tolerance is None else tolerance
        torch.testing.assert_close(
            a.detach().cpu(), b.detach(), rtol=bound, atol=bound, equal_nan=True
        )


def check(
    native: Callable[..., Any],
    operator: str,
    function: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> None:
    """`function(*args)` on the device gives what it gives on the CPU.

    Args:
      native: the fixture.
      operator: what must have run on the device.
    """
    expected = function(*args, **kwargs)
    there = to_device(args, "dipu")
    named = {k: to_device(v, "dipu") for k, v in kwargs.items()}
    with native(operator):
        got = function(*there, **named)
    assert_same(got, expected)


def check_out(
    native: Callable[..., Any],
    operator: str,
    function: Callable[..., Any],
    *args: Any,
) -> None:
    """The same with `out=`: empty ones, and ones of other strides."""
    expected = function(*args)
    there = to_device(args, "dipu")
    for spaced in (False, True):
        outs = [torch.empty(0, dtype=t.dtype) for t in tensors(expected)]
        if spaced:
            outs = [t.new_empty(*t.shape, 2).select(-1, 0) for t in tensors(expected)]
        outs = [to_device(t, "dipu") for t in outs]
        strides = [t.stride() for t in outs]
        out = outs[0] if isinstance(expected, torch.Tensor) else tuple(outs)
        with native(operator):
            function(*there, out=out)
        assert_same(outs, expected)
        assert not spaced or [t.stride() for t in outs] == strides


def check_inplace(
    native: Callable[..., Any],
    operator: str,
    method: str,
    self: torch.Tensor,
    *args: Any,
    **kwargs: Any,
) -> None:
    """`self.method(*args)` on the device gives what it gives on the CPU."""
    there = to_device((self, args), "dipu")
    expected = getattr(self.clone(), method)(*args, **kwargs)
    with native(operator):
        got = getattr(there[0], method)(*there[1], **kwargs)
    assert got is there[0]
    assert_same(got, expected)


def check_gradients(
    no_fallback: Callable[..., Any],
    function: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> None:
    """Gradients in float64 of a weighted sum of the first floating result."""

    def run(values: tuple[Any, ...], weights: torch.Tensor) -> list[torch.Tensor]:
        result = tensors(function(*values, **kwargs))[0]
        wanted = [v for v in values if getattr(v, "requires_grad", False)]
        return list(torch.autograd.grad((result * weights).sum(), wanted))

    def leaves(device: str) -> tuple[Any, ...]:
        return tuple(
            v.detach().requires_grad_()
            if isinstance(v, torch.Tensor) and v.is_floating_point()
            else v
            for v in to_device(args, device)
        )

    with torch.no_grad():
        weights = torch.randn_like(tensors(function(*args, **kwargs))[0])
    expected = run(leaves("cpu"), weights)
    with no_fallback():
        got = run(leaves("dipu"), weights.to("dipu"))
    assert_same(got, expected)
