# SPDX-License-Identifier: Apache-2.0
"""Measures softdevice and compares each figure with its limit (figures.py).

    ./bazelw run //benchmarks:softdevice

Takes three to four minutes.
"""

from __future__ import annotations

import os
import sys

from absl import app

from benchmarks import figures
from benchmarks.figures import Figure

_ISOLATION = "isolation.py"
_COPIES = "copy_benchmark"
_DIRECTIONS = (
    "pinned to device",
    "device to pinned",
    "pageable to device",
    "device to pageable",
    "device to same device",
    "device to other device",
)

FIGURES = (
    Figure(
        "enqueue a kernel",
        "launch_benchmark",
        "BM_Launch/96",
        60,
        field="per_call",
        scale=1e9,
    ),
    Figure(
        "kernel and synchronize", "launch_benchmark", "BM_RoundTrip/real_time", 2000
    ),
    Figure(
        "replay 100 kernels, host",
        "graph_benchmark",
        "BM_Host/bytes:96/replay:1",
        0.2,
        base="BM_Host/bytes:96/replay:0",
        field="per_100_kernels",
        unit="",
    ),
    Figure(
        "replay 100 kernels, end to end",
        "graph_benchmark",
        "BM_EndToEnd/bytes:96/replay:1/real_time",
        1.0,
        base="BM_EndToEnd/bytes:96/replay:0/real_time",
        unit="",
    ),
    *(
        Figure(
            f"copy {direction}",
            _COPIES,
            direction,
            0.9,
            field="ratio",
            unit="of memcpy",
            at_least=True,
        )
        for direction in _DIRECTIONS
    ),
    Figure(
        "kernels, isolated / direct",
        _ISOLATION,
        "all",
        1.02,
        field="ratio",
        unit="",
    ),
)


def _command(program: str, names: list[str]) -> list[str]:
    path = os.path.join(os.path.dirname(__file__), program)
    if program == _ISOLATION:
        return [sys.executable, path, "--json", "--rounds=1"]
    if program == _COPIES:
        return [path, "--json"]
    pattern = "|".join(f"^{name}$" for name in names)
    return [path, f"--benchmark_filter={pattern}", "--benchmark_format=json"]


def main(argv: list[str]) -> None:
    del argv
    figures.report(FIGURES, _command)


if __name__ == "__main__":
    app.run(main)
