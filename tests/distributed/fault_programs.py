# SPDX-License-Identifier: Apache-2.0
"""Programs in which one rank fails, and what the others then raise."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import ranks
import torch
import torch.distributed as dist
from torch import nn

TIMEOUT_S = 3
# The rank that fails.
CULPRIT = 1

Raised = tuple[str, str, float]


def _step(size: int = 64, dtype: torch.dtype = torch.float32) -> None:
    tensor = torch.ones(size, dtype=dtype, device="dipu")
    dist.all_reduce(tensor)
    torch.dipu.synchronize()


def _go_on(begin: float) -> Raised:
    """Trains on until something is raised; what, and how long after `begin`."""
    end = time.monotonic() + 10 * TIMEOUT_S
    while time.monotonic() < end:
        try:
            _step()
        except Exception as e:
            return type(e).__name__, str(e), time.monotonic() - begin
    raise AssertionError("nothing was raised")


def _softdevice() -> ctypes.CDLL:
    folder = os.path.dirname(os.environ["DIPU_VENDOR_LIBRARY"])
    return ctypes.CDLL(os.path.join(folder, ranks.SOFTDEVICE))


def _inject(text: str) -> None:
    assert _softdevice().soft_fault_add(text.encode()) == 0


def killed(group: ranks.Ranks) -> None:
    """The process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def stopped(group: ranks.Ranks) -> None:
    """The process stands still, until the test is over."""
    (group.folder / "stopped").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)


def exits(group: ranks.Ranks) -> None:
    """The process ends as if it were done, without destroying the group."""
    os._exit(0)


def too_slow(group: ranks.Ranks) -> None:
    """The rank computes for longer than the timeout."""
    time.sleep(2.5 * TIMEOUT_S)


def hung_device(group: ranks.Ranks) -> None:
    """The rank's device stops in its work, until its process ends."""
    _inject("hang=1")
    ending = threading.Timer(4 * TIMEOUT_S, os._exit, (0,))
    ending.daemon = True
    ending.start()


def broken_device(group: ranks.Ranks) -> None:
    """A kernel of the rank fails."""
    _inject("launch=1")


def wrong_shape(group: ranks.Ranks) -> None:
    """Another number of elements."""
    _step(65)


def wrong_dtype(group: ranks.Ranks) -> None:
    """Another type."""
    _step(64, torch.int32)


def wrong_order(group: ranks.Ranks) -> None:
    """Another operation."""
    dist.broadcast(torch.ones(64, device="dipu"), 0)
    torch.dipu.synchronize()


def one_more(group: ranks.Ranks) -> None:
    """One operation more than the others, and then no more."""
    _step()
    _step()
    time.sleep(2.5 * TIMEOUT_S)


def aborts(group: ranks.Ranks) -> None:
    """The rank aborts while its operation waits for the others."""
    tensor = torch.ones(64, device="dipu")
    work = dist.all_reduce(tensor, async_op=True)
    timer = threading.Timer(0.5, dist.group.WORLD.abort)
    timer.start()
    work.wait()
    timer.join()


def raises_in_backward(group: ranks.Ranks) -> None:
    """The program fails in backward, and its process ends."""
    network = nn.Linear(4, 4).to("dipu")

    def fail(grad: torch.Tensor) -> None:
        raise RuntimeError("a mistake of the user's")

    network.weight.register_hook(fail)
    network(torch.ones(2, 4, device="dipu")).sum().backward()


def nan(group: ranks.Ranks) -> None:
    """A rank computes NaN, which DICL_NAN_CHECK looks for."""
    dist.all_reduce(torch.full((4,), float("nan"), device="dipu"))


FAULTS: dict[str, Callable[[ranks.Ranks], None]] = {
    f.__name__: f
    for f in (
        killed,
        stopped,
        exits,
        too_slow,
        hung_device,
        broken_device,
        wrong_shape,
        wrong_dtype,
        wrong_order,
        one_more,
        aborts,
        raises_in_backward,
        nan,
    )
}
# Those in which nothing but the timeout tells.
SILENT = frozenset({"stopped", "too_slow", "hung_device", "one_more"})


def fault(group: ranks.Ranks, name: str) -> Raised:
    """All ranks train; the culprit fails; what each of the others raises."""
    group.init(timeout=TIMEOUT_S)
    for _ in range(3):
        _step()
    begin = time.monotonic()
    if group.rank == CULPRIT:
        FAULTS[name](group)
    if name == "aborts":
        time.sleep(1)  # so that the culprit waits for the others
    raised = _go_on(begin)
    if name == "stopped":
        _end_stopped(group)
    return raised


def _end_stopped(group: ranks.Ranks) -> None:
    if group.rank == 0:
        group.await_mark("raised", 2)
        os.kill(int((group.folder / "stopped").read_text()), signal.SIGKILL)
    group.mark("raised")


def slow(group: ranks.Ranks) -> float:
    """A rank that is slow, but not slower than the timeout, is waited for."""
    group.init(timeout=TIMEOUT_S)
    _step()
    if group.rank == CULPRIT:
        time.sleep(TIMEOUT_S / 2)
    tensor = torch.ones(8, device="dipu")
    dist.all_reduce(tensor)
    total = tensor.sum().item()
    dist.destroy_process_group()
    return total


def never_joins(group: ranks.Ranks) -> Raised | None:
    """A rank does not come to the first operation."""
    group.init(timeout=TIMEOUT_S)
    if group.rank == CULPRIT:
        group.await_mark("raised", 0)
        return None
    begin = time.monotonic()
    raised = _go_on(begin)
    group.mark("raised")
    return raised


def store_gone(group: ranks.Ranks) -> Raised:
    """The process that serves the store is killed, and with it its rank."""
    place = group.folder / "port"
    if group.rank == CULPRIT:
        store = dist.TCPStore("127.0.0.1", 0, group.size, True, wait_for_workers=False)
        (group.folder / "port.part").write_text(str(store.port))
        (group.folder / "port.part").rename(place)
    else:
        while not place.exists():
            time.sleep(0.01)
        store = dist.TCPStore("127.0.0.1", int(place.read_text()), group.size, False)
    import datetime

    dist.init_process_group(
        "dicl",
        store=store,
        rank=group.rank,
        world_size=group.size,
        timeout=datetime.timedelta(seconds=TIMEOUT_S),
    )
    _step()
    begin = time.monotonic()
    if group.rank == CULPRIT:
        killed(group)
    return _go_on(begin)


def again(group: ranks.Ranks) -> tuple[Raised, float]:
    """After a failure the same processes make a new group, and it works."""
    group.init(timeout=TIMEOUT_S)
    _step()
    if group.rank == CULPRIT:
        dist.group.WORLD.abort()
    raised = _go_on(time.monotonic())
    dist.destroy_process_group()
    group.init(timeout=TIMEOUT_S, name="meet_again")
    tensor = torch.ones(8, device="dipu")
    dist.all_reduce(tensor)
    total = tensor.sum().item()
    dist.destroy_process_group()
    return raised, total


def blocking(group: ranks.Ranks) -> Raised:
    """wait() of the operation itself raises, with DICL_BLOCKING_WAIT."""
    group.init(timeout=TIMEOUT_S)
    _step()
    begin = time.monotonic()
    if group.rank == CULPRIT:
        group.await_mark("raised", 0)
        return "", "", 0.0
    try:
        dist.all_reduce(torch.ones(4, device="dipu"))
    except dist.DistBackendError as e:
        group.mark("raised")
        return type(e).__name__, str(e), time.monotonic() - begin
    raise AssertionError("nothing was raised")


def explicit_timeout(group: ranks.Ranks) -> str:
    """wait(timeout) raises, and the operation goes on."""
    import datetime

    group.init(timeout=60)
    _step()
    if group.rank == CULPRIT:
        group.await_mark("raised", 0)
    tensor = torch.ones(4, device="dipu")
    work = dist.all_reduce(tensor, async_op=True)
    text = ""
    if group.rank != CULPRIT:
        try:
            work.wait(datetime.timedelta(milliseconds=300))
        except dist.DistBackendError as e:
            text = str(e)
        group.mark("raised")
    work.wait()
    assert tensor.tolist() == [group.size] * 4
    dist.destroy_process_group()
    return text


def barrier(group: ranks.Ranks) -> str:
    """The monitored barrier names who is missing."""
    import datetime

    group.init(timeout=TIMEOUT_S)
    backend: Any = dist.group.WORLD._get_backend(torch.device("dipu"))
    limit = datetime.timedelta(seconds=1)
    backend.monitored_barrier(limit)
    if group.rank == CULPRIT:
        group.await_mark("raised", 0)
        return ""
    try:
        backend.monitored_barrier(limit)
    except dist.DistBackendError as e:
        group.mark("raised")
        return str(e)
    raise AssertionError("nothing was raised")


def records(group: ranks.Ranks, prefix: str) -> dict[str, Any]:
    """The flight recorder, by request and after a failure."""
    import torch_dipu.distributed

    group.init(timeout=TIMEOUT_S)
    _step()
    dist.broadcast(torch.ones(2, device="dipu"), 0)
    torch.dipu.synchronize()
    torch_dipu.distributed.dump_flight_records(f"{prefix}/asked_")
    if group.rank == CULPRIT:
        _step(65)
    _go_on(time.monotonic())
    return torch_dipu.distributed.flight_records()


def leaves(group: ranks.Ranks) -> None:
    """Ends without destroying the group, with an operation that is not awaited."""
    group.init()
    dist.all_reduce(torch.ones(1 << 16, device="dipu"), async_op=True)


def forks(group: ranks.Ranks) -> int:
    """A child of fork that destroys its copy of the group neither hangs nor crashes."""
    group.init()
    _step()
    child = os.fork()
    if child == 0:
        dist.destroy_process_group()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    _step()
    dist.destroy_process_group()
    return status
