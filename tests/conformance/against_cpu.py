# SPDX-License-Identifier: Apache-2.0
"""The same computation on the CPU and on the device.

    with_layout = LAYOUTS["transposed"]
    compare(native("elu"), F.elu, [x], layout=with_layout)

A computation is a function of tensors that returns tensors. It runs on the
host's tensors and on copies on the device, which have the same strides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

DEVICE = "dipu"

Results = Tensor | Sequence[Tensor | None]
Computation = Callable[..., Results]
Layout = Callable[[Tensor], Tensor]

# Views of the given values with other strides.
LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda t: t,
    "transposed": lambda t: (
        t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t
    ),
    "sliced": lambda t: torch.stack([t, t], -1)[..., 0],
}

# Relative and absolute differences that rounding explains. The CPU keeps some
# constants of float64 functions in float32.
TOLERANCES = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (2e-5, 2e-6),
    torch.float16: (4e-3, 2e-3),
    torch.bfloat16: (3e-2, 1e-2),
}
FLOATING = tuple(TOLERANCES)


def as_list(results: Results) -> list[Tensor | None]:
    """One result or several as a list."""
    return [results] if isinstance(results, Tensor) else list(results)


def assert_same(actual: Results, expected: Results) -> None:
    """Results of the device against those of the CPU; NaN equals NaN."""
    pairs = zip(as_list(actual), as_list(expected), strict=True)
    for one, other in pairs:
        if one is None or other is None:
            assert one is other
            continue
        assert one.device.type == DEVICE
        rtol, atol = TOLERANCES.get(other.dtype, (0.0, 0.0))
        torch.testing.assert_close(
            one.cpu(), other, rtol=rtol, atol=atol, equal_nan=True
        )


def compare(
    expectation: contextlib.AbstractContextManager[None],
    computation: Computation,
    arguments: Sequence[Tensor],
    layout: Layout = LAYOUTS["contiguous"],
) -> None:
    """Runs `computation` on both sides and compares.

    Args:
      expectation: what holds during the computation on the device, such as
        native("elu").
      computation: called with the arguments in the layout.
      arguments: on the CPU.
      layout: one of LAYOUTS.
    """
    there = [layout(argument.to(DEVICE)) for argument in arguments]
    expected = computation(*(layout(argument) for argument in arguments))
    with expectation:
        actual = computation(*there)
    assert_same(actual, expected)


def gradients(computation: Computation) -> Computation:
    """The computation of the gradients of floating arguments, for gradients of
    the results that differ from element to element."""

    def run(*arguments: Tensor) -> Results:
        leaves = [a.detach() for a in arguments]
        floating = [a.requires_grad_() for a in leaves if a.is_floating_point()]
        results = [
            r for r in as_list(computation(*leaves)) if r is not None and r.grad_fn
        ]
        seeds = [
            ((torch.arange(r.numel()) % 7 - 3) / 2).reshape(r.shape).to(r)
            for r in results
        ]
        return torch.autograd.grad(results, floating, seeds, allow_unused=True)

    return run
