# SPDX-License-Identifier: Apache-2.0
"""Whether the device's results are those of the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

DEVICE = "dipu"

Results = Tensor | Sequence[Tensor | None]
Bounds = Mapping[torch.dtype, tuple[float, float]]

# Relative and absolute differences. Other types have to be equal.
EXACT: Bounds = {}
# What rounding once instead of at every step may change.
ROUNDING: Bounds = {
    torch.float64: (1e-12, 1e-12),
    torch.float32: (1e-5, 1e-5),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}
# What another method of computing a function may change. The CPU keeps some
# constants of float64 functions in float32.
METHOD: Bounds = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (2e-5, 2e-6),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
}


def as_list(results: Results) -> list[Tensor | None]:
    """One result or several as a list."""
    return [results] if isinstance(results, Tensor) else list(results)


def assert_same(
    got: Results, expected: Results, bounds: Bounds = ROUNDING, error: float = 0.0
) -> None:
    """Same types, sizes and values; NaN is the same as NaN.

    Args:
      got: on the device.
      expected: on the CPU.
      bounds: how far values may differ, by their type.
      error: of the expected values, where it is above the bound.
    """
    for a, b in zip(as_list(got), as_list(expected), strict=True):
        if a is None or b is None:
            assert a is b
            continue
        assert a.device.type == DEVICE
        rtol, atol = bounds.get(b.dtype, (0.0, 0.0))
        torch.testing.assert_close(
            a.detach().cpu(),
            b.detach(),
            rtol=rtol,
            atol=max(atol, error),
            equal_nan=True,
        )


def assert_near(got: Results, expected: Results, error: float = 0.0) -> None:
    """The same for functions that the device computes by another method."""
    assert_same(got, expected, METHOD, error)
