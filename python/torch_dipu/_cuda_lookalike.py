# SPDX-License-Identifier: Apache-2.0
"""Lets scripts written for CUDA reach the device unchanged.

Tensors: C++ registers kernels for the CUDA dispatch key that turn the device of
factories and copies into ours, so `.cuda()`, `.to("cuda")` and
`torch.zeros(..., device="cuda")` need no patch and other devices pay nothing.
Functions: the names below of `torch.cuda` forward to `torch.dipu`. Nothing else
is touched: `torch.device` and the tensor classes stay what they are.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_dipu import _C

# Functions and classes that mean the same on both devices.
FORWARDED: tuple[str, ...] = (
    "Event",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "_lazy_init",
    "_is_in_bad_fork",
)


def _forward(target: Any, source: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))


def install() -> None:
    """Makes the look-alike effective for the rest of the process."""
    from torch_dipu import dipu

    _C._enable_cuda_lookalike()
    _forward(torch.cuda, dipu, FORWARDED)
    vars(torch.cuda)["default_generators"] = dipu.default_generators
    _forward(torch.cuda.memory, dipu.memory, tuple(dipu.memory.__all__))
    _forward(torch.cuda.random, dipu.random, tuple(dipu.random.__all__))
    _forward(torch.cuda.amp, dipu.amp, ("autocast", "GradScaler"))
