# SPDX-License-Identifier: Apache-2.0
"""Calls and their values as text."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

_OWN_FOLDERS = tuple(
    os.path.join(folder, "")
    for folder in (
        os.path.dirname(torch.__file__),
        os.path.dirname(os.path.dirname(__file__)),
    )
)


def user_line() -> tuple[str, int]:
    """File and line of the innermost caller outside of torch and torch_dipu.

    ("", 0) on a thread without one, such as those that compute gradients.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDERS):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return "", 0
    return frame.f_code.co_filename, frame.f_lineno


def user_stack(limit: int = 8) -> list[str]:
    """The innermost callers outside of torch and torch_dipu, as "file:line function".

    Args:
        limit: How many at most.
    """
    stack: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(stack) < limit:
        code = frame.f_code
        if not code.co_filename.startswith(_OWN_FOLDERS):
            stack.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return stack


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
