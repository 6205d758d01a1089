# SPDX-License-Identifier: Apache-2.0
"""The same call on the CPU and on the device.

    check(native, "cumprod", torch.cumprod, x, 1)
    compare(native("elu"), F.elu, [x], LAYOUTS["transposed"])

Tensors on the device have the strides of those on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from tests.conformance.comparing import (
    DEVICE,
    Results,
    as_list,
    assert_near,
    assert_same,
)
from tests.conformance.inputs import LAYOUTS, Layout

Computation = Callable[..., Results]
# Holds during a call on the device, such as native("elu").
Expectation = AbstractContextManager[None]


def to_device(value: Any) -> Any:
    """Tensors in nested lists and tuples on the device, with their strides."""
    if isinstance(value, Tensor):
        there = torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device=DEVICE
        )
        return there.copy_(value) if value.numel() else there
    if isinstance(value, (list, tuple)):
        return type(value)(to_device(v) for v in value)
    return value


def _on_both(
    expectation: Expectation,
    function: Computation,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[Results, Results]:
    there = to_device(args)
    named = {k: to_device(v) for k, v in kwargs.items()}
    expected = function(*args, **kwargs)
    with expectation:
        got = function(*there, **named)
    return got, expected


def check(
    native: Callable[..., Expectation],
    operator: str,
    function: Computation,
    *args: Any,
    **kwargs: Any,
) -> None:
    """`function(*args)` on the device gives what it gives on the CPU.

    Args:
      native: the fixture.
      operator: what must have run on the device.
      function: called with the other arguments.
    """
    assert_same(*_on_both(native(operator), function, args, kwargs))


def check_out(
    native: Callable[..., Expectation],
    operator: str,
    function: Computation,
    *args: Any,
) -> None:
    """The same with `out=`: empty ones, and ones of other strides."""
    expected = function(*args)
    results = [t for t in as_list(expected) if t is not None]
    there = to_device(args)
    for spaced in (False, True):
        outs = [torch.empty(0, dtype=t.dtype) for t in results]
        if spaced:
            outs = [t.new_empty(*t.shape, 2).select(-1, 0) for t in results]
        outs = [to_device(t) for t in outs]
        strides = [t.stride() for t in outs]
        out = outs[0] if isinstance(expected, Tensor) else tuple(outs)
        with native(operator):
            function(*there, out=out)
        assert_same(outs, expected)
        assert not spaced or [t.stride() for t in outs] == strides


def check_inplace(
    native: Callable[..., Expectation],
    operator: str,
    method: str,
    self: Tensor,
    *args: Any,
    **kwargs: Any,
) -> None:
    """`self.method(*args)` on the device gives what it gives on the CPU."""
    there = to_device((self, args))
    expected = getattr(self.clone(), method)(*args, **kwargs)
    with native(operator):
        got = getattr(there[0], method)(*there[1], **kwargs)
    assert got is there[0]
    assert_same(got, expected)


def check_gradients(
    no_fallback: Callable[..., Expectation],
    function: Computation,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Gradients on the device are those on the CPU."""
    assert_same(*_on_both(no_fallback(), gradients(function), args, kwargs))


def compare(
    expectation: Expectation,
    computation: Computation,
    arguments: Sequence[Tensor],
    layout: Layout = LAYOUTS["contiguous"],
) -> None:
    """`computation` of the arguments, by another method than the CPU's.

    Args:
      expectation: what holds during the computation on the device.
      computation: called with the arguments in the layout.
      arguments: on the CPU.
      layout: one of LAYOUTS.
    """
    host = [layout(argument) for argument in arguments]
    assert_near(*_on_both(expectation, computation, host, {}))


def gradients(computation: Computation) -> Computation:
    """The computation of the gradients of floating arguments, for gradients of
    the results that differ from element to element."""

    def run(*args: Any, **kwargs: Any) -> Results:
        args = tuple(a.detach() if isinstance(a, Tensor) else a for a in args)
        leaves = [a for a in args if isinstance(a, Tensor) and a.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad_()
        every = as_list(computation(*args, **kwargs))
        results = [r for r in every if r is not None and r.grad_fn]
        seeds = [
            ((torch.arange(r.numel()) % 7 - 3) / 2).reshape(r.shape).to(r)
            for r in results
        ]
        return torch.autograd.grad(results, leaves, seeds, allow_unused=True)

    return run
