# SPDX-License-Identifier: Apache-2.0
"""Time of one operator call across the C contract, and its limit (figures.py).

The limit is 80 ns on a machine whose calibration loop takes 1.2335 ns per step; it is
counted in such steps, so that the clock of the moment does not matter. Each process
measures 200 000 calls nine times, and their median counts. It is about half as large
again while the worker, which runs what was enqueued, keeps pace on another processor:
the memory lines of its stream then travel between the two. The quickest of the nine,
which nobody disturbs, is printed too.

    ./bazelw run //benchmarks:abi_call

Takes a few seconds.
"""

from __future__ import annotations

import os

from absl import app

from benchmarks import figures
from benchmarks.figures import Figure

_NAME = "addCall/8/iterations:200/repeats:9/manual_time"


FIGURES = (
    Figure(
        "call with enqueue",
        "abi_call_benchmark",
        f"{_NAME}_median",
        80 / 1.2335,
        base=f"{_NAME}_median",
        base_field="loop_ns",
        unit="loop steps",
    ),
    Figure("the same in time", "abi_call_benchmark", f"{_NAME}_median"),
    Figure("the quickest of nine", "abi_call_benchmark", f"{_NAME}_min"),
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
