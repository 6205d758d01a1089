# SPDX-License-Identifier: Apache-2.0
"""Compares the device with torch CPU: operator overhead, training step, import.

Each figure comes from separate processes that alternate (A B A B ...), so that
neither side disturbs the other and a change of clock speed hits both. A ratio
is the median over the rounds; below 1 the device is faster.

    ./bazelw run //benchmarks:overhead -- --vs cpu
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from absl import app, flags

_VS = flags.DEFINE_enum("vs", "cpu", ["cpu"], "What to compare with.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Alternations per figure.", 1)
_WHAT = flags.DEFINE_list("what", ["ops", "step", "import"], "Which groups to measure.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when a limit is exceeded.")
_DEVICE = flags.DEFINE_string("device", "dipu", "Device to measure.")
_CHILD = flags.DEFINE_string("child", "", "Internal: group to measure here.")

_EXAMPLE = os.path.join(os.path.dirname(__file__), "../examples/train_digits.py")

# Largest accepted ratio (device / CPU); import: added seconds.
LIMITS = {
    "add": 0.75,
    "relu": 0.75,
    "mm": 0.75,
    "digits step": 1.0,
    "import": 0.15,
}


def _per_call_ns(body: Callable[[], object], sync: Callable[[], None]) -> float:
    """Median over batches of the caller's time per call, in nanoseconds."""
    batch = 1000
    samples = []
    for _ in range(12):
        sync()
        start = time.perf_counter_ns()
        for _ in range(batch):
            body()
        samples.append((time.perf_counter_ns() - start) / batch)
    return statistics.median(samples[2:])


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


def _paired(group: str, device: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Per figure the pairs (CPU, device) reduced to medians."""
    threads = os.cpu_count() or 1
    cpu: dict[str, list[float]] = {}
    ours: dict[str, list[float]] = {}
    for _ in range(rounds):
        baselines = [_child(group, "cpu", n) for n in sorted({1, threads})]
        for name in baselines[0]:  # the better thread count is the baseline
            cpu.setdefault(name, []).append(min(b[name] for b in baselines))
        for name, value in _child(group, device, threads).items():
            ours.setdefault(name, []).append(value)
    return {n: (statistics.median(cpu[n]), statistics.median(ours[n])) for n in cpu}


def _import_seconds(statement: str) -> float:
    start = time.perf_counter()
    env = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    subprocess.run([sys.executable, "-c", statement], env=env, check=True)
    return time.perf_counter() - start


def _import_cost(rounds: int) -> float:
    """Seconds that `import torch_dipu` adds to `import torch`."""
    added = []
    for _ in range(rounds):
        plain = _import_seconds("import torch")
        added.append(_import_seconds("import torch, torch_dipu") - plain)
    return statistics.median(added)


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
    units = {"ops": "ns", "step": "ms"}
    for group in ("ops", "step"):
        if group not in _WHAT.value:
            continue
        for name, (cpu, ours) in _paired(group, _DEVICE.value, _ROUNDS.value).items():
            unit = units[group]
            text = (
                f"{_VS.value} {cpu:9.1f} {unit}  {_DEVICE.value} {ours:9.1f} {unit}"
                f"  ratio {ours / cpu:5.2f}"
            )
            good &= _report(name, ours / cpu, text)
    if "import" in _WHAT.value:
        added = _import_cost(_ROUNDS.value)
        good &= _report("import", added, f"torch_dipu adds {added:.3f} s to torch")
    if _CHECK.value and not good:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
