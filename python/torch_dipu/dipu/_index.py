# SPDX-License-Identifier: Apache-2.0
"""Turns what users pass as a device into an index."""

from __future__ import annotations

from typing import Any

import torch

TYPES = frozenset({"dipu", "cuda"})


def device_index(device: Any, optional: bool = False) -> int:
    """Index of `device`.

    Args:
        device: torch.device, its text, an index, or None for the current one.
        optional: None gives -1 instead of the current device.

    Raises:
        ValueError: `device` names another kind of device.
        TypeError: `device` is no device at all.
    """
    if device is None:
        return -1 if optional else torch.accelerator.current_device_index()
    if isinstance(device, bool) or not isinstance(device, int | str | torch.device):
        raise TypeError(f"expected a device or an index, got {type(device).__name__}")
    if isinstance(device, int):
        return device
    parsed = torch.device(device)
    if parsed.type not in TYPES:
        raise ValueError(f"expected a dipu device, got {str(parsed)!r}")
    if parsed.index is not None:
        return int(parsed.index)
    return -1 if optional else torch.accelerator.current_device_index()
