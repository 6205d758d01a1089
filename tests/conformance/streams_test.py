# SPDX-License-Identifier: Apache-2.0
"""Streams, events and the order of work."""

from __future__ import annotations

import threading

import torch


def test_stream_is_current_inside_its_block(device: str) -> None:
    stream = torch.Stream(device)
    before = torch.accelerator.current_stream()
    with stream:
        assert torch.accelerator.current_stream() == stream
    assert torch.accelerator.current_stream() == before
    assert stream != before


def test_streams_belong_to_threads(device: str) -> None:
    default = torch.accelerator.current_stream()
    stream = torch.Stream(device)
    seen = []
    with stream:
        thread = threading.Thread(
            target=lambda: seen.append(torch.accelerator.current_stream())
        )
        thread.start()
        thread.join()
    assert seen == [default]


def test_work_on_another_stream(device: str) -> None:
    x = torch.zeros(1 << 16, device=device)
    stream = torch.Stream(device)
    stream.wait_stream(torch.accelerator.current_stream())
    with stream:
        for _ in range(20):
            x.add_(1)
    torch.accelerator.current_stream().wait_stream(stream)
    assert torch.equal((x * 2).cpu(), torch.full((1 << 16,), 40.0))


def test_event_orders_two_streams(device: str) -> None:
    x = torch.zeros(1 << 16, device=device)
    torch.accelerator.synchronize()
    first, second = torch.Stream(device), torch.Stream(device)
    for step in range(10):
        with first:
            x.fill_(step)
            event = first.record_event()
        second.wait_event(event)
        with second:
            y = x.clone()
        second.synchronize()
        assert torch.equal(y.cpu(), torch.full((1 << 16,), float(step)))
        first.wait_stream(second)


def test_event_times_work(device: str) -> None:
    start = torch.Event(device, enable_timing=True)
    end = torch.Event(device, enable_timing=True)
    start.record()
    x = torch.zeros(1 << 18, device=device)
    for _ in range(10):
        x.add_(1)
    end.record()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) > 0


def test_synchronize_waits(device: str) -> None:
    x = torch.zeros(1 << 16, device=device)
    for _ in range(50):
        x.add_(1)
    stream = torch.accelerator.current_stream()
    stream.synchronize()
    assert stream.query()
    torch.accelerator.synchronize()
    assert x.sum().item() == 50 * (1 << 16)


def test_record_stream_delays_reuse(device: str) -> None:
    """A block used by a second stream is not handed out before that is done."""
    stream = torch.Stream(device)
    out = torch.empty(1 << 18, device=device)
    torch.accelerator.synchronize()
    for step in range(20):
        x = torch.full((1 << 18,), float(step), device=device)
        stream.wait_stream(torch.accelerator.current_stream())
        with stream:
            for _ in range(4):
                out.copy_(x)
        x.record_stream(stream)
        del x
        torch.full((1 << 18,), -1.0, device=device)
        stream.synchronize()
        assert torch.equal(out[:8].cpu(), torch.full((8,), float(step)))


def test_default_stream_has_id_zero(device: str) -> None:
    assert torch.accelerator.current_stream().stream_id == 0
    assert torch.Stream(device).stream_id != 0


def test_streams_with_priority(device: str) -> None:
    with torch.Stream(device, priority=-1):
        x = torch.ones(4, device=device) + 1
    torch.accelerator.synchronize()
    assert x.cpu().tolist() == [2.0] * 4


def test_backward_on_another_thread(device: str) -> None:
    errors = []

    def work(seed: int) -> None:
        try:
            x = torch.full((64,), float(seed), device=device, requires_grad=True)
            for _ in range(10):
                x.grad = None
                (x * x).sum().backward()
                assert torch.equal(x.grad.cpu(), torch.full((64,), 2.0 * seed))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
