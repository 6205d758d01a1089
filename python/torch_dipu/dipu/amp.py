# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: `torch.amp` with the device filled in."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["GradScaler", "autocast"]


class autocast(torch.amp.autocast_mode.autocast):
    """`torch.autocast("dipu", ...)`; the default type is float16."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype = torch.float16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__(
            "dipu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled
        )


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("dipu", ...)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("dipu", *args, **kwargs)
