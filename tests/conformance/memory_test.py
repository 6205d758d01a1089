# SPDX-License-Identifier: Apache-2.0
"""Device memory statistics and pinned host memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch


def test_statistics_follow_allocations(device: str) -> None:
    """Trap: without a DeviceAllocator each of these is an internal assertion."""
    torch.accelerator.synchronize()
    gc.collect()
    before = torch.accelerator.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    assert torch.accelerator.memory_allocated() - before >= 1 << 20
    assert torch.accelerator.memory_reserved() >= torch.accelerator.memory_allocated()
    assert torch.accelerator.max_memory_allocated() >= before + (1 << 20)
    del x
    assert torch.accelerator.memory_allocated() == before
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == before
    stats = torch.accelerator.memory_stats()
    assert stats["allocation.all.current"] >= 0
    assert stats["allocation.all.allocated"] > 0


def test_empty_cache_returns_memory(device: str) -> None:
    x = torch.empty(64 << 20, dtype=torch.uint8, device=device)
    del x
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_reserved() < 64 << 20
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free <= total


def test_freed_memory_is_used_again(device: str) -> None:
    x = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    address = x.data_ptr()
    del x
    assert torch.empty(1 << 20, dtype=torch.uint8, device=device).data_ptr() == address


def test_out_of_memory_is_an_error_and_leaves_a_usable_device(device: str) -> None:
    with pytest.raises(torch.OutOfMemoryError, match="memory"):
        torch.empty(1 << 50, dtype=torch.uint8, device=device)
    assert torch.ones(2, device=device).cpu().tolist() == [1.0, 1.0]


def test_empty_host_cache_does_not_crash() -> None:
    """Trap: without a host allocator this was a segmentation fault."""
    torch.accelerator.empty_host_cache()


def test_pinned_memory() -> None:
    assert not torch.empty(4).is_pinned()
    x = torch.arange(4.0).pin_memory()
    assert x.is_pinned()
    assert x[1:].is_pinned()
    assert x.pin_memory() is x
    assert torch.empty(4, pin_memory=True).is_pinned()
    assert torch.equal(x, torch.arange(4.0))


def test_pinned_copies_arrive(device: str) -> None:
    for step in range(10):
        source = torch.full((1 << 16,), float(step)).pin_memory()
        there = source.to(device, non_blocking=True)
        target = torch.empty(1 << 16).pin_memory()
        target.copy_(there, non_blocking=True)
        torch.accelerator.synchronize()
        assert torch.equal(target, source)


def test_pinned_copies_do_not_block(
    device: str, no_fallback: Callable[..., AbstractContextManager[None]]
) -> None:
    """Both copies return while the work ahead of them still runs."""
    source = torch.ones(1 << 10).pin_memory()
    target = torch.zeros(1 << 10).pin_memory()
    there = torch.zeros(1 << 10, device=device)
    factor = torch.ones(1024, 1024, device=device)
    product = torch.mm(factor, factor)
    torch.accelerator.synchronize()
    with no_fallback():
        for _ in range(20):
            torch.mm(factor, factor, out=product)
        there.copy_(source, non_blocking=True)
        target.copy_(there, non_blocking=True)
        event = torch.accelerator.current_stream().record_event()
        assert not event.query()
    event.synchronize()
    assert torch.equal(target, source)


def test_pinned_memory_is_not_reused_during_a_copy(device: str) -> None:
    copies = []
    for step in range(20):
        source = torch.full((1 << 16,), float(step)).pin_memory()
        copies.append(source.to(device, non_blocking=True))
        del source
    torch.accelerator.synchronize()
    for step, there in enumerate(copies):
        assert torch.equal(there.cpu(), torch.full((1 << 16,), float(step)))


def test_pinned_source_may_change_after_a_blocking_copy(device: str) -> None:
    source = torch.zeros(1 << 16).pin_memory()
    copies = []
    for step in range(10):
        source.fill_(step)
        copies.append(source.to(device))
    for step, there in enumerate(copies):
        assert torch.equal(there.cpu(), torch.full((1 << 16,), float(step)))


def test_asynchronous_copy_to_the_host_is_pinned(device: str) -> None:
    """Trap: the result of such a copy may only be read after synchronising."""
    x = torch.arange(1024.0).to(device)
    y = x.to("cpu", non_blocking=True)
    torch.accelerator.synchronize()
    assert y.is_pinned()
    assert torch.equal(y, torch.arange(1024.0))


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loader_pins(device: str, workers: int) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(
        data, batch_size=4, pin_memory=True, num_workers=workers
    )
    total = torch.zeros((), device=device)
    for (batch,) in loader:
        assert batch.is_pinned()
        total += batch.to(device, non_blocking=True).sum()
    assert total.item() == 28
