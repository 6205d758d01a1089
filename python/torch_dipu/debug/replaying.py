# SPDX-License-Identifier: Apache-2.0
"""Saving the call of an operator to a file, and repeating it on any vendor."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import torch

from torch_dipu import _C
from torch_dipu.debug.results import Comparison

_FORMAT = 1


def save(path: pathlib.Path, comparison: Comparison, arguments: list[_C.Value]) -> None:
    """Writes a call with its arguments.

    Args:
        path: File to write.
        comparison: What was found.
        arguments: From `Call.copy_arguments`. Generators are left out.
    """
    values = [
        (item.name, None if isinstance(item.value, torch.Generator) else item.value)
        for item in arguments
    ]
    torch.save(
        {
            "format": _FORMAT,
            "operator": comparison.operator,
            "function": comparison.function,
            "stack": list(comparison.stack),
            "problems": [d.verdict() for d in comparison.differences if not d.close],
            "arguments": values,
        },
        path,
    )


class _Mover:
    """Moves CPU tensors to the device with their strides; what aliases stays so."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._storages: dict[int, torch.Tensor] = {}

    def move(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self.move(item) for item in value]
        if not isinstance(value, torch.Tensor):
            return self._device if isinstance(value, torch.device) else value
        storage = value.untyped_storage()
        if storage.data_ptr() not in self._storages:
            raw = torch.empty(0, dtype=torch.uint8).set_(storage)
            self._storages[storage.data_ptr()] = raw.to(self._device)
        moved = torch.empty(0, dtype=value.dtype, device=self._device)
        return moved.set_(
            self._storages[storage.data_ptr()].untyped_storage(),
            value.storage_offset(),
            value.shape,
            value.stride(),
        )


def _overload(operator: str) -> Callable[..., Any]:
    name, _, overload = operator.partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


def _call(operator: str, arguments: Iterable[tuple[str, Any]]) -> None:
    function = _overload(operator)
    named = {
        argument.name
        for argument in function._schema.arguments  # type: ignore[attr-defined]
        if argument.kwarg_only
    }
    values = list(arguments)
    function(
        *(value for name, value in values if name not in named),
        **{name: value for name, value in values if name in named},
    )


def load(path: str | pathlib.Path) -> dict[str, Any]:
    """What `save` has written.

    Raises:
        ValueError: The file is none of that kind.
    """
    try:
        saved = torch.load(path, weights_only=True)
    except OSError as e:
        raise ValueError(f"{path} cannot be read: {e}") from e
    except Exception as e:  # torch's errors give advice on files of other kinds
        raise ValueError(f"{path} is no saved call") from e
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise ValueError(f"{path} is no saved call of format {_FORMAT}")
    return saved


def replay(path: str | pathlib.Path) -> None:
    """Repeats a saved call on the device.

    Raises:
        ValueError: The file is no saved call.
    """
    saved = load(path)
    mover = _Mover(torch.device("dipu", torch.accelerator.current_device_index()))
    _call(saved["operator"], [(n, mover.move(v)) for n, v in saved["arguments"]])
