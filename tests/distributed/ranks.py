# SPDX-License-Identifier: Apache-2.0
"""Runs a function on several ranks, each a process of its own, within a limit.

A program is a function `def name(group: Ranks, ...) -> Any` of a module beside this
one. The processes meet by a file; nothing needs a port.
"""

from __future__ import annotations

import ctypes
import dataclasses
import datetime
import importlib
import os
import pathlib
import pickle
import subprocess
import sys
import time
import traceback
from typing import Any

# The library that droplet computes with, beside it.
SOFTDEVICE = "libdipu_softdevice.so"
_HERE = pathlib.Path(__file__).parent


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


def _start(
    rank: int, size: int, folder: pathlib.Path, program: str, env: dict[str, str]
) -> subprocess.Popen[bytes]:
    with open(folder / f"log.{rank}", "wb") as log:
        return subprocess.Popen(
            [sys.executable, __file__, program, str(rank), str(size), str(folder)],
            stdout=log,
            stderr=log,
            env={**os.environ, **env},
        )


def _outcome(
    process: subprocess.Popen[bytes], rank: int, folder: pathlib.Path, end: float
) -> Outcome:
    try:
        process.wait(max(0.0, end - time.monotonic()))
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        status = None
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
    processes = [_start(rank, size, folder, program, env or {}) for rank in range(size)]
    return [
        _outcome(process, rank, folder, end) for rank, process in enumerate(processes)
    ]


def run(
    program: str, size: int, folder: pathlib.Path, *args: Any, **kw: Any
) -> list[Any]:
    """As `launch`, but every rank has to return; gives what they returned."""
    outcomes = launch(program, size, folder, *args, **kw)
    for rank, outcome in enumerate(outcomes):
        assert not outcome.error, f"rank {rank}: {outcome.error}"
        assert outcome.status == 0, f"rank {rank}: {outcome.status}\n{outcome.log}"
    return [outcome.value for outcome in outcomes]


def _main() -> None:
    program, rank, size, place = sys.argv[1:]
    folder = pathlib.Path(place)
    import torch
    import torch_dipu  # noqa: F401

    torch.set_num_threads(1)
    module, function = program.split(":")
    sys.path.insert(0, str(_HERE))
    body = getattr(importlib.import_module(module), function)
    args = pickle.loads((folder / "arguments").read_bytes())
    value, error = None, ""
    try:
        value = body(Ranks(int(rank), int(size), folder), *args)
    except Exception:
        error = traceback.format_exc()
    partial = folder / f"partial.{rank}"
    partial.write_bytes(pickle.dumps((value, error)))
    partial.rename(folder / f"result.{rank}")


if __name__ == "__main__":
    _main()
