# SPDX-License-Identifier: Apache-2.0
"""Measures softdevice and compares each figure with its limit.

The figures come from the programs in this folder, run one after the other
`--rounds` times in processes of their own; a ratio compares two figures of one
process. The median of the rounds counts; a figure over its limit is measured again and
the best round counts. The times hold on an idle machine at its fast clock, so a
calibration loop is printed beside them: compare runs whose loops took as long.

    ./bazelw run //benchmarks:softdevice

Takes three to four minutes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys

from absl import app, flags

from benchmarks import calibration, progress

_ROUNDS = flags.DEFINE_integer("rounds", 5, "Processes per figure.", 1)
_WHAT = flags.DEFINE_string("what", "", "Only figures whose name contains this.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number with a limit.

    Attributes:
      name: for people.
      program: beside this one.
      value: the benchmark whose time counts.
      limit: largest accepted number; smallest, if `at_least`.
      base: benchmark of the same program that `value` is divided by; none for a time.
      field: of Google Benchmark's result: a time or a counter.
      unit: of `field`, when there is no base.
      scale: from the field's unit to `unit`.
    """

    name: str
    program: str
    value: str
    limit: float
    base: str = ""
    field: str = "real_time"
    unit: str = "ns"
    scale: float = 1.0
    at_least: bool = False

    def read(self, results: dict[str, dict[str, float]]) -> float:
        value = results[self.value][self.field] * self.scale
        if not self.base:
            return value
        return value / (results[self.base][self.field] * self.scale)

    def accepts(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def best(self, values: list[float]) -> float:
        return max(values) if self.at_least else min(values)


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
    ),
    Figure(
        "replay 100 kernels, end to end",
        "graph_benchmark",
        "BM_EndToEnd/bytes:96/replay:1/real_time",
        1.0,
        base="BM_EndToEnd/bytes:96/replay:0/real_time",
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


def _run(program: str, names: list[str]) -> dict[str, dict[str, float]]:
    """Results by benchmark name."""
    out = subprocess.run(
        _command(program, names),
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    results = {r["name"]: r for r in json.loads(out[out.index("{") :])["benchmarks"]}
    missing = set(names) - set(results)
    if missing:
        raise LookupError(f"{program} has no benchmark {', '.join(sorted(missing))}")
    return results


def _measure(figures: list[Figure]) -> dict[Figure, list[float]]:
    """Values of all rounds; the programs take turns."""
    values: dict[Figure, list[float]] = {figure: [] for figure in figures}
    for _ in progress.rounds(_ROUNDS.value, f"{len(figures)} figures"):
        for program in sorted({figure.program for figure in figures}):
            own = [f for f in figures if f.program == program]
            names = {n for f in own for n in (f.value, f.base) if n}
            results = _run(program, sorted(names))
            for figure in own:
                values[figure].append(figure.read(results))
    return values


def main(argv: list[str]) -> None:
    del argv
    figures = [f for f in FIGURES if _WHAT.value in f.name]
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    values = _measure(figures)
    medians = {f: statistics.median(values[f]) for f in figures}
    over = [f for f in figures if not f.accepts(medians[f])]
    again = _measure(over)
    good = True
    for figure in figures:
        value, note = medians[figure], ""
        if figure in again:
            value = figure.best(again[figure])
            note = f" best of {len(again[figure])}"
        good &= figure.accepts(value)
        text = f"ratio {value:6.2f}" if figure.base else f"{value:9.2f} {figure.unit}"
        bound = "at least" if figure.at_least else "at most"
        verdict = "ok" if figure.accepts(value) else "OVER"
        print(f"{figure.name:<32}{text:<20}  {bound} {figure.limit:g}  {verdict}{note}")
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and not good:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
