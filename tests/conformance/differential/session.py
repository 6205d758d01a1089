# SPDX-License-Identifier: Apache-2.0
"""Runs tasks on the device that the environment names.

This process itself imports neither torch nor the databases.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection

from tests.conformance.differential import floor, pool, rules
from tests.conformance.differential.entry import Entry, Result, Task

_HERE = pathlib.Path(__file__).parent
_PRELOAD = "tests.conformance.differential.preload"

# Settings of torch_dipu that have to stand before it is imported.
_ENVIRONMENT = {
    "DIPU_COUNT_NATIVE": "1",
    "DIPU_FALLBACK": "silent",
    "DIPU_MOCK_CUDA": "0",
    # Processes run side by side; spinning teams would starve each other.
    "OMP_WAIT_POLICY": "passive",
}


def exceptions() -> rules.Rules:
    """What exceptions.yaml says."""
    return rules.parse((_HERE / "exceptions.yaml").read_text())


def native_floor() -> set[Entry]:
    """What native.txt says."""
    return floor.parse((_HERE / "native.txt").read_text())


def _serve(connection: Connection) -> None:
    from tests.conformance.differential import worker

    worker.serve(connection)


def _list_entries(connection: Connection) -> None:
    from tests.conformance.differential import worker

    worker.list_entries(connection)


class Session:
    """A server that has imported torch, and the processes that it makes.

    Args:
        jobs: Processes at a time.
        limit_s: How long an entry may take.
    """

    def __init__(self, jobs: int = 1, limit_s: float = 300) -> None:
        os.environ.update(_ENVIRONMENT)
        self._make = pool.context([_PRELOAD])
        self._jobs = jobs
        self._limit_s = limit_s

    def entries(self) -> list[tuple[Entry, list[str]]]:
        """All entries, each with its families."""
        ours, theirs = self._make.Pipe()
        process = self._make.Process(target=_list_entries, args=(theirs,))
        process.start()
        theirs.close()
        listed = ours.recv()
        process.join()
        return listed

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Results as they come."""
        workers = pool.Pool(self._make, _serve, self._jobs, self._limit_s)
        for message in workers.run(tasks):
            if isinstance(message, pool.Crash):
                yield Result(message.task.entry, crash=message.reason)
            else:
                yield message
