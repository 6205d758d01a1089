# SPDX-License-Identifier: Apache-2.0
"""Time of one operator call across the C contract, and its limit (figures.py).

The limit is 80 ns on a machine whose calibration loop takes 1.2335 ns per step; it is
counted in such steps, so that the clock of the moment does not matter. Each process
measures 200 000 calls nine times. The quickest of the nine is the one that nobody
disturbs. In the others the worker, which runs what was enqueued, takes the memory
lines of its stream from the caller's processor to its own: their median is printed too.

    ./bazelw run //benchmarks:abi_call

Takes a few seconds.
"""

from __future__ import annotations

import os

from absl import app

from benchmarks import figures
from benchmarks.figures import Figure

_NAME = "addCall/8/iterations:200/repeats:9/manual_time"
_STEPS = "loop steps"


def _figure(name: str, statistic: str, limit: float) -> Figure:
    return Figure(
        name,
        "abi_call_benchmark",
        f"{_NAME}_{statistic}",
        limit,
        base=f"{_NAME}_{statistic}",
        base_field="loop_ns",
        unit=_STEPS,
    )


FIGURES = (
    _figure("call with enqueue", "min", 80 / 1.2335),
    Figure("the same in time", "abi_call_benchmark", f"{_NAME}_min"),
    Figure("beside a busy worker", "abi_call_benchmark", f"{_NAME}_median"),
)


def _command(program: str, names: list[str]) -> list[str]:
    del names
    path = os.path.join(os.path.dirname(__file__), program)
    return [path, "--benchmark_format=json"]


def main(argv: list[str]) -> None:
    del argv
    figures.report(FIGURES, _command)


if __name__ == "__main__":
    app.run(main)
