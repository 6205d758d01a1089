# SPDX-License-Identifier: Apache-2.0
"""What isolated device memory costs: the same kernels with and without it.

Two builds of one program alternate in separate processes: the usual one, and one
in which addresses are those of the memory and their translation is compiled out. A
ratio is the median of the rounds' ratios; above 1 isolation costs time.

On a machine that has other work, --cpu compares processor time instead of elapsed
time, with one thread per kernel and without polling.

    ./bazelw run //benchmarks/softdevice:isolation
"""

import json
import os
import statistics
import subprocess
import sys

from absl import app, flags

_ROUNDS = flags.DEFINE_integer("rounds", 5, "Alternations.", 1)
_CPU = flags.DEFINE_bool("cpu", False, "Compare processor time.")
_JSON = flags.DEFINE_bool("json", False, "Print in Google Benchmark's form.")
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when the limit is exceeded.")

LIMIT = 1.02
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _measure(program: str, isolated: bool) -> dict[str, float]:
    command = [os.path.join(_FOLDER, program)]
    env = dict(os.environ)
    if _CPU.value:
        command.append("--cpu")
        env.update(OMP_NUM_THREADS="1", SOFTDEVICE_SPIN_US="0")
    out = subprocess.run(
        command, env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    times = json.loads(out.stdout)
    if (times.pop("offset") != 0) != isolated:
        raise RuntimeError(f"{program} is not the build it should be")
    return times


def main(_: list[str]) -> int:
    """Prints a line per kernel and size."""
    ratios: dict[str, list[float]] = {}
    for _round in range(_ROUNDS.value):
        direct = _measure("isolation_benchmark_direct", isolated=False)
        isolated = _measure("isolation_benchmark", isolated=True)
        for name, time in isolated.items():
            ratios.setdefault(name, []).append(time / direct[name])
    for name, values in ratios.items():
        spread = f"{min(values):.3f} to {max(values):.3f}"
        print(f"{name:18} {statistics.median(values):.3f}  ({spread})")
    everything = statistics.geometric_mean(
        statistics.median(values) for values in ratios.values()
    )
    print(f"{'all':18} {everything:.3f}  (limit {LIMIT})")
    if _JSON.value:
        print(json.dumps({"benchmarks": [{"name": "all", "ratio": everything}]}))
    return int(_CHECK.value and everything > LIMIT)


if __name__ == "__main__":
    app.run(lambda arguments: sys.exit(main(arguments)))
