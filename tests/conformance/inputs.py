# SPDX-License-Identifier: Apache-2.0
"""Tensors that operators are tried on: element types, values and layouts."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WIDE = (torch.float64, torch.float32)
FLOATS = (*WIDE, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def name(value: object) -> str:
    """Identifies a parameter of a test."""
    return str(value).removeprefix("torch.")


def make(dtype: torch.dtype, *sizes: int, low: int = -9, high: int = 9) -> Tensor:
    """Random elements: small integers, or numbers that few types round."""
    if dtype is torch.bool:
        return torch.randint(0, 2, sizes).bool()
    if not dtype.is_floating_point:
        low = 0 if dtype is torch.uint8 else low
        return torch.randint(low, high, sizes).to(dtype)
    return torch.randn(sizes, dtype=torch.float64).to(dtype)


def values(dtype: torch.dtype) -> Tensor:
    """Numbers of both signs, around the borders of the methods."""
    if dtype.is_floating_point:
        near = torch.linspace(-12, 12, 193, dtype=torch.float64) + 0.01
        return torch.cat([near, torch.tensor([19.5, 29.5, 31.0, 60.0])]).to(dtype)
    low = 0 if dtype is torch.uint8 else -90
    return torch.randint(low, 100, (200,), dtype=dtype)


def transposed(x: Tensor) -> Tensor:
    """The elements of `x`, the first and last dimension swapped in memory."""
    return x.transpose(0, -1).contiguous().transpose(0, -1) if x.dim() > 1 else x


Layout = Callable[[Tensor], Tensor]

# Views of the given elements, with other strides.
LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda x: x,
    "transposed": transposed,
    "sliced": lambda x: torch.stack([x, x], -1)[..., 0],
}


def layouts(x: Tensor) -> list[Tensor]:
    """`x` in each of LAYOUTS that gives it other strides."""
    views: dict[tuple[int, ...], Tensor] = {}
    for layout in LAYOUTS.values():
        view = layout(x)
        views.setdefault(view.stride(), view)
    return list(views.values())
