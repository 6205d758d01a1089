# SPDX-License-Identifier: Apache-2.0
"""`torch.dipu`: the device module, with the names of `torch.cuda`.

`torch.accelerator` offers most of this independently of the device; prefer it
in code that should run anywhere.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch
from torch import Event, Stream

from torch_dipu import _C, _env
from torch_dipu.dipu import _inductor, amp, memory, random
from torch_dipu.dipu._index import device_index as _device_index
from torch_dipu.dipu.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch_dipu.dipu.random import (
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

Device = torch.types.Device

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "exchange_device",
    "get_amp_supported_dtype",
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
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "random",
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
]


def is_available() -> bool:
    """True when a vendor is loaded and has at least one device. Never raises."""
    return _C._device_count() > 0


def device_count() -> int:
    """Number of usable devices; 0 without a vendor. Never raises."""
    return _C._device_count()


def init() -> None:
    """Initialises the vendor's SDK. Called on first use; calling again is free.

    Raises:
        RuntimeError: There is no vendor or no device, or this process was forked
            after the device had been used.
    """
    if _is_in_bad_fork():
        raise RuntimeError(
            "dipu: this process was forked after the device had been used, and a "
            "device context does not survive a fork; use the 'spawn' start method "
            "of multiprocessing"
        )
    if device_count() == 0:
        raise RuntimeError(f"dipu: no device is available: {_C._unavailable_reason()}")
    _C._initialize()


def _lazy_init() -> None:
    """Hook that PyTorch calls when Python first makes a tensor on the device.

    Backward then runs on this thread instead of a thread per device: waking
    another thread costs more than a small layer's gradient.
    """
    init()
    if not _env.AUTOGRAD_THREADS.flag():
        torch.autograd.set_multithreading_enabled(False)


def is_initialized() -> bool:
    """True once the vendor's SDK is in use by this process."""
    return bool(_C._is_initialized()) and not _is_in_bad_fork()


def __getattr__(name: str) -> Any:
    # Checkpointing saves the random state of a device that is "_initialized".
    if name == "_initialized":
        return is_initialized()
    if name in _inductor.NAMES:
        return _inductor.NoCodeGenerator
    raise AttributeError(f"module 'torch.dipu' has no attribute {name!r}")


def _is_in_bad_fork() -> bool:
    return bool(_C._is_in_bad_fork())


def current_device() -> int:
    """Index of the calling thread's current device."""
    return torch.accelerator.current_device_index()


def set_device(device: Device) -> None:
    """Makes `device` current for the calling thread; a negative index is ignored."""
    index = _device_index(device)
    if index >= 0:
        torch.accelerator.set_device_index(index)


def exchange_device(index: int) -> int:
    """Makes `index` current and returns the former; -1 changes nothing."""
    former = current_device()
    if index >= 0:
        set_device(index)
    return former


def _exchange_device(index: int) -> int:
    return exchange_device(index)


def _maybe_exchange_device(index: int) -> int:
    return exchange_device(index)


class device:
    """Context manager that makes a device current and restores the former one.

    Args:
        device: Device or index; a negative index or None changes nothing.
    """

    def __init__(self, device: Any) -> None:
        self.idx = _device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = exchange_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        exchange_device(self.prev_idx)


class device_of(device):
    """Like `device`, for the device of a tensor; other tensors change nothing."""

    def __init__(self, tensor: torch.Tensor) -> None:
        on_device = tensor.device.type == "dipu"
        super().__init__(tensor.device.index if on_device else -1)


def synchronize(device: Device = None) -> None:
    """Blocks until all streams of `device` (default: current) are idle."""
    torch.accelerator.synchronize(_device_index(device))


def current_stream(device: Device = None) -> torch.Stream:
    """The calling thread's current stream on `device` (default: current)."""
    return torch.accelerator.current_stream(_device_index(device))


def default_stream(device: Device = None) -> torch.Stream:
    """The default stream of `device` (default: current)."""
    index = _device_index(device)
    return torch.Stream(stream_id=0, device_index=index, device_type=_C._device_type())


def set_stream(stream: torch.Stream) -> None:
    """Makes `stream` current for the calling thread and its device."""
    torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager that makes a stream and its device current; None: nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            self.stream.__enter__()
        return self.stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.stream is not None:
            self.stream.__exit__(kind, value, trace)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager that makes `stream` current."""
    return StreamContext(stream)


def get_device_properties(device: Device = None) -> Any:
    """Name, total_memory (bytes), major, minor, multi_processor_count, ..."""
    return _C._device_properties(_device_index(device))


def get_device_name(device: Device = None) -> str:
    """Model name of `device` (default: current)."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """Hardware revision (major, minor) as the vendor gives it."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """True when `device` may read memory of `peer_device` directly."""
    return bool(_C._can_access_peer(_device_index(device), _device_index(peer_device)))


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Element types that `torch.autocast("dipu")` accepts."""
    return [torch.float16, torch.bfloat16, torch.float32]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True when bfloat16 is computed on the device."""
    del including_emulation
    capability = torch.accelerator.get_device_capability()
    return torch.bfloat16 in capability["supported_dtypes"]
