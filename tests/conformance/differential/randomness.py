# SPDX-License-Identifier: Apache-2.0
"""Checks operators that draw random numbers, whose values cannot be compared.

The same seed has to give the same bits, and many draws the distribution of the
CPU's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.conformance.differential.layout import Relocation, tensors_of

_DRAWS = 200
# Elements kept of each draw; all count as one draw, since they may depend on
# each other.
_KEPT = 64
# Chance that equal distributions are called different. Seeds are fixed, so that
# the outcome is always the same.
_FALSE_ALARM = 1e-9

Draw = Callable[[], Any]


def _flat(results: Any) -> torch.Tensor:
    parts = [t.detach().cpu().flatten()[:_KEPT].double() for t in tensors_of(results)]
    return torch.cat(parts) if parts else torch.empty(0, dtype=torch.float64)


def _distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Largest difference between two empirical distribution functions."""
    points = torch.cat([left, right]).sort().values
    a = torch.searchsorted(left.sort().values, points, right=True) / left.numel()
    b = torch.searchsorted(right.sort().values, points, right=True) / right.numel()
    return float((a - b).abs().max())


def _drawn(draw: Draw, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.cat([_flat(draw()) for _ in range(_DRAWS)])


def problem(call: Callable[[Any], Any], arguments: Any, device: str) -> str:
    """What is wrong with the numbers that `call` draws on `device`, else "".

    Args:
        call: Computes results from arguments.
        arguments: Tree of arguments on the CPU.
        device: The device to check.
    """

    def draw(where: str) -> Draw:
        return lambda: call(Relocation(where)(arguments))

    torch.manual_seed(1)
    first = _flat(draw(device)())
    if first.numel() == 0:
        return ""
    torch.manual_seed(1)
    again = _flat(draw(device)())
    if not torch.equal(first.nan_to_num(), again.nan_to_num()):
        return "the same seed gives other numbers"
    host, ours = _drawn(draw("cpu"), 2), _drawn(draw(device), 3)
    if _repeats(ours) and not _repeats(host):
        return "every draw gives the same numbers"
    distance = _distance(ours.nan_to_num(), host.nan_to_num())
    limit = math.sqrt(-math.log(_FALSE_ALARM / 2) / _DRAWS)
    if distance > limit:
        return f"distributed otherwise than the CPU's: {distance:.2f} apart"
    return ""


def _repeats(drawn: torch.Tensor) -> bool:
    """True when all draws are the same: chance decides nothing, or nothing left."""
    draws = drawn.view(_DRAWS, -1)
    return bool((draws == draws[0]).all())
