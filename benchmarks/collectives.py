# SPDX-License-Identifier: Apache-2.0
"""All-reduce of droplet's PCCL between processes, beside gloo on CPU tensors.

    ./bazelw run //benchmarks:collectives -- --vs gloo

Both sides add float32 in place, from the call to the end of the work, in processes
that alternate. The bus bandwidth of n ranks is 2 (n - 1) / n times bytes / time. A
ratio is the median of the rounds; one over its limit is measured again, and the
quickest of five rounds counts on either side. Takes a minute and a half.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from absl import app, flags

from benchmarks import calibration, progress

_VS = flags.DEFINE_enum("vs", "", ["", "gloo"], "What to compare with.")
_RANKS = flags.DEFINE_integer("ranks", 2, "Processes.", 2)
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Processes per side and rank.", 1)
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_GLOO_RANK = flags.DEFINE_integer("gloo_rank", -1, "For this program's own use.")
_STORE = flags.DEFINE_string("store", "", "For this program's own use.")

_MIB = 1 << 20
_SIZES = (8, 64 << 10, _MIB, 16 * _MIB, 64 * _MIB)
# Largest share of gloo's time: half, which is twice the bandwidth.
_LIMIT = 0.5
_LIMITED = (8, _MIB, 16 * _MIB, 64 * _MIB)
_BATCHES = 7

# Microseconds by bytes.
Times = dict[int, float]


def _parse(out: str) -> Times:
    rows = (line.split() for line in out.splitlines())
    return {int(row[0]): float(row[1]) for row in rows if len(row) == 2}


def _run_pccl() -> Times:
    program = os.path.join(os.path.dirname(__file__), "collectives_benchmark")
    command = [program, str(_RANKS.value), *map(str, _SIZES)]
    return _parse(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def _run_gloo() -> Times:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            __file__,
            f"--ranks={_RANKS.value}",
            f"--store={os.path.join(folder, 'store')}",
        ]
        ranks = [
            subprocess.Popen(
                [*command, f"--gloo_rank={rank}"], stdout=subprocess.PIPE, text=True
            )
            for rank in range(_RANKS.value)
        ]
        outputs = [rank.communicate()[0] for rank in ranks]
        if any(rank.returncode for rank in ranks):
            raise RuntimeError("a rank of gloo failed")
        return _parse(outputs[0])


def _gloo_rank(rank: int) -> None:
    """Measures as collectives_benchmark.cc does and prints the same lines."""
    import torch
    import torch.distributed as dist

    dist.init_process_group(
        "gloo",
        init_method=f"file://{_STORE.value}",
        rank=rank,
        world_size=_RANKS.value,
    )
    for size in _SIZES:
        data = torch.zeros(size // 4)
        calls = max(2, min(2000, 128 * _MIB // size))
        times = []
        for batch in range(_BATCHES + 1):
            start = time.perf_counter()
            for _ in range(calls if batch else max(calls // 4, 2)):
                dist.all_reduce(data)
            times.append((time.perf_counter() - start) / calls * 1e6)
        if rank == 0:
            print(size, statistics.median(times[1:]), flush=True)
    dist.destroy_process_group()


def _name(size: int) -> str:
    for unit, name in ((_MIB, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def _side(name: str, size: int, microseconds: float) -> str:
    ranks = _RANKS.value
    bandwidth = size * 2 * (ranks - 1) / ranks / microseconds / 1e3
    return f"{name} {microseconds:10.1f} us {bandwidth:7.3f} GB/s"


def _measure(rounds: int) -> tuple[list[Times], list[Times]]:
    pccl, gloo = [], []
    for _ in progress.rounds(rounds, "collectives"):
        pccl.append(_run_pccl())
        if _VS.value == "gloo":
            gloo.append(_run_gloo())
    return pccl, gloo


def _compare(pccl: list[Times], gloo: list[Times]) -> dict[int, float]:
    """Shares of gloo's time by bytes; the sides alternated."""
    pairs = list(zip(pccl, gloo, strict=True))
    return {
        size: statistics.median(own[size] / other[size] for own, other in pairs)
        for size in _SIZES
    }


def _report(pccl: list[Times], gloo: list[Times]) -> list[int]:
    """Prints the figures; returns the sizes that are over their limits."""
    over = []
    shares = _compare(pccl, gloo) if gloo else {}
    for size in _SIZES:
        line = f"{_name(size):>8}  "
        line += _side("pccl", size, statistics.median(t[size] for t in pccl))
        if gloo:
            gloo_time = statistics.median(t[size] for t in gloo)
            line += "  " + _side("gloo", size, gloo_time)
            line += f"  share of time {shares[size]:.3f}"
        if gloo and size in _LIMITED:
            good = shares[size] <= _LIMIT
            line += f"  at most {_LIMIT:g}  {'ok' if good else 'OVER'}"
            if not good:
                over.append(size)
        print(line, flush=True)
    return over


def _best_over(sizes: list[int]) -> bool:
    """Whether the quickest of five rounds is still over a limit."""
    pccl, gloo = _measure(5)
    bad = False
    for size in sizes:
        share = min(t[size] for t in pccl) / min(t[size] for t in gloo)
        good = share <= _LIMIT
        bad |= not good
        print(f"{_name(size):>8}  best of 5: {share:.3f}  {'ok' if good else 'OVER'}")
    return bad


def main(argv: Sequence[str]) -> None:
    del argv
    if _GLOO_RANK.value >= 0:
        _gloo_rank(_GLOO_RANK.value)
        return
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    over = _report(*_measure(_ROUNDS.value))
    bad = bool(over) and _best_over(over)
    print(f"calibration loop {calibration.loop_ns() / 1000:.1f} us")
    if _CHECK.value and bad:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
