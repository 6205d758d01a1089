# SPDX-License-Identifier: Apache-2.0
"""Programs with several streams that do not race.

Each returns tensors, to be read when the device is idle.
"""

from __future__ import annotations

import threading

import torch
import torch_dipu
from torch.nn import functional

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


def events() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)
    side.wait_event(current().record_event())
    with side:
        y = x * 2
        done = side.record_event()
    current().wait_event(done)
    x.zero_()
    y.add_(1)
    return [x, y]


def three_streams_in_a_row() -> Result:
    x, one, two = ramp(), new_stream(), new_stream()
    x.add_(1)
    one.wait_stream(current())
    with one:
        x.mul_(2)
    two.wait_stream(one)
    with two:
        x.sub_(3)
    current().wait_stream(two)
    x.mul_(5)
    return [x]


def stream_is_synchronized() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
    side.synchronize()
    y = x * 2
    return [y]


def event_is_synchronized() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
        done = side.record_event()
    done.synchronize()
    y = x * 2
    return [y]


def event_is_asked_for() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
        done = side.record_event()
    while not done.query():
        pass
    y = x * 2
    return [y]


def device_is_synchronized() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
    torch.dipu.synchronize()
    y = x * 2
    return [y]


def number_is_waited_for() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)
    total = x.sum().item()
    with side:
        y = x * 2
    current().wait_stream(side)
    return [y + total]


def copy_to_the_host_is_waited_for() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)
    host = x.cpu()
    with side:
        y = x * 2
    current().wait_stream(side)
    return [y, host]


def fallback_is_waited_for() -> Result:
    x, side = ramp(), new_stream()
    x.add_(1)
    with torch_dipu.force_fallback("neg"):
        y = -x
    with side:
        x.zero_()
    return [x, y]


def recorded_on_the_stream() -> Result:
    x, side = ramp(), new_stream()
    with side:
        y = x * 2
    x.record_stream(side)
    del x
    z = torch.zeros(N, device="dipu")
    return [y, z]


def owner_waits_before_it_gets_memory_back() -> Result:
    x, side = ramp(), new_stream()
    with side:
        y = x * 2
    del x
    current().wait_stream(side)
    z = torch.zeros(N, device="dipu")
    return [y, z]


def output_is_allocated_after_the_wait() -> Result:
    x, side = ramp(), new_stream()
    t = x * 2
    y = t + 1
    del t
    side.wait_stream(current())
    z = torch.empty(N, device="dipu")
    with side:
        torch.mul(x, 3, out=z)
    current().wait_stream(side)
    return [y, z]


def both_only_read() -> Result:
    x, side = ramp(), new_stream()
    y = x + 1
    with side:
        z = x * 2
    return [y, z]


def disjoint_slices() -> Result:
    x, side = ramp(), new_stream()
    x[:500].add_(1)
    with side:
        x[500:].mul_(2)
    return [x]


def disjoint_columns() -> Result:
    x, side = ramp().view(20, 50), new_stream()
    x[:, ::2].add_(1)
    with side:
        x[:, 1::2].mul_(2)
    return [x]


def disjoint_copies() -> Result:
    x, side = ramp(), new_stream()
    (y,) = settled(torch.zeros(N))
    y[:500].copy_(x[:500])
    with side:
        y[500:].copy_(x[500:])
    return [y]


def both_devices() -> Result:
    x, side = ramp(), new_stream()
    with side:
        x.add_(1)
        y = x.to("dipu:1")
    current().wait_stream(side)
    x.zero_()
    return [x, y]


def threads_with_an_event() -> Result:
    x = ramp()
    events: list[torch.Event] = []

    def work() -> None:
        stream = new_stream()
        with stream:
            x.add_(1)
            events.append(stream.record_event())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    current().wait_event(events[0])
    y = x * 2
    return [y]


def prefetching() -> Result:
    """Batches are copied on a stream of their own while the one before is used."""
    batches = [pinned(value) for value in (1, 2, 3, 4)]
    side, total = new_stream(), ramp()

    def load(host: torch.Tensor) -> torch.Tensor:
        with side:
            return host.to("dipu", non_blocking=True) + 1

    following = load(batches[0])
    for host in [*batches[1:], None]:
        current().wait_stream(side)
        batch = following
        batch.record_stream(current())
        if host is not None:
            following = load(host)
        total.add_(batch * batch)
    return [total]


def buffers_take_turns() -> Result:
    """Two buffers, each written again only after its last use has been waited for."""
    side, total = new_stream(), ramp()
    buffers = settled(torch.zeros(N), torch.zeros(N))
    used = [current().record_event() for _ in buffers]
    for step in range(5):
        buffer = buffers[step % 2]
        side.wait_event(used[step % 2])
        with side:
            buffer.copy_(pinned(step), non_blocking=True)
        current().wait_stream(side)
        total.add_(buffer)
        used[step % 2] = current().record_event()
    return [total]


def _model() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    )
    x, target = settled(torch.randn(5, 8), torch.randn(5, 4))
    return model.to("dipu"), x, target


def training_on_a_side_stream() -> Result:
    """Mixed precision, scaled gradients, and a fused optimizer that overlaps."""
    model, x, target = _model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    scaler = torch.amp.GradScaler("dipu", init_scale=16.0)
    compute, update = new_stream(), new_stream()
    compute.wait_stream(current())
    for _ in range(2):
        with compute:
            with torch.autocast("dipu", dtype=torch.bfloat16):
                loss = functional.mse_loss(model(x).float(), target)
            scaler.scale(loss).backward()
        update.wait_stream(compute)
        with update:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=False)
        compute.wait_stream(update)
    current().wait_stream(compute)
    return [parameter.detach() for parameter in model.parameters()]


def gradients_across_streams() -> Result:
    """The forward changes streams, and backward follows it by itself."""
    model, x, target = _model()
    side = new_stream()
    hidden = model[0](x)
    side.wait_stream(current())
    with side:
        output = model[2](torch.relu(hidden))
        hidden.record_stream(side)
    current().wait_stream(side)
    output.record_stream(current())
    functional.mse_loss(output, target).backward()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
    optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


CLEAN: tuple[Program, ...] = (
    events,
    three_streams_in_a_row,
    stream_is_synchronized,
    event_is_synchronized,
    event_is_asked_for,
    device_is_synchronized,
    number_is_waited_for,
    copy_to_the_host_is_waited_for,
    fallback_is_waited_for,
    recorded_on_the_stream,
    owner_waits_before_it_gets_memory_back,
    output_is_allocated_after_the_wait,
    both_only_read,
    disjoint_slices,
    disjoint_columns,
    disjoint_copies,
    both_devices,
    threads_with_an_event,
    prefetching,
    buffers_take_turns,
    training_on_a_side_stream,
    gradients_across_streams,
)
