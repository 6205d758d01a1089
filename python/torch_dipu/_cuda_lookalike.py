# SPDX-License-Identifier: Apache-2.0
"""Lets scripts written for CUDA reach the device unchanged.

Tensors: C++ registers kernels for the CUDA dispatch key that turn the device of
factories and copies into ours, so `.cuda()`, `.to("cuda")` and
`torch.zeros(..., device="cuda")` need no patch and other devices pay nothing.
Functions: the names below of `torch.cuda` forward to `torch.dipu`. Three places
of PyTorch test for the word "cuda" before they dispatch and are told ours there:
`Tensor.cuda(index)`, `torch.autocast("cuda")` and `torch.load(map_location=...)`.
`torch.device` and all classes stay what they are.
"""

from __future__ import annotations

import functools
import sys
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


# Modules that have the function of that name: its own, and those that import it.
_FINDERS = (
    "torch._utils",
    "torch.distributed.checkpoint.filesystem",
    "torch.nn.parallel.data_parallel",
)


def _forward(target: Any, source: Any, names: tuple[str, ...]) -> None:
    for name in names:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))


def _ours(device: Any) -> torch.device:
    """The device of ours that a CUDA device, an index or None stands for."""
    if device is None or isinstance(device, int):
        return torch.device("dipu") if device is None else torch.device("dipu", device)
    parsed = torch.device(device)
    if parsed.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, not {parsed}")
    return (
        torch.device("dipu", parsed.index) if parsed.index is not None else _ours(None)
    )


def _tensor_cuda(
    self: torch.Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """`Tensor.cuda`: a copy on the device, or the tensor itself if it is there."""
    return self.to(
        _ours(device), non_blocking=non_blocking, memory_format=memory_format
    )


def _accept_autocast() -> None:
    """Makes `torch.autocast("cuda")` cast on our device."""
    original = torch.amp.autocast_mode.autocast.__init__

    @functools.wraps(original)
    def init(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        ours = "dipu" if device_type == "cuda" else device_type
        original(self, ours, *args, **kwargs)

    autocast_class: Any = torch.amp.autocast_mode.autocast
    autocast_class.__init__ = init


def _load_storage(storage: Any, location: str) -> Any:
    """Restores a storage that is to be loaded to a CUDA device."""
    if not location.startswith("cuda"):
        return None
    ours = location.replace("cuda", "dipu", 1)
    return torch.serialization.default_restore_location(storage, ours)


def _find_our_type() -> None:
    """Gives our type where PyTorch looks for the available one.

    Checkpoints copy tensors of that type to the host, and no others.
    """
    find = torch._utils._get_available_device_type

    def ours() -> str | None:
        found = find()
        return "dipu" if found == "cuda" else found

    for name in _FINDERS:
        if name in sys.modules:
            vars(sys.modules[name])["_get_available_device_type"] = ours


def install() -> None:
    """Makes the look-alike effective for the rest of the process."""
    from torch_dipu import dipu

    _C._enable_cuda_lookalike()
    tensor_class: Any = torch.Tensor
    tensor_class.cuda = _tensor_cuda
    # Inductor takes a CUDA device of a PyTorch without CUDA for a ROCm one and
    # puts its architecture into its cache keys, also for CPU code.
    properties_class: Any = _C.DeviceProperties
    properties_class.gcnArchName = property(lambda p: p.name)
    _find_our_type()
    # Asked before statistics of batches are gathered; streams capture nothing.
    vars(torch.cuda)["is_current_stream_capturing"] = lambda: False
    _accept_autocast()
    torch.serialization.register_package(15, lambda storage: None, _load_storage)
    _forward(torch.cuda, dipu, FORWARDED)
    vars(torch.cuda)["default_generators"] = dipu.default_generators
    _forward(torch.cuda.memory, dipu.memory, tuple(dipu.memory.__all__))
    _forward(torch.cuda.random, dipu.random, tuple(dipu.random.__all__))
    _forward(torch.cuda.amp, dipu.amp, ("autocast", "GradScaler"))
