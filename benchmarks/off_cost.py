# SPDX-License-Identifier: Apache-2.0
"""What debug tools cost an operator while they are off: instructions of its caller.

Two builds of one program make the same calls: the usual one, in which a function slot
stands before each operator, and one in which operators are registered directly.
valgrind's callgrind counts the instructions of the calling thread, from at::add to
the return, in batches of 50 calls; the median of the batches counts. Other threads, and
how fast the machine is, have no part in it. Needs valgrind (apt-get install valgrind).

    ./bazelw run //benchmarks:off_cost

Takes about two minutes.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from absl import app, flags

_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when the limit is exceeded.")

LIMIT = 0.01
_FOLDER = pathlib.Path(__file__).parent.absolute()
_CALLS = 50
_COUNTED = {"add": "countedAdd", "mm": "countedMm", "relu": "countedRelu"}
# Valgrind has no room for the addresses of a larger device.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "SOFTDEVICE_MEMORY": "64M"}
# The batches that fill caches of memory and of the dispatcher.
_WARM_UP = 5


def _instructions(folder: pathlib.Path) -> dict[str, list[int]]:
    """Instructions of each batch, by its function, from callgrind's dumps."""
    found: dict[str, list[int]] = {}
    # A dump per batch and thread; 01 is the thread that calls.
    dumps = folder.glob("dump.*-01")
    for dump in sorted(dumps, key=lambda path: int(path.name.split(".")[1][:-3])):
        text = dump.read_text()
        trigger = re.search(r"^desc: Trigger: --dump-after=(.+)$", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if trigger and total:
            found.setdefault(trigger[1], []).append(int(total[1]))
    return found


def _run(program: str, slots: bool) -> dict[str, float]:
    """Instructions of a call, by operator."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--vgdb=no"]
        command += ["--separate-threads=yes"]
        command += [f"--callgrind-out-file={folder}/dump"]
        command += ["--toggle-collect=counted*"]
        command += [f"--dump-after={function}" for function in _COUNTED.values()]
        done = subprocess.run(
            [*command, str(_FOLDER / program)],
            env={**os.environ, **_ENVIRONMENT},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")
        if f"slots: {'yes' if slots else 'no'}\n" not in done.stdout:
            raise RuntimeError(f"{program} is not the build it should be")
        batches = _instructions(pathlib.Path(folder))
    return {
        name: statistics.median(batches[function][_WARM_UP:]) / _CALLS
        for name, function in _COUNTED.items()
    }


def measure() -> dict[str, tuple[float, float]]:
    """Instructions of a call without slots and with them, by operator.

    Raises:
        RuntimeError: valgrind is missing, or a program fails.
    """
    if shutil.which("valgrind") is None:
        raise RuntimeError("valgrind is missing: apt-get install valgrind")
    direct = _run("off_cost_without_slots", slots=False)
    slotted = _run("off_cost_with_slots", slots=True)
    return {name: (direct[name], slotted[name]) for name in direct}


def main(argv: list[str]) -> None:
    del argv
    good = True
    for name, (direct, slotted) in measure().items():
        growth = slotted / direct - 1
        good &= growth <= LIMIT
        verdict = "ok" if growth <= LIMIT else "OVER"
        print(
            f"{name:<6}without slots {direct:8.1f}  with slots {slotted:8.1f}"
            f"  {growth:+.2%}  at most {LIMIT:.0%}  {verdict}"
        )
    if _CHECK.value and not good:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
