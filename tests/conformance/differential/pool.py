# SPDX-License-Identifier: Apache-2.0
"""Does tasks in processes, so that a crash or a hang costs one task only.

The processes are forks of a server that has imported what they need; a process is
replaced when it ends. Talk over a connection: tasks go in, texts that say what is
done next come out, then the task's result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any

Serve = Callable[[Connection], None]


@dataclasses.dataclass(frozen=True)
class Crash:
    """A task whose process ended, or was ended, before the result came.

    Attributes:
        task: The task.
        reason: What happened, and during what.
    """

    task: Any
    reason: str


def context(preload: Sequence[str]) -> Any:
    """Makes processes by forking a server that has imported `preload`."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["__main__", *preload])
    return made


def _ending(process: ForkServerProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"crashes: {signal.Signals(-code).name}"
    return f"crashes: exit status {code}"


class _Worker:
    """One process and the task it does."""

    def __init__(self, make: Any, serve: Serve) -> None:
        self.connection, theirs = make.Pipe()
        self._process = make.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.task: Any = None
        self.deadline = 0.0
        self._doing = ""

    def begin(self, task: Any, limit_s: float) -> None:
        self.task = task
        self._doing = "the start"
        self.deadline = time.monotonic() + limit_s
        self.connection.send(task)

    def receive(self) -> Any:
        """The result, a crash, or None as long as there is neither."""
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return self._crash()
        if isinstance(message, str):
            self._doing = message
            return None
        self.task = None
        return message

    def _crash(self) -> Crash:
        self._process.join()
        return Crash(self.task, f"{_ending(self._process)}, in {self._doing}")

    def kill(self) -> Crash:
        self._process.kill()
        self._process.join()
        return Crash(self.task, f"hangs, in {self._doing}")

    def close(self) -> None:
        """Ends an idle process."""
        with contextlib.suppress(OSError):  # it has ended already
            self.connection.send(None)
        self._process.join()
        self.connection.close()


class Pool:
    """Processes that do tasks.

    Args:
        make: Where processes come from, see `context`.
        serve: What they run: receives tasks until None, and ends by itself after
            a result that says `tainted`.
        jobs: How many at a time.
        limit_s: How long a task may take before its process is killed.
    """

    def __init__(self, make: Any, serve: Serve, jobs: int, limit_s: float) -> None:
        self._make = make
        self._serve = serve
        self._jobs = jobs
        self._limit_s = limit_s
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []

    def run(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Results, or `Crash`es, as they come."""
        waiting = iter(tasks)
        try:
            self._fill(waiting)
            while self._busy:
                yield from self._collect()
                self._fill(waiting)
        finally:
            self._close()

    def _fill(self, waiting: Iterator[Any]) -> None:
        while len(self._busy) < self._jobs:
            task = next(waiting, None)
            if task is None:
                return
            worker = self._idle.pop() if self._idle else self._worker()
            worker.begin(task, self._limit_s)
            self._busy.append(worker)

    def _worker(self) -> _Worker:
        return _Worker(self._make, self._serve)

    def _collect(self) -> Iterator[Any]:
        """Waits until something happens."""
        first = min(worker.deadline for worker in self._busy)
        timeout = max(0.0, first - time.monotonic())
        ready = wait([worker.connection for worker in self._busy], timeout)
        for worker in list(self._busy):
            if worker.connection in ready:
                message = worker.receive()
            elif time.monotonic() >= worker.deadline:
                message = worker.kill()
            else:
                continue
            if message is not None:
                self._retire(worker, message)
                yield message

    def _retire(self, worker: _Worker, message: Any) -> None:
        self._busy.remove(worker)
        if isinstance(message, Crash):
            worker.connection.close()
        elif message.tainted:
            worker.close()
        else:
            self._idle.append(worker)

    def _close(self) -> None:
        for worker in self._busy:
            worker.kill()
        for worker in self._idle:
            worker.close()
