# SPDX-License-Identifier: Apache-2.0
"""Figures of Google Benchmark programs, and the limits that they must keep.

The programs run one after the other `--rounds` times, in processes of their own; a
ratio compares two numbers of one process. The median of the rounds counts; a figure
over its limit is measured again and the best round counts. Times hold on an idle
machine at its fast clock, so a calibration loop is printed beside them: compare runs
whose loops took as long.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence

from absl import flags

from benchmarks import calibration, progress

_ROUNDS = flags.DEFINE_integer("rounds", 5, "Processes per figure.", 1)
_WHAT = flags.DEFINE_string("what", "", "Only figures whose name contains this.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")

# The command that runs the benchmarks with these names of a program and prints JSON.
Command = Callable[[str, list[str]], list[str]]


@dataclasses.dataclass(frozen=True)
class Figure:
    """One number with a limit.

    Attributes:
      name: for people.
      program: that measures it.
      value: the benchmark whose time counts.
      limit: largest accepted number; smallest, if `at_least`.
      base: benchmark of the same program that `value` is divided by; none for a time.
      field: of Google Benchmark's result: a time or a counter.
      base_field: the same of `base`; `field` if empty.
      unit: of the number; none for a plain ratio.
      scale: from the field's unit to `unit`.
    """

    name: str
    program: str
    value: str
    limit: float = math.inf
    base: str = ""
    field: str = "real_time"
    base_field: str = ""
    unit: str = "ns"
    scale: float = 1.0
    at_least: bool = False

    def read(self, results: dict[str, dict[str, float]]) -> float:
        value = results[self.value][self.field] * self.scale
        if not self.base:
            return value
        return value / (results[self.base][self.base_field or self.field] * self.scale)

    def accepts(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def best(self, values: list[float]) -> float:
        return max(values) if self.at_least else min(values)

    def text(self, value: float, note: str) -> str:
        bound = "at least" if self.at_least else "at most"
        verdict = "ok" if self.accepts(value) else "OVER"
        number = f"{value:9.2f} {self.unit or 'times'}"
        limit = f"{bound} {self.limit:g}  {verdict}" if self.limit < math.inf else ""
        return f"{self.name:<32}{number:<20}  {limit}{note}"


def _run(
    command: Command, program: str, names: list[str]
) -> dict[str, dict[str, float]]:
    """Results by benchmark name."""
    out = subprocess.run(
        command(program, names),
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


def _measure(figures: Sequence[Figure], command: Command) -> dict[Figure, list[float]]:
    """Values of all rounds; the programs take turns."""
    values: dict[Figure, list[float]] = {figure: [] for figure in figures}
    for _ in progress.rounds(_ROUNDS.value, f"{len(figures)} figures"):
        for program in sorted({figure.program for figure in figures}):
            own = [f for f in figures if f.program == program]
            names = {n for f in own for n in (f.value, f.base) if n}
            results = _run(command, program, sorted(names))
            for figure in own:
                values[figure].append(figure.read(results))
    return values


def report(all_figures: Sequence[Figure], command: Command) -> None:
    """Measures and prints; ends the process with 1 when --check asks for it."""
    figures = [f for f in all_figures if _WHAT.value in f.name]
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    values = _measure(figures, command)
    medians = {f: statistics.median(values[f]) for f in figures}
    again = _measure([f for f in figures if not f.accepts(medians[f])], command)
    good = True
    for figure in figures:
        value, note = medians[figure], ""
        if figure in again:
            value = figure.best(again[figure])
            note = f" best of {len(again[figure])}"
        good &= figure.accepts(value)
        print(figure.text(value, note))
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and not good:
        sys.exit(1)
