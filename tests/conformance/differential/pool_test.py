# SPDX-License-Identifier: Apache-2.0
"""A task that crashes or hangs costs nothing but itself."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from multiprocessing.connection import Connection

import pytest

from tests.conformance.differential.pool import Crash, Pool, context


@dataclasses.dataclass(frozen=True)
class Done:
    task: str
    pid: int
    tainted: bool = False


def serve(connection: Connection) -> None:
    while (task := connection.recv()) is not None:
        connection.send(f"the middle of {task}")
        if task == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if task == "leave":
            os._exit(3)
        if task == "hang":
            threading.Event().wait()
        connection.send(Done(task, os.getpid(), tainted=task == "taint"))
        if task == "taint":
            return


def run(*tasks: str, jobs: int = 1, limit_s: float = 60) -> list[Done | Crash]:
    return list(Pool(context([]), serve, jobs, limit_s).run(tasks))


def test_a_process_does_many_tasks() -> None:
    done = run("a", "b", "c")
    assert [d.task for d in done] == ["a", "b", "c"]
    assert len({d.pid for d in done}) == 1


def test_jobs_share_the_tasks() -> None:
    done = run(*"abcdefgh", jobs=2)
    assert sorted(d.task for d in done) == list("abcdefgh")
    assert len({d.pid for d in done}) == 2


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("crash", "crashes: SIGSEGV, in the middle of crash"),
        ("leave", "crashes: exit status 3, in the middle of leave"),
    ],
)
def test_a_crash_is_told_and_others_go_on(task: str, reason: str) -> None:
    before, crash, after = run("a", task, "b")
    assert crash == Crash(task, reason)
    assert (before.task, after.task) == ("a", "b")
    assert before.pid != after.pid


def test_a_hang_is_ended() -> None:
    crash, after = run("hang", "b", limit_s=3)
    assert crash == Crash("hang", "hangs, in the middle of hang")
    assert after.task == "b"


def test_nothing_runs_in_a_tainted_process() -> None:
    tainted, after = run("taint", "b")
    assert tainted.pid != after.pid
