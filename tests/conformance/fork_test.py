# SPDX-License-Identifier: Apache-2.0
"""Children of a process that has, or has not, used the device."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

import pytest
import torch
import torch_dipu  # noqa: F401  (a spawned child imports this file alone)
from torch.utils.data import DataLoader, Dataset

_LIMIT_S = 60


def _status_of(body: Callable[[], None]) -> int:
    """Exit status of a forked child; one that hangs is killed by its alarm."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(_LIMIT_S)
            body()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def used(device: str) -> torch.Tensor:
    """A tensor of a device that this process uses."""
    return torch.ones(8, device=device, requires_grad=True)


def _refused(call: Callable[[torch.Tensor], object], x: torch.Tensor) -> bool:
    try:
        call(x)
    except RuntimeError as error:
        return "fork" in str(error)
    return False


_CALLS: dict[str, Callable[[torch.Tensor], object]] = {
    "randn": lambda x: torch.randn(3, device=x.device.type),
    "ones": lambda x: torch.ones(3, device=x.device),
    "empty": lambda x: torch.empty(3, device=x.device),
    "tensor": lambda x: torch.tensor([1.0], device=x.device),
    "to": lambda x: torch.ones(3).to(x.device),
    "cpu": lambda x: x.cpu(),
    "item": lambda x: x.sum().item(),
    "add": lambda x: x + 1,
    "add without gradient": lambda x: x.detach() + 1,
    "add in place": lambda x: x.detach().add_(1),
    "matmul": lambda x: x @ x,
    "copy": lambda x: x.detach().copy_(torch.ones(8)),
    "backward": lambda x: x.sum().backward(),
    "repr": lambda x: repr(x),
    "clone": lambda x: x.clone(),
    "module": lambda x: torch.nn.Linear(2, 2).to(x.device),
    "pin_memory": lambda x: torch.ones(3).pin_memory(),
    "generator": lambda x: torch.Generator(x.device),
    "get_rng_state": lambda x: torch.dipu.get_rng_state(),
    "init": lambda x: torch.dipu.init(),
    "synchronize": lambda x: torch.dipu.synchronize(),
    "current_device": lambda x: torch.dipu.current_device(),
    "set_device": lambda x: torch.dipu.set_device(1),
    "properties": lambda x: torch.dipu.get_device_properties(1),
    "Stream": lambda x: torch.dipu.Stream(),
    "Stream.synchronize": lambda x: torch.dipu.default_stream(0).synchronize(),
    "set_stream": lambda x: torch.dipu.set_stream(torch.dipu.default_stream(0)),
    "Event.record": lambda x: torch.dipu.Event().record(),
    "mem_get_info": lambda x: torch.dipu.mem_get_info(),
}


def test_every_call_of_a_forked_child_is_a_clear_error(used: torch.Tensor) -> None:
    def body() -> None:
        failed = [name for name, call in _CALLS.items() if not _refused(call, used)]
        assert not failed, failed

    assert _status_of(body) == 0
    assert (used + 1).sum().item() == 16, "the parent goes on"


def test_forked_child_may_ask_and_drop(used: torch.Tensor) -> None:
    def body() -> None:
        nonlocal used
        assert used.shape == (8,) and used.requires_grad
        assert torch.dipu.device_count() > 0
        assert not torch.dipu.is_initialized()
        del used
        torch.manual_seed(3)  # as the workers of a DataLoader do
        assert torch.rand(2).sum() > 0

    assert _status_of(body) == 0


def _end(value: int) -> None:
    """Ends as the target of a process."""
    assert value == 3


def test_forked_child_ends_cleanly(used: torch.Tensor) -> None:
    for _ in range(3):
        process = multiprocessing.get_context("fork").Process(target=_end, args=(3,))
        process.start()
        process.join(_LIMIT_S)
        assert process.exitcode == 0
    assert used.sum().item() == 8


def test_a_thread_may_fork(used: torch.Tensor) -> None:
    statuses: list[int] = []

    def body() -> None:
        assert _refused(_CALLS["add"], used)

    thread = threading.Thread(target=lambda: statuses.append(_status_of(body)))
    thread.start()
    thread.join()
    assert statuses == [0]


def test_children_forked_while_threads_use_the_device(used: torch.Tensor) -> None:
    used + 1
    # From here on both threads have made each of their calls once: torch's own
    # first calls leave a child without an end that is forked during one.
    warm = threading.Event()
    stop = threading.Event()

    def work() -> None:
        x = used.detach()
        while not stop.is_set():
            x = (x * 1.0).clone()
            torch.dipu.Event().record()
            warm.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert warm.wait(_LIMIT_S)
    try:
        for _ in range(10):
            assert _status_of(lambda: _raise_unless(_refused(_CALLS["add"], used))) == 0
    finally:
        stop.set()
        thread.join()


def _raise_unless(condition: bool) -> None:
    assert condition


class _Rows(Dataset[torch.Tensor]):
    """Tensors made on the CPU."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((4,), float(index)) + torch.rand(4) * 0


@pytest.mark.parametrize("pin", [False, True])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(method: str, pin: bool, used: torch.Tensor) -> None:
    loader = DataLoader(
        _Rows(),
        batch_size=8,
        num_workers=2,
        pin_memory=pin,
        multiprocessing_context=method,
        persistent_workers=True,
    )
    for _ in range(2):
        batches = [batch.to(used.device, non_blocking=True) for batch in loader]
        assert torch.cat(batches)[:, 0].tolist() == list(map(float, range(24)))


def test_worker_that_touches_the_device_is_told(used: torch.Tensor) -> None:
    loader = DataLoader(_Touching(used.device.type), num_workers=1)
    with pytest.raises(RuntimeError, match="fork"):
        next(iter(loader))


class _Touching(Dataset[torch.Tensor]):
    def __init__(self, device: str) -> None:
        self._device = device

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(2, device=self._device).cpu()


def _use(device: str, result: Connection) -> None:
    with result:
        result.send(torch.ones(3, device=device).sum().item())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_child_of_another_start_method_uses_the_device(
    method: str, used: torch.Tensor
) -> None:
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_use, args=(used.device.type, sender))
    process.start()
    sender.close()
    assert receiver.recv() == 3.0
    process.join(_LIMIT_S)
    assert process.exitcode == 0
