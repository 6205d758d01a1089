# SPDX-License-Identifier: Apache-2.0
"""Operators that only the CPU has, and what their fallbacks are recorded as."""

from __future__ import annotations

import inspect

import torch
import torch_dipu
from torch_dipu import Fallback

NO_KERNEL = "the device has no kernel for it"
FORCED = "it is forced to"
SCALED = "dipu_accounting::scaled"

# Operators that the CPU has computed.
cpu_calls: list[str] = []


def _scale_in_place(x: torch.Tensor) -> torch.Tensor:
    cpu_calls.append("scaled_")
    return x.mul_(3)


_LIBRARY = torch.library.Library("dipu_accounting", "DEF")
_LIBRARY.define("scaled(Tensor x) -> Tensor")
_LIBRARY.define("scaled_(Tensor(a!) x) -> Tensor(a!)")
_LIBRARY.define("scaled.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
_LIBRARY.define("failing(Tensor x) -> Tensor")
_LIBRARY.define("inner(Tensor x) -> Tensor")
_LIBRARY.define("outer(Tensor x) -> Tensor")
_LIBRARY.impl("scaled", lambda x: x * 3, "CPU")
_LIBRARY.impl("scaled_", _scale_in_place, "CPU")
_LIBRARY.impl("scaled.out", lambda x, *, out: torch.mul(x, 3, out=out), "CPU")
ops = torch.ops.dipu_accounting
scaled = ops.scaled


def here(lines_ago: int = 0) -> str:
    """The caller's line, or one above it, as records have it."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    caller = frame.f_back
    return f"{caller.f_code.co_filename}:{caller.f_lineno - lines_ago}"


def only() -> Fallback:
    """The record, of which there is one."""
    (fallback,) = torch_dipu.fallbacks()
    return fallback
