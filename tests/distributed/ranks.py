# SPDX-License-Identifier: Apache-2.0
"""Runs a function on several ranks, each a process of its own, within a limit.

A program is a function `def name(group: Ranks, ...) -> Any` of a module beside this
one. The processes meet by a file; nothing needs a port.
"""

from __future__ import annotations

import ctypes
import dataclasses
import datetime
import faulthandler
import functools
import importlib
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

# The library that droplet computes with, beside it.
SOFTDEVICE = "libdipu_softdevice.so"
# What the nursery says of a process that has not ended; no exit status.
_RUNNING = 1000


class _Counter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("launches", ctypes.c_uint64),
        ("total_ns", ctypes.c_uint64),
        ("min_ns", ctypes.c_uint64),
        ("max_ns", ctypes.c_uint64),
    )


def launches() -> dict[str, int]:
    """Kernels that the device of this process has finished, by name."""
    folder = os.path.dirname(os.environ["DIPU_VENDOR_LIBRARY"])
    library = ctypes.CDLL(os.path.join(folder, SOFTDEVICE))
    counters = (_Counter * 4096)()
    count = ctypes.c_size_t()
    assert library.soft_counters_read(counters, 4096, ctypes.byref(count)) == 0
    return {c.name.decode(): c.launches for c in counters[: count.value]}


@dataclasses.dataclass
class Ranks:
    """What a program knows of the ranks."""

    rank: int
    size: int
    folder: pathlib.Path

    def init(self, backend: str | None = "dicl", name: str = "meet", **kw: Any) -> None:
        """Makes the default group.

        Args:
            backend: As init_process_group takes it.
            name: Of the file where the ranks meet; a second group needs another.
            **kw: Further arguments of init_process_group. A timeout in seconds.
        """
        import torch.distributed as dist

        if "timeout" in kw:
            kw["timeout"] = datetime.timedelta(seconds=kw["timeout"])
        dist.init_process_group(
            backend,
            init_method=f"file://{self.folder}/{name}",
            rank=self.rank,
            world_size=self.size,
            **kw,
        )

    def mark(self, name: str) -> None:
        """Tells other ranks, and the test, that this one has come to `name`."""
        (self.folder / f"{name}.{self.rank}").touch()

    def await_mark(self, name: str, rank: int, limit_s: float = 30) -> None:
        """Waits for the mark of another rank, without the group."""
        end = time.monotonic() + limit_s
        while not (self.folder / f"{name}.{rank}").exists():
            assert time.monotonic() < end, f"rank {rank} never came to {name}"
            time.sleep(0.01)


@dataclasses.dataclass
class Outcome:
    """What became of one rank.

    Attributes:
        value: What the program returned; None if it did not return.
        error: The traceback of what it raised; empty if it raised nothing.
        status: Of the process; None if it had to be killed at the limit.
        log: Its standard error output.
    """

    value: Any
    error: str
    status: int | None
    log: str


class _Nursery:
    """A process that has imported everything, and forks ranks.

    Importing takes seconds, which tests would otherwise spend per rank. The process
    never uses the device, so its children may.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, request: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, **job: Any) -> int:
        """Starts a rank and returns its process."""
        return self._ask(job)

    def status(self, pid: int, end: float) -> int | None:
        """How the process ended; None if it had to be killed at `end`."""
        killed = False
        while True:
            status = self._ask({"pid": pid})
            if status != _RUNNING:
                return None if killed else status
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                killed = True
            time.sleep(0.02)


@functools.cache
def _nursery() -> _Nursery:
    return _Nursery()


def _outcome(pid: int, rank: int, folder: pathlib.Path, end: float) -> Outcome:
    status = _nursery().status(pid, end)
    log = (folder / f"log.{rank}").read_text(errors="replace")
    result = folder / f"result.{rank}"
    if not result.exists():
        return Outcome(None, "", status, log)
    value, error = pickle.loads(result.read_bytes())
    return Outcome(value, error, status, log)


def launch(
    program: str,
    size: int,
    folder: pathlib.Path,
    *args: Any,
    limit_s: float = 100,
    env: dict[str, str] | None = None,
) -> list[Outcome]:
    """Runs a program and returns what became of each rank.

    Args:
        program: "module:function".
        size: Number of ranks.
        folder: An empty one, for files that the ranks share.
        *args: Further arguments of the function.
        limit_s: Whoever has not ended by then is killed.
        env: Variables for the processes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arguments").write_bytes(pickle.dumps(args))
    end = time.monotonic() + limit_s
    processes = [
        _nursery().start(
            program=program, rank=rank, size=size, folder=str(folder), env=env or {}
        )
        for rank in range(size)
    ]
    return [_outcome(pid, rank, folder, end) for rank, pid in enumerate(processes)]


def run(
    program: str, size: int, folder: pathlib.Path, *args: Any, **kw: Any
) -> list[Any]:
    """As `launch`, but every rank has to return; gives what they returned."""
    outcomes = launch(program, size, folder, *args, **kw)
    for rank, outcome in enumerate(outcomes):
        assert not outcome.error, f"rank {rank}: {outcome.error}"
        assert outcome.status == 0, f"rank {rank}: {outcome.status}\n{outcome.log}"
    return [outcome.value for outcome in outcomes]


def _serve() -> dict[str, Any] | None:
    """Answers the launcher; returns a rank's job in its process, and then None."""
    for line in sys.stdin:
        request = json.loads(line)
        if "pid" in request:
            pid, status = os.waitpid(request["pid"], os.WNOHANG)
            print(_RUNNING if pid == 0 else os.waitstatus_to_exitcode(status))
        elif pid := os.fork():
            print(pid)
        else:
            return request
        sys.stdout.flush()
    return None


def _redirect(log: pathlib.Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _work(job: dict[str, Any]) -> None:
    """Runs the program; the process then ends like any other."""
    folder, rank = pathlib.Path(job["folder"]), job["rank"]
    _redirect(folder / f"log.{rank}")
    os.environ.update(job["env"])
    module, function = job["program"].split(":")
    value, error = None, ""
    try:
        body = getattr(importlib.import_module(module), function)
        args = pickle.loads((folder / "arguments").read_bytes())
        value = body(Ranks(rank, job["size"], folder), *args)
    except Exception:
        error = traceback.format_exc()
    partial = folder / f"partial.{rank}"
    partial.write_bytes(pickle.dumps((value, error)))
    partial.rename(folder / f"result.{rank}")


def _main() -> None:
    import torch
    import torch._dynamo
    import torch.distributed.checkpoint
    import torch.distributed.fsdp
    import torch.distributed.optim
    import torch.distributed.pipelining
    import torch.distributed.tensor.parallel
    import torch_dipu  # noqa: F401

    torch.set_num_threads(1)
    faulthandler.enable()
    job = _serve()
    if job is not None:
        _work(job)


if __name__ == "__main__":
    _main()
