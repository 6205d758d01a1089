# SPDX-License-Identifier: Apache-2.0
"""Measures a device and torch CPU in processes that alternate.

A benchmark gives a function that measures everything on one device, in the
process in which it is called, and returns seconds by name. Both sides run with one
thread and with all; the better one counts. A ratio is device / CPU, the median
over the rounds; an entry over its limit is measured again, and the quickest of five
rounds counts on either side.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable

from benchmarks import progress

Times = dict[str, float]

_BEST_OF = 5


@dataclasses.dataclass(frozen=True)
class Entry:
    """What the rounds say about one figure; times in seconds."""

    name: str
    cpu: float
    device: float
    ratio: float
    limit: float
    is_best: bool  # the quickest of five, since the median was over the limit

    @property
    def ok(self) -> bool:
        return self.ratio <= self.limit

    def __str__(self) -> str:
        verdict = "" if self.ok else f"  OVER {self.limit:.2f}"
        mark = "  best of 5" if self.is_best else ""
        return (
            f"{self.name:<34}cpu {self.cpu * 1e6:10.1f} us"
            f"  device {self.device * 1e6:10.1f} us  ratio {self.ratio:5.2f}"
            f"{mark}{verdict}"
        )


def seconds_per_call(
    body: Callable[[], object], sync: Callable[[], object], least_s: float = 2e-3
) -> float:
    """Median time of a call, of batches that last about `least_s` each."""
    start = time.perf_counter()
    body()
    body()
    sync()
    once = (time.perf_counter() - start) / 2
    calls = max(1, min(1000, math.ceil(least_s / max(once, 1e-7))))
    samples = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            body()
        sync()
        samples.append((time.perf_counter() - start) / calls)
    return statistics.median(samples)


def synchronizer(device: str) -> Callable[[], object]:
    """What waits for the device's work."""
    if device == "cpu":
        return lambda: None
    import torch
    import torch_dipu  # noqa: F401

    return torch.accelerator.synchronize


def _child(script: str, device: str, threads: int, names: Collection[str]) -> Times:
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    if device == "cpu":  # nothing of ours in the baseline
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    out = subprocess.run(
        [sys.executable, script, "--child", f"--device={device}"],
        env=env,
        check=True,
        input="\n".join(names),
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(out.stdout.splitlines()[-1])


def report_child(measure: Callable[[str, set[str]], Times], device: str) -> None:
    """The child's side: measures the names on stdin, all when there are none."""
    print(json.dumps(measure(device, set(sys.stdin.read().split("\n")) - {""})))


def _side(script: str, device: str, names: Collection[str]) -> Times:
    counts = sorted({1, os.cpu_count() or 1})
    runs = [_child(script, device, threads, names) for threads in counts]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _rounds(
    script: str, device: str, names: Collection[str], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    pairs: dict[str, list[tuple[float, float]]] = {}
    for _ in progress.rounds(rounds, f"{len(names) or 'all'} figures"):
        cpu, ours = _side(script, "cpu", names), _side(script, device, names)
        for name, value in ours.items():
            pairs.setdefault(name, []).append((cpu[name], value))
    return pairs


def _entry(
    name: str, pairs: list[tuple[float, float]], limit: float, is_best: bool
) -> Entry:
    summary = min if is_best else statistics.median
    cpu, ours = (summary(side) for side in zip(*pairs, strict=True))
    ratio = ours / cpu if is_best else statistics.median(d / c for c, d in pairs)
    return Entry(name, cpu, ours, ratio, limit, is_best)


def compare(
    script: str,
    device: str,
    limit_of: Callable[[str], float],
    names: Collection[str] = (),
    rounds: int = 3,
) -> list[Entry]:
    """Entries of all figures, or of `names`, in the order of the measuring.

    Args:
        script: file that calls `report_child` when given `--child`.
        device: what is compared with the CPU.
        limit_of: the largest accepted ratio of a figure.
        names: figures to measure; none means all.
        rounds: alternations.
    """
    pairs = _rounds(script, device, names, rounds)
    entries = {n: _entry(n, p, limit_of(n), False) for n, p in pairs.items()}
    over = [name for name, entry in entries.items() if not entry.ok]
    if over:
        for name, again in _rounds(script, device, over, _BEST_OF).items():
            entries[name] = _entry(name, again, limit_of(name), True)
    return list(entries.values())


def geometric_mean(entries: Iterable[Entry]) -> float:
    """Of the ratios."""
    return statistics.geometric_mean(entry.ratio for entry in entries)
