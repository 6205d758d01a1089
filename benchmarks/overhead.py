# SPDX-License-Identifier: Apache-2.0
"""Compares the device with torch CPU: operator overhead, training step, import.

Each figure comes from separate processes that alternate (A B A B ...), so that
neither side disturbs the other. A ratio is the median of the rounds' ratios; below
1 the device is faster. A figure over its limit is measured again; then the quickest
of five rounds counts on either side, marked "best of 5".

    ./bazelw run //benchmarks:overhead -- --vs cpu

Takes about six minutes.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from absl import app, flags

from benchmarks import calibration, progress

_VS = flags.DEFINE_enum("vs", "cpu", ["cpu"], "What to compare with.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Alternations per figure.", 1)
_WHAT = flags.DEFINE_list("what", ["ops", "step", "import"], "Which groups to measure.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_DEVICE = flags.DEFINE_string("device", "dipu", "Device to measure.")
_CHILD = flags.DEFINE_string("child", "", "Internal: group to measure here.")

_EXAMPLE = os.path.join(os.path.dirname(__file__), "../examples/train_digits.py")

# Alternations of which the best counts, for a figure that was over its limit.
_BEST_OF = 5

# Largest accepted ratio (device / CPU); import: added seconds.
LIMITS = {
    "add": 0.75,
    "relu": 0.75,
    "mm": 0.75,
    "digits step": 1.0,
    "import": 0.15,
}


def _per_call_ns(body: Callable[[], object], sync: Callable[[], None]) -> float:
    """The caller's time per call, in nanoseconds at the clock's fastest.

    A processor that changes its clock between two batches would decide the
    comparison, so each batch is divided by a loop timed just before it, while
    the device sleeps.
    """
    batch = 500
    samples = []
    loops = []
    for _ in range(60):
        sync()
        time.sleep(0.002)
        loops.append(min(calibration.loop_ns() for _ in range(3)))
        start = time.perf_counter_ns()
        for _ in range(batch):
            body()
        samples.append((time.perf_counter_ns() - start) / batch / loops[-1])
    return statistics.median(samples[5:]) * min(loops)


def measure_ops(device: str) -> dict[str, float]:
    """Caller's time per operator on 8x8 float32, in nanoseconds."""
    import torch

    if device != "cpu":
        import torch_dipu  # noqa: F401

    sync = torch.accelerator.synchronize if device != "cpu" else lambda: None
    a = torch.randn(8, 8, device=device)
    b = torch.randn(8, 8, device=device)
    weight, bias = torch.randn(8, 8, device=device), torch.randn(8, device=device)
    bodies = {
        "empty": lambda: torch.empty(8, 8, device=device),
        "add": lambda: torch.add(a, b),
        "relu": lambda: torch.relu(a),
        "mm": lambda: torch.mm(a, b),
        "linear": lambda: torch.nn.functional.linear(a, weight, bias),
    }
    with torch.no_grad():
        return {name: _per_call_ns(body, sync) for name, body in bodies.items()}


def measure_step(device: str) -> dict[str, float]:
    """Milliseconds per training step of the digits example."""
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        command = [sys.executable, _EXAMPLE, f"--device={device}", "--epochs=6"]
        subprocess.run(
            [*command, f"--json={results.name}"], check=True, stdout=subprocess.DEVNULL
        )
        step_ms = json.load(results)["step_ms"]
    return {"digits step": statistics.median(step_ms[1:])}


def _child(group: str, device: str, threads: int) -> dict[str, float]:
    """Measures one group in a process of its own."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    if device == "cpu":  # nothing of ours in the baseline
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    out = subprocess.run(
        [sys.executable, __file__, f"--child={group}", f"--device={device}"],
        env=env,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(out.stdout.splitlines()[-1])


def _paired(group: str, device: str, rounds: int) -> dict[str, list[tuple]]:
    """Per figure the pairs (CPU, device), a pair per round."""
    threads = os.cpu_count() or 1
    pairs: dict[str, list[tuple]] = {}
    for _ in progress.rounds(rounds, group):
        baselines = [_child(group, "cpu", n) for n in sorted({1, threads})]
        ours = _child(group, device, threads)
        for name, value in ours.items():  # the better thread count is the baseline
            pairs.setdefault(name, []).append((min(b[name] for b in baselines), value))
    return pairs


def _ratio(pairs: list[tuple]) -> float:
    return statistics.median(ours / cpu for cpu, ours in pairs)


def _quickest(pairs: list[tuple]) -> tuple:
    """The quickest round of either side: a slow baseline gains nobody anything."""
    cpu, ours = zip(*pairs, strict=True)
    return min(cpu), min(ours)


_IMPORT = """
import time
import torch
start = time.perf_counter()
import torch_dipu
print(time.perf_counter() - start)
"""


def _import_seconds(rounds: int) -> list[float]:
    """Seconds of `import torch_dipu` after `import torch`, bytecode at hand.

    One process measures each: torch's own import takes seconds, and its noise would
    hide the difference between two processes.
    """
    with tempfile.TemporaryDirectory() as bytecode:
        env = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        env |= {"PYTHONPYCACHEPREFIX": bytecode}
        command = [sys.executable, "-c", _IMPORT]
        times = [
            float(subprocess.check_output(command, env=env, text=True))
            for _ in range(rounds + 1)
        ]
    return times[1:]  # the first one compiled


def _import_cost(rounds: int) -> float:
    """Seconds that `import torch_dipu` adds to `import torch`."""
    added = statistics.median(_import_seconds(rounds))
    return added if added <= LIMITS["import"] else min(_import_seconds(_BEST_OF))


def _report(name: str, value: float, text: str) -> bool:
    limit = LIMITS.get(name)
    verdict = ""
    if limit is not None:
        verdict = f"limit {limit:.2f}  {'ok' if value <= limit else 'OVER'}"
    print(f"{name:<14}{text}  {verdict}", flush=True)
    return limit is None or value <= limit


def main(argv: list[str]) -> None:
    del argv
    if _CHILD.value:
        measure = {"ops": measure_ops, "step": measure_step}[_CHILD.value]
        print(json.dumps(measure(_DEVICE.value)))
        return
    good = True
    for group, unit in (("ops", "ns"), ("step", "ms")):
        if group not in _WHAT.value:
            continue
        pairs = _paired(group, _DEVICE.value, _ROUNDS.value)
        over = {n for n, p in pairs.items() if _ratio(p) > LIMITS.get(n, math.inf)}
        again = _paired(group, _DEVICE.value, _BEST_OF) if over else {}
        pairs |= {name: [_quickest(again[name])] for name in over}
        for name, measured in pairs.items():
            cpu, ours = (
                statistics.median(side) for side in zip(*measured, strict=True)
            )
            ratio = _ratio(measured)
            text = (
                f"{_VS.value} {cpu:9.1f} {unit}  {_DEVICE.value} {ours:9.1f} {unit}"
                f"  ratio {ratio:5.2f}{' best of 5' if name in over else ''}"
            )
            good &= _report(name, ratio, text)
    if "import" in _WHAT.value:
        added = _import_cost(_ROUNDS.value)
        good &= _report("import", added, f"torch_dipu adds {added:.3f} s to torch")
    if _CHECK.value and not good:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
