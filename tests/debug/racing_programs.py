# SPDX-License-Identifier: Apache-2.0
"""Programs with several streams that race.

Each returns tensors, to be read when the device is idle. Comments mark the lines that
are to be named: the use that is enqueued `first`, the one that comes `second`, and
where memory is `freed` too early.
"""

from __future__ import annotations

import threading

import torch
import torch_dipu

from tests.debug.stream_programs import (
    N,
    Program,
    Result,
    current,
    new_stream,
    pinned,
    ramp,
    settled,
)


def read_after_write() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)  # first
    with side:
        y = x * 2  # second
    return [y]


def write_after_read() -> Result:
    x, side = ramp(), new_stream()
    with side:
        y = x * 2  # first
    x.zero_()  # second
    return [y]


def write_after_write() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.fill_(1)  # first
    x.fill_(2)  # second
    return [x]


def overlapping_slices() -> Result:
    x, side = ramp(), new_stream()
    x[:600].add_(1)  # first
    with side:
        x[400:].mul_(2)  # second
    return [x]


def row_and_column() -> Result:
    x, side = ramp().view(20, 50), new_stream()
    x[:, 3].fill_(7)  # first
    with side:
        x[2].fill_(8)  # second
    return [x]


def written_by_out() -> Result:
    x, side = ramp(), new_stream()
    (y,) = settled(torch.zeros(N))
    torch.add(x, 1, out=y)  # first
    with side:
        z = y * 2  # second
    return [z]


def event_recorded_too_early() -> Result:
    x, side = ramp(), new_stream()
    event = current().record_event()
    x.add_(1)  # first
    side.wait_event(event)
    with side:
        y = x * 2  # second
    return [y]


def waiting_for_the_wrong_stream() -> Result:
    x, side, other = ramp(), new_stream(), new_stream()
    with side:
        x.add_(1)  # first
    current().wait_stream(other)
    y = x * 2  # second
    return [y]


def one_of_two_is_not_waited_for() -> Result:
    x, one, two = ramp(), new_stream(), new_stream()
    (y,) = settled(torch.zeros(N))
    with one:
        y.fill_(2)
    with two:
        x.mul_(3)  # first
    current().wait_stream(one)
    z = x + y  # second
    return [z]


def upload() -> Result:
    x, side, host = ramp(), new_stream(), pinned(5)
    with side:
        x.copy_(host, non_blocking=True)  # first
    y = x * 2  # second
    return [y]


def download() -> Result:
    x, side, host = ramp(), new_stream(), pinned(5)
    with side:
        host.copy_(x, non_blocking=True)  # first
    x.zero_()  # second
    return [host]


def pinned_memory_is_used_twice() -> Result:
    x, side, host = ramp(), new_stream(), pinned(5)
    (y,) = settled(torch.zeros(N))
    y.copy_(host, non_blocking=True)  # first
    with side:
        host.copy_(x, non_blocking=True)  # second
    return [y]


def strided_copy() -> Result:
    x, side = ramp().view(20, 50), new_stream()
    x.add_(1)  # first
    with side:
        y = x.t().contiguous()  # second
    return [y]


def cast() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)  # first
    with side:
        y = x.to(torch.float64)  # second
    return [y]


def lists_of_tensors() -> Result:
    x, side = ramp(), new_stream()
    (y,) = settled(torch.ones(N))
    torch._foreach_add_([x, y], 1)  # first
    with side:
        z = y * 2  # second
    return [z]


def fused_optimizer() -> Result:
    (w,) = settled(torch.ones(N))
    (w.grad,) = settled(torch.ones(N))
    optimizer, side = torch.optim.SGD([w], lr=0.5, fused=True), new_stream()
    with side:
        optimizer.step()  # first
    y = w * 2  # second
    return [y]


def gradient() -> Result:
    x, side = ramp(), new_stream()
    (w,) = settled(torch.ones(N))
    (w.grad,) = settled(torch.zeros(N))
    w.requires_grad_()
    (w * x).sum().backward()  # first
    with side, torch.no_grad():
        y = w.grad * 2  # second
    return [y]


def number_is_read() -> Result:
    x, side = ramp(), new_stream()
    (y,) = settled(torch.ones(N))
    x.add_(1)  # first
    with side:
        y.add_(1)
        number = x[0].item()  # second
    return [torch.tensor(number)]


def forced_fallback() -> Result:
    x, side = ramp(), new_stream()
    (y,) = settled(torch.ones(N))
    x.add_(1)  # first
    with side, torch_dipu.force_fallback("neg"):
        y.add_(1)
        z = -x  # second
    return [z]


def fallback_of_an_unknown_operator() -> Result:
    x, side = ramp().view(20, 50), new_stream()
    (y,) = settled(torch.ones(N))
    x.add_(1)  # first
    with side:
        y.add_(1)
        z, _ = torch.geqrf(x)  # second
    return [z]


def between_devices() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)  # first
    y = x.to("dipu:1")  # second
    return [y]


def another_thread() -> Result:
    x = ramp()

    def work() -> None:
        with new_stream():
            x.add_(1)  # first

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    y = x * 2  # second
    return [y]


def freed_without_record_stream() -> Result:
    x, side = ramp(), new_stream()
    with side:
        y = x * 2  # first
    del x  # freed
    z = torch.zeros(N, device="dipu")  # second
    return [y, z]


def freed_by_a_function() -> Result:
    side = new_stream()

    def double() -> torch.Tensor:
        x = ramp()
        with side:
            return x * 2  # first

    y = double()  # freed
    z = torch.zeros(N, device="dipu")  # second
    return [y, z]


def new_memory_is_not_waited_for() -> Result:
    x, side = ramp(), new_stream()
    t = x * 2
    y = t + 1
    del t
    z = torch.empty(N, device="dipu")  # first
    with side:
        z.fill_(7)  # second
    return [y]


RACES: tuple[Program, ...] = (
    read_after_write,
    write_after_read,
    write_after_write,
    overlapping_slices,
    row_and_column,
    written_by_out,
    event_recorded_too_early,
    waiting_for_the_wrong_stream,
    one_of_two_is_not_waited_for,
    upload,
    download,
    pinned_memory_is_used_twice,
    strided_copy,
    cast,
    lists_of_tensors,
    fused_optimizer,
    gradient,
    number_is_read,
    forced_fallback,
    fallback_of_an_unknown_operator,
    between_devices,
    another_thread,
    freed_without_record_stream,
    freed_by_a_function,
    new_memory_is_not_waited_for,
)
