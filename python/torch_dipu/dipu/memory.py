# SPDX-License-Identifier: Apache-2.0
"""Memory of the device: statistics and cache control. All sizes are in bytes."""

from __future__ import annotations

from typing import Any

import torch

from torch_dipu.dipu._index import device_index as _device_index

Device = torch.types.Device

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def empty_cache() -> None:
    """Returns cached memory that no tensor uses to the device."""
    torch.accelerator.empty_cache()


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors hold now."""
    return torch.accelerator.memory_allocated(_device_index(device))


def max_memory_allocated(device: Device = None) -> int:
    """Largest value of memory_allocated since the last reset."""
    return torch.accelerator.max_memory_allocated(_device_index(device))


def memory_reserved(device: Device = None) -> int:
    """Bytes that the allocator holds, cached memory included."""
    return torch.accelerator.memory_reserved(_device_index(device))


def max_memory_reserved(device: Device = None) -> int:
    """Largest value of memory_reserved since the last reset."""
    return torch.accelerator.max_memory_reserved(_device_index(device))


def memory_stats(device: Device = None) -> dict[str, Any]:
    """All counters of the allocator; empty before its first use."""
    return torch.accelerator.memory_stats(_device_index(device))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Sets the peaks to the current values."""
    torch.accelerator.reset_peak_memory_stats(_device_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sets the accumulated counters to zero."""
    torch.accelerator.reset_accumulated_memory_stats(_device_index(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Free and total bytes of the device as its vendor reports them."""
    free, total = torch.accelerator.get_memory_info(_device_index(device))
    return free, total


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """A table of the allocator's counters for people.

    Args:
        device: Default: the current device.
        abbreviated: Leaves out the small and large pool.
    """
    index = _device_index(device)
    stats = memory_stats(index)
    pools = ["all"] if abbreviated else ["all", "small_pool", "large_pool"]
    free, total = mem_get_info(index)
    lines = [
        f"memory of dipu:{index}: {free} of {total} bytes free",
        f"{'counter':<32}{'current':>16}{'peak':>16}{'allocated':>18}{'freed':>18}",
    ]
    kinds = ["allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes"]
    for kind in [*kinds, "allocation", "segment"]:
        for pool in pools:
            values = [
                stats.get(f"{kind}.{pool}.{what}", 0)
                for what in ("current", "peak", "allocated", "freed")
            ]
            a, b, c, d = values
            lines.append(f"{kind + '.' + pool:<32}{a:>16}{b:>16}{c:>18}{d:>18}")
    return "\n".join(lines)
