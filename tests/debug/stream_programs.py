# SPDX-License-Identifier: Apache-2.0
"""What the programs with several streams share."""

from __future__ import annotations

from collections.abc import Callable

import torch

Result = list[torch.Tensor]
Program = Callable[[], Result]

N = 1000


def settled(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """The tensors on the device, which is idle."""
    moved = [tensor.to("dipu") for tensor in tensors]
    torch.accelerator.synchronize()
    return moved


def ramp(n: int = N) -> torch.Tensor:
    (x,) = settled(torch.arange(float(n)))
    return x


def new_stream() -> torch.Stream:
    return torch.Stream(device="dipu")


def current() -> torch.Stream:
    return torch.accelerator.current_stream()


def pinned(value: float) -> torch.Tensor:
    return torch.full((N,), float(value)).pin_memory()
