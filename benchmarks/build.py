# SPDX-License-Identifier: Apache-2.0
"""Measures the processor time that the operators take to build from nothing.

    ./bazelw run //benchmarks:build

Builds the operator library and then the adapter with its generated wrappers, in an
output folder of its own and without any cache. The time of an action is what it ran
for by Bazel's own profile: on an idle machine with --jobs actions at a time that is
processor time, as compilers seldom wait. What other people's packages cost
(external/) is listed and not counted. The two together should stay under 25 minutes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from absl import app, flags

_JOBS = flags.DEFINE_integer("jobs", os.cpu_count() or 1, "Actions at a time.", 1)
_TOP = flags.DEFINE_integer("top", 10, "Number of costliest actions to list.", 0)
_CHECK = flags.DEFINE_bool("check", False, "Exit with 1 when the limit is exceeded.")

LIMIT_MINUTES = 25.0
PARTS = {
    "operator library": "//kernels/diopi:libdiopi_impl.so",
    "adapter and wrappers": "//diopi_adapter",
}


@dataclasses.dataclass(frozen=True)
class Action:
    """One action that ran; `name` is Bazel's, such as "Compiling a/b.cc"."""

    name: str
    minutes: float

    @property
    def is_external(self) -> bool:
        return " external/" in self.name or " @" in self.name


def _actions(profile: pathlib.Path) -> Iterator[Action]:
    for event in json.loads(profile.read_text())["traceEvents"]:
        if event.get("cat") == "action processing" and "dur" in event:
            yield Action(event["name"], event["dur"] / 60e6)


def _build(output: pathlib.Path, target: str) -> list[Action]:
    """Builds `target` with what is in `output` already; tells what ran."""
    profile = output / "profile.json"
    command = [
        os.environ.get("BAZEL", "bazel"),
        f"--output_base={output / 'base'}",
        "build",
        "--disk_cache=",
        "--symlink_prefix=/",
        f"--jobs={_JOBS.value}",
        f"--profile={profile}",
        target,
    ]
    subprocess.run(command, check=True, cwd=os.environ["BUILD_WORKSPACE_DIRECTORY"])
    actions = list(_actions(profile))
    if not actions:
        raise LookupError(f"Bazel's profile tells of no actions for {target}")
    return actions


def _stop(output: pathlib.Path) -> None:
    command = [os.environ.get("BAZEL", "bazel"), f"--output_base={output / 'base'}"]
    subprocess.run(
        [*command, "shutdown"],
        check=False,
        cwd=os.environ["BUILD_WORKSPACE_DIRECTORY"],
    )
    subprocess.run(["chmod", "-R", "u+w", str(output)], check=False)
    shutil.rmtree(output)


def _report(built: dict[str, list[Action]]) -> float:
    """Prints what the parts cost; returns the minutes that count."""
    total = 0.0
    for part, actions in built.items():
        own = sum(action.minutes for action in actions if not action.is_external)
        others = sum(action.minutes for action in actions if action.is_external)
        total += own
        print(f"{part:<22}{own:6.1f} min in {len(actions)} actions")
        print(f"{'':<22}{others:6.1f} min for packages of others")
    costly = sorted(
        (action for actions in built.values() for action in actions),
        key=lambda action: -action.minutes,
    )
    for action in costly[: _TOP.value]:
        print(f"  {action.minutes * 60:6.1f} s  {action.name}")
    return total


def main(argv: list[str]) -> None:
    del argv
    output = pathlib.Path(tempfile.mkdtemp(prefix="dipu-build-"))
    try:
        built = {part: _build(output, target) for part, target in PARTS.items()}
    finally:
        _stop(output)
    total = _report(built)
    verdict = "ok" if total <= LIMIT_MINUTES else "OVER"
    print(f"together {total:.1f} min  limit {LIMIT_MINUTES:.0f}  {verdict}")
    if _CHECK.value and total > LIMIT_MINUTES:
        sys.exit(1)


if __name__ == "__main__":
    app.run(main)
