# SPDX-License-Identifier: Apache-2.0
"""Calls and their values as text."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import torch

from torch_dipu import _origin


def user_stack(limit: int = 8) -> list[str]:
    """The innermost callers outside of torch and torch_dipu, as "file:line function".

    Args:
        limit: How many at most.
    """
    return [
        f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        for frame in itertools.islice(_origin.user_frames(), limit)
    ]


def show(text: str) -> None:
    """Writes to the standard output, if there is one that takes it.

    What a tool has to say must not end the program that it looks at.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError):
        return


def tensor_text(tensor: torch.Tensor) -> str:
    """What a tensor is, without its values."""
    return (
        f"numel: {tensor.numel()}, sizes: {list(tensor.shape)}, "
        f"stride: {list(tensor.stride())}, is_view: {int(tensor._is_view())}, "
        f"TensorOptions(dtype={tensor.dtype}, device={tensor.device}, "
        f"layout={tensor.layout}), data_ptr: {tensor.data_ptr():#x}"
    )


def value_lines(name: str, value: Any, with_values: bool) -> list[str]:
    """An argument or result; lists of tensors give a line for each.

    Args:
        name: Of the argument.
        value: Anything that operators take.
        with_values: Adds the values of tensors, abbreviated as `print` does.
    """
    if isinstance(value, torch.Tensor):
        lines = [f"{name}: {tensor_text(value)}"]
        if with_values:
            lines += str(value.cpu()).splitlines()
        return lines
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, torch.Tensor) for item in value
    ):
        return [
            line
            for i, item in enumerate(value)
            for line in value_lines(f"{name}[{i}]", item, with_values)
        ]
    return [f"{name}: {value}"]
